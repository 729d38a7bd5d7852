"""A debugger that is killed while probes are in force, and are hit by eight threads: the program goes on, and right."""

from __future__ import annotations

import asyncio
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from dualdbg.backends.events import NativeStopped, StopCause
from dualdbg.backends.native import Move
from dualdbg.probes import placement
from dualdbg.snapshot.linux.repair import repair
from dualdbg.symbols.address_space import AddressSpace
from dualdbg.system.patience import patient
from tests import rows, warm
from tests.probes.holding import held
from tests.support import wait_until

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="machine code of x86-64"),
    pytest.mark.skipif(placement.iced is None, reason="needs iced-x86"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc"),
]
_LONGEST = 0.5  # seconds from the first run of the target to the kill
_JUMP = b"\xe9"
_HANGS = patient(150.0)  # seconds; the program needs a moment, and a busy machine many


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("kills") / "threads"
    source = Path(__file__).with_name("threads.c")
    subprocess.run(["gcc", "-O2", "-g", "-pthread", "-o", made, source], check=True)
    return made


@contextmanager
def _running(program: Path) -> Iterator[subprocess.Popen[str]]:
    """The program while its threads run; then it ends by itself, and says that all was right."""
    target = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert target.stdout is not None
    assert target.stdout.readline() == "ready\n"
    yield target
    assert target.communicate("over\n", timeout=_HANGS) == ("all, right\n", None)
    assert target.returncode == 0


@dataclass(frozen=True)
class Kind:
    """What somebody wants of the program: ``words`` behind the program's name, of which one is drawn; what he types."""

    words: tuple[tuple[str, ...], ...]
    typed: str = ""


_TRACED = ("-b", "work if text[0] == 'x'", "-b", "on_even")
_KINDS = {
    "conditions": Kind(
        tuple(
            ("attach", "-b", f"work fast if (number & {mask:#x}) == {value}", "-b", f"on_even fast {other}")
            for mask, value, other in (
                (0xFFF, 5, "if $rdi == -1"),
                (0xFFFF, 5, "if ($rdi & 0xffff) == 6"),
                (0xFFFFF, 5, "if ($rdi & 0x3fff) == 6"),
                (0xFFFFFF, 5, "hits 1000000000"),
                (0xFFFFFF, -5, "hits 2000000000"),
            )
        ),
        "continue\n" * 100_000,
    ),
    "traces": Kind(
        tuple(
            ("trace", *options, *_TRACED, "--json")
            for options in ((), ("--count",), ("--time",), ("--time", "--count"))
        )
    ),
}


@pytest.mark.parametrize("seed", rows.some(range(200), 1))
@pytest.mark.parametrize("kind", sorted(_KINDS))
def test_dualdbg_and_its_gdb_are_killed(
    program: Path, tmp_path: Path, kind: str, seed: int, record_property: Callable[[str, object], None]
) -> None:
    """One or both, at a moment that the seed decides, in a real session: the program goes on, and right.

    From when both probes are in the code on, each moment may be met: hits are told, the program is stopped and let run
    on, records are taken.
    """
    chance = random.Random(seed)
    target = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert target.stdout is not None
    assert target.stdout.readline() == "ready\n"
    typed, said = tmp_path / "typed", tmp_path / "said"
    typed.write_text(_KINDS[kind].typed)
    words = [sys.executable, "-m", "dualdbg", *chance.choice(_KINDS[kind].words), str(target.pid)]
    with typed.open() as stdin, said.open("w") as stdout:
        debugger = warm.Popen(words, stdin=stdin, stdout=stdout, stderr=subprocess.STDOUT)
    _wait_for_jumps(target.pid, ("work", "on_even"), debugger, said)
    gdb = next(one.pid for one in psutil.Process(debugger.pid).children() if one.name().startswith("gdb"))
    with pytest.raises(subprocess.TimeoutExpired):
        debugger.wait(0.001 + chance.random() * _LONGEST)
    for one in chance.choice([[gdb], [debugger.pid], [debugger.pid, gdb], [gdb, debugger.pid]]):
        os.kill(one, signal.SIGKILL)
    debugger.wait(_HANGS)
    wait_until(lambda: _has_ended(gdb), _HANGS, "gdb has ended")
    record_property("hits", said.read_text().count("\n* Breakpoint "))
    out, _ = target.communicate("over\n", timeout=_HANGS)
    assert (out, target.returncode) == ("all, right\n", 0), (out, target.returncode, said.read_text()[-3000:])
    assert "Traceback" not in said.read_text()


def _wait_for_jumps(pid: int, names: Collection[str], debugger: subprocess.Popen[bytes], said: Path) -> None:
    """Until the code of each function has begun with one. They are taken out at each stop."""
    image = AddressSpace(pid)
    image.refresh()
    missing = {place.address for name in names for place in image.find(name)}
    assert len(missing) == len(names)
    end = time.monotonic() + _HANGS
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        while missing:
            missing = {one for one in missing if os.pread(memory.fileno(), 1, one) != _JUMP}
            assert debugger.poll() is None and time.monotonic() < end, said.read_text()[-3000:]


@pytest.mark.parametrize("seed", rows.some(range(200), 1))
def test_the_program_goes_on(program: Path, seed: int) -> None:
    """gdb, its session, or both, at a moment that the seed decides, while eight threads run through the probe.

    What is in the program stays there to its end. Half of the conditions are true now and then, and hits are told.
    """
    chance = random.Random(seed)
    target = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert target.stdout is not None
    assert target.stdout.readline() == "ready\n"
    mask = chance.choice((0x3F, 0x3FF, 0x3FFF, 0xFFFFF))
    condition = f"($rdi & {mask}) == {chance.choice((5, -5))}"
    words = [sys.executable, "-m", "tests.probes.holding", str(target.pid), condition, "work"]
    holder = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert holder.stdout is not None
    debugger = int(holder.stdout.readline())
    with pytest.raises(subprocess.TimeoutExpired):
        holder.wait(chance.random() * _LONGEST)
    victims = [[debugger], [holder.pid], [debugger, holder.pid], [holder.pid, debugger]]
    end = time.monotonic() + _HANGS
    for one in chance.choice(victims):
        os.kill(one, signal.SIGKILL)
    holder.wait()
    while not _has_ended(debugger):
        assert time.monotonic() < end, "gdb is still there"
    holder.stdout.close()
    repair(target.pid, was_stopped=False)
    out, _ = target.communicate("over\n", timeout=_HANGS)
    assert (out, target.returncode) == ("all, right\n", 0), (out, target.returncode, mask)


def _has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_threads_have_the_right_results_after_hits(program: Path) -> None:
    """All eight come to the function while gdb does its work, and again when the probe does."""
    with _running(program) as target:
        asyncio.run(_hits(target.pid, 5, "($rdi & 0xfffff) == 5"))


async def _hits(pid: int, count: int, condition: str) -> None:
    async with held(pid) as one:
        number, why = await one.put(one.image.find("work")[0].address, condition)
        assert why is None
        for _ in range(count):
            await one.engine.resume()
            event = await one.stop()
            assert isinstance(event, NativeStopped) and event.gdb_breakpoint == number


@pytest.mark.parametrize("hits", rows.some([3, 1, 2, 3, 1, 2], 1))
def test_letting_go_while_threads_have_hits(program: Path, hits: int) -> None:
    """Each of eight threads has a true condition every few microseconds: some have told it, and gdb has not heard yet.

    A fourth of the calls is a hit. What the threads do at that moment is up to chance.
    """
    with _running(program) as target:
        asyncio.run(_hits(target.pid, hits, "($rdi & 3) == 1"))


def test_a_hit_is_told_once_where_steps_begin_at_it(program: Path) -> None:
    """The thread has not run its first instruction, which was moved, when another stop comes; then it steps."""
    with _running(program) as target:
        asyncio.run(_steps(target.pid, 4))


async def _steps(pid: int, count: int) -> None:
    async with held(pid) as one:
        address = one.image.find("work")[0].address
        number, why = await one.put(address, "($rdi & 0x3ffff) == 5")
        assert why is None
        for _ in range(count):
            await one.engine.resume()
            event = await one.stop()
            assert isinstance(event, NativeStopped) and event.gdb_breakpoint == number
            assert event.pc == address and event.gdb_thread is not None
            await one.engine.enable_breakpoint(number, True)
            await one.engine.move(Move.STEP_INSTRUCTION, event.gdb_thread)
            stepped = await one.stop()
            assert isinstance(stepped, NativeStopped)
            if stepped.gdb_thread == event.gdb_thread:  # else it is a hit of another thread
                assert stepped.cause is StopCause.STEPPED and stepped.pc != address
