"""Rust as cargo builds it for users, optimised with debug info: closures, async functions, and values kept in parts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.model import Breakpoint, NativeFrame
from tests import support
from tests.session.driver import Driver, run_session

SOURCE = """\
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

#[inline(never)]
pub fn largest<T: Copy + PartialOrd>(values: &[T]) -> Option<T> {
    let mut best = None;
    for value in values {
        best = match best {
            None => Some(*value),
            Some(old) if *value > old => Some(*value),
            other => other,
        };
    }
    best
}

#[inline(never)]
fn weighed(value: i64, by: i64) -> i64 {
    value * by + 1
}

#[inline(never)]
fn mapped(values: &[i64], by: i64) -> Vec<i64> {
    values.iter().map(|value| weighed(*value, by)).collect()
}

struct Later(u32);
impl Future for Later {
    type Output = u32;
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
        if self.0 == 0 {
            return Poll::Ready(5);
        }
        self.0 -= 1;
        Poll::Pending
    }
}

async fn slowly(n: i64) -> i64 {
    let waited = Later(2).await;
    weighed(n, i64::from(waited))
}

fn ignored(_: *const ()) {}
fn copied(data: *const ()) -> RawWaker {
    RawWaker::new(data, &TABLE)
}
static TABLE: RawWakerVTable = RawWakerVTable::new(copied, ignored, ignored, ignored);

#[inline(never)]
fn wait<F: Future>(future: F) -> F::Output {
    let waker = unsafe { Waker::from_raw(copied(std::ptr::null())) };
    let mut context = Context::from_waker(&waker);
    let mut future = Box::pin(future);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}

#[no_mangle]
pub extern "C" fn run(n: i64) -> i64 {
    let values = mapped(&[n, 1, 2], n);
    largest(&values).unwrap_or(0) + wait(slowly(n))
}
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rustc = shutil.which("rustc") or shutil.which("rustc", path=str(Path.home() / ".cargo" / "bin"))
    compiler = support.require(rustc, "rustc", outside=True)
    folder = tmp_path_factory.mktemp("optimised")
    (folder / "optimised.rs").write_text(SOURCE)
    library, script = folder / "liboptimised.so", folder / "program.py"
    options = ["-g", "-O", "--edition=2021", "--crate-type=cdylib", "-o", library]
    subprocess.run([compiler, *options, folder / "optimised.rs"], check=True)
    script.write_text(f"import ctypes\nlibrary = ctypes.CDLL({str(library)!r})\nlibrary.run(3)\n")
    return script


def test_a_closure_that_was_inlined(script: Path) -> None:
    """By what a stack calls it, of which debug info has a number and the linkage name none."""
    specs = ["mapped::{{closure}}", "optimised::mapped::{closure#0}"]
    specs += ["slowly::{{closure}}", "::optimised::slowly::{async_fn#0}"]

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        for ids, lines in (((1, 2), ["values.iter().map"]), ((3, 4), ["async fn slowly", "let waited"])):
            while stop.breakpoints != ids:  # a closure is come to more than once
                stop = await driver.resume()
            frame = stop.frame
            assert isinstance(frame, NativeFrame) and frame.line is not None
            assert any(line in SOURCE.splitlines()[frame.line - 1] for line in lines)
            for id in ids:
                row = driver.session.breakpoints.get(id)
                assert isinstance(row, Breakpoint) and all(
                    one.inlined_in is not None for one in row.locations
                )
        await driver.finish_run()

    run_session(work, script, *specs)


def test_a_value_of_which_gdb_does_not_tell_the_variant(script: Path) -> None:
    """gdb 13 aborts when it prints one, and so would end the program."""
    seen: set[str] = set()

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        await driver.session.breakpoints.remove(1)
        while isinstance(stop.frame, NativeFrame) and "largest" in (stop.frame.function or ""):
            variables = await driver.session.inspector.variables(stop.thread.tid, stop.frame)
            seen.update(one.value for one in variables if one.name == "best")
            stop = await driver.step("next")
        await driver.finish_run()

    run_session(work, script, "largest")
    assert any(text.startswith("<not known: it is kept in parts") for text in seen), seen


GUARDED = """\
use std::collections::HashMap;

#[inline(never)]
fn guard(n: i64) -> i64 {
    std::hint::black_box(n) * 2
}

#[no_mangle]
pub extern "C" fn run(n: i64) -> i64 {
    let mut all = HashMap::new();
    for i in 0..n * 100 {
        all.insert(i, guard(i));
    }
    all.len() as i64
}
"""


@pytest.mark.parametrize("level", ["2", "0"])
def test_a_bare_name_is_the_authors_and_not_the_librarys(level: str, tmp_path: Path) -> None:
    """hashbrown has a ``guard``, which has no ``n``: a condition without a value had switched the breakpoint off."""
    support.require(shutil.which("rustc"), "Rust")
    source, library, script = tmp_path / "guards.rs", tmp_path / "libguards.so", tmp_path / "program.py"
    source.write_text(GUARDED)
    script.write_text('import ctypes, sys\nctypes.CDLL(sys.argv[1]).run(3)\nprint("over")\n')
    options = ["--crate-type", "cdylib", "-g", "-C", f"opt-level={level}"]
    subprocess.run(["rustc", *options, str(source), "-o", str(library)], check=True)

    async def work(driver: Driver) -> list[tuple[list[str], int]]:
        await driver.stop()
        rows = driver.session.breakpoints.all()
        found = [([one.function or "" for one in row.locations], row.hit_count) for row in rows]
        await driver.finish_run()
        return found

    specs = ['guard log "x" if n == 5', 'hashbrown::scopeguard::guard log "x"', "program.py:3"]
    own, theirs, _ = run_session(work, script, *specs, launch_options={"args": (str(library),)})
    assert own[1] == 1 and all("hashbrown" not in one for one in own[0]), own
    assert theirs[1] or level != "0", theirs
