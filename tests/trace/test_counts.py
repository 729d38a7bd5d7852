"""``dualdbg trace``: counts equal to the program's own, and a program that does what it does."""

from __future__ import annotations

import json
import platform
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dualdbg.cli.commands import trace
from dualdbg.errors import DualdbgError
from dualdbg.probes import placement
from dualdbg.system.patience import patient
from tests import rows, warm
from tests.support import require

COUNTS_IN_NATIVE_CODE = platform.machine() == "x86_64" and placement.iced is not None
pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not COUNTS_IN_NATIVE_CODE, reason="machine code of x86-64, by iced-x86"),
    pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc"),
]
TRACE = [sys.executable, "-m", "dualdbg", "trace"]


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("trace") / "calls"
    source = Path(__file__).with_name("calls.c")
    subprocess.run(["gcc", "-O2", "-g", "-pthread", "-o", made, source], check=True)
    return made


def run(*words: object, status: int = 0) -> str:
    done = warm.run([*TRACE, *map(str, words)], text=True, timeout=patient(300))
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def result(said: str) -> dict[str, Any]:
    found = json.loads(said.splitlines()[-1])
    assert found["event"] == "trace"
    return {row["function"]: row for row in found["functions"]} | {"missing": found["missing"]}


def _own_counts(said: str) -> tuple[int, int]:
    match = re.search(r"work (\d+), on_even (\d+), right", said)
    assert match, said
    return int(match[1]), int(match[2])


@pytest.mark.parametrize("how", ["--count", "--json"])
def test_counts_of_eight_threads_are_the_programs_own(calls: Path, how: str) -> None:
    """To the last hit before the end, with records and without; the status is the program's own."""
    options = ["-b", "work", "-b", "on_even", "-b", "never", *dict.fromkeys([how, "--json"])]
    said = run(*options, "--native", calls, 200000, status=7)
    assert _own_counts(said) == (1600000, 800000)
    found = result(said)
    assert (found["work"]["hits"], found["on_even"]["hits"], found["never"]["hits"]) == (1600000, 800000, 0)


def test_a_condition_is_evaluated_where_the_function_runs(calls: Path) -> None:
    options = ["-b", "work if number % 1000 == 17 && text[0] == 'x'", "-b", "on_even if $rdi < 10"]
    said = run(*options, "--json", "--native", calls, 10000, status=7)
    found = result(said)
    assert (found["work"]["hits"], found["on_even"]["hits"]) == (80, 40)


_OPTIMIZED = [["-O0"], ["-O1"], ["-O2"], ["-O3", "-fPIC"], ["-Os"], ["-O2", "-flto"]]


@pytest.mark.parametrize("shared", [[], ["-fPIC", "-shared"]])
def test_call_through_a_thunk_is_counted_once(tmp_path: Path, shared: list[str]) -> None:
    """A thunk has the line of a function, and the functions here have that of all: it is a place of none of them.

    The same source, however it is compiled, in one program: each time in a namespace of its own.
    """
    source, made, parts, names = Path(__file__).with_name("thunks.cpp"), tmp_path / "thunks", [], []
    for number, options in enumerate(_OPTIMIZED):
        part, space = tmp_path / f"lib{number}.{'so' if shared else 'o'}", f"way{number}"
        # GCC 16 inlines into the caller what it guesses.
        words = [*options, "-fno-devirtualize-speculatively", *(shared or ["-c"]), "-g", f"-DSPACE={space}"]
        subprocess.run(["g++", *words, "-o", part, source], check=True)
        parts.append(part)
        methods = ("All::one", "All::two", "All::three", "All::self", "Lines::one", "Lines::two")
        names += [f"{space}::{name}" for name in (*methods, "Deleted::~Deleted")]
    ways = [f"way{number}" for number in range(len(_OPTIMIZED))]
    text = "".join(f"namespace {way} {{ int begin(); }}\n" for way in ways)
    calls = " + ".join(f"{way}::begin()" for way in ways)
    (tmp_path / "main.cpp").write_text(f"{text}int main() {{ return {calls} == {7 * len(ways)} ? 7 : 1; }}\n")
    subprocess.run(["g++", "-o", made, tmp_path / "main.cpp", *parts, f"-Wl,-rpath,{tmp_path}"], check=True)
    said = run(
        "--count", "--json", *(word for name in names for word in ("-b", name)), "--native", made, status=7
    )
    found = json.loads(said.splitlines()[-1])["functions"]
    hits = {row["function"].partition("(")[0]: row["hits"] for row in found}
    assert len(found) == len(names)
    assert hits == {name: 200 if "~" in name else 100 for name in names}, found
    assert not any(row["why"] for row in found), found


@pytest.mark.smoke
def test_what_is_not_counted_is_named_with_the_reason(calls: Path) -> None:
    said = run("-b", "tiny", "-b", "work", "-b", "nosuch", "--native", calls, 10, status=7)
    assert re.search(
        r"Not counted\n  tiny  calls: .*shorter than the jump\n  nosuch: nothing of that name", said
    )
    assert re.search(r"(?m)^ +80 +[\d,]+  work  calls$", said)


def test_data_among_code_stays_as_it_is(tmp_path: Path) -> None:
    """Tables with names of functions, and a branch that is hidden by data before it: the program's own sum is right."""
    source, made = Path(__file__).parent.parent / "probes" / "tables.c", tmp_path / "tables"
    subprocess.run(["gcc", "-O1", "-o", made, source], check=True)
    own = subprocess.run([made], capture_output=True, text=True, check=False).stdout
    names = ("typed", "untyped", "swallowed")
    options = [word for name in names for word in ("-b", name)]
    said = run("--count", *options, "--native", made, status=7)
    assert own in said
    for why in ("may be data", "does not say that it is code", "leads into its first bytes"):
        assert why in said, said


@pytest.mark.parametrize(
    ("mode", "why"), [("later", "the kernel did not say"), ("library", "system calls are filtered (seccomp)")]
)
@pytest.mark.parametrize("options", [["--count"], []])
def test_a_filter_of_system_calls_is_told(tmp_path: Path, options: list[str], mode: str, why: str) -> None:
    """Behind it no condition can look whether a pointer leads anywhere: what it would have said is not known."""
    made = tmp_path / "filtered"
    subprocess.run(["gcc", "-O1", "-o", made, Path(__file__).with_name("filtered.c"), "-ldl"], check=True)
    said = run(*options, "-b", "looks if *(long*)$rdi == 3", "--native", made, mode, status=7)
    assert re.search(r"(?m)^ +100 .* looks ", said), said
    assert "not all the time" in said and why in said, said


def test_a_process_in_strict_mode_lives_on(tmp_path: Path) -> None:
    """Any system call that is asked of it would end it."""
    made = tmp_path / "filtered"
    subprocess.run(["gcc", "-O1", "-o", made, Path(__file__).with_name("filtered.c"), "-ldl"], check=True)
    with subprocess.Popen([made, "strict"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdin is not None and program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        said = run("--for", "0.5", "-b", "looks", program.pid)
        program.stdin.write(b"x")
        program.stdin.close()
        assert program.wait(patient(60)) == 7
    assert "system calls are filtered (seccomp)" in said


def test_a_process_goes_on_after_it(calls: Path) -> None:
    """It is traced from the middle, for a time; then it runs on, with its own results, and nobody traces it."""
    target = subprocess.Popen(
        [calls, "3000000000", "wait", "sleeps"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert target.stdin is not None and target.stdout is not None
    assert target.stdout.readline() == "ready\n"
    target.stdin.write("go\n")
    target.stdin.flush()
    found = result(run("-b", "work", "-b", "on_even", "--json", "--for", 0.2, target.pid))
    work, even = found["work"]["hits"], found["on_even"]["hits"]
    assert 0 < even <= work
    assert "TracerPid:\t0\n" in Path(f"/proc/{target.pid}/status").read_text()
    target.kill()
    target.wait()
    target.stdin.close()
    target.stdout.close()


@pytest.mark.parametrize("compiler", ["gcc", "musl-gcc"])
def test_a_trace_of_a_whole_run_of_a_process(compiler: str, tmp_path: Path) -> None:
    """Attached before the first call, until after the last: the program's own numbers, though it is let go of."""
    require(shutil.which(compiler), f"{compiler} is not installed", outside=True)
    calls, source = tmp_path / "calls", Path(__file__).with_name("calls.c")
    subprocess.run([compiler, "-O2", "-g", "-pthread", "-o", calls, source], check=True)
    target = subprocess.Popen(
        [calls, "20000", "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert target.stdin is not None and target.stdout is not None
    assert target.stdout.readline() == "ready\n"
    words = [*TRACE, "-b", "work", "-b", "on_even", "--json", str(target.pid)]
    tracer = warm.Popen(words, stdout=subprocess.PIPE, text=True)
    _wait_until_traced(target.pid, tracer)
    target.stdin.write("go\n")
    target.stdin.flush()
    own = _own_counts(target.stdout.readline())
    tracer.send_signal(signal.SIGINT)
    said, _ = tracer.communicate(timeout=patient(60))
    assert tracer.returncode == 130
    found = result(said)
    assert (found["work"]["hits"], found["on_even"]["hits"]) == own == (160000, 80000)
    target.communicate("over\n", timeout=patient(60))
    assert target.returncode == 7


def test_what_musl_has_not_at_its_start_is_waited_for(tmp_path: Path) -> None:
    """Threads can be told apart when its loader is done: the program is counted from its own beginning on."""
    require(shutil.which("musl-gcc"), "musl-gcc is not installed", outside=True)
    source = Path(__file__).with_name("calls.c")
    subprocess.run(["musl-gcc", "-O2", "-g", "-pthread", "-o", tmp_path / "calls", source], check=True)
    for options in ([], ["--count"]):
        said = run(
            "--json", *options, "-b", "work", "-b", "on_even", "--native", tmp_path / "calls", 1000, status=7
        )
        assert _own_counts(said) == (8000, 4000)
        found = result(said)
        assert (found["work"]["hits"], found["on_even"]["hits"]) == (8000, 4000)
        assert found["work"]["why"] is None


@pytest.mark.parametrize("options", rows.some([["--count"], ["--time"], []], 2))
def test_one_thread_is_counted_and_no_other(options: list[str], tmp_path: Path) -> None:
    """By its id, also where a later thread has its memory, or nobody has the id; a name is refused."""
    made = tmp_path / "one_thread"
    source = Path(__file__).with_name("one_thread.c")
    subprocess.run(["gcc", "-O2", "-g", "-pthread", "-o", made, source], check=True)
    with subprocess.Popen([made], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as target:
        assert target.stdin is not None and target.stdout is not None
        main, other = target.stdout.readline().split()
        specs = {
            "in_main": f"in_main thread {main}",
            "in_other": f"in_other thread {other}",
            "even_in_other": f"even_in_other thread {other} if number % 2 == 0",
            "in_none": "in_none thread 4194304",
            "in_named": 'in_named thread "worker one"',
            "in_all": "in_all",
        }
        words = [word for spec in specs.values() for word in ("-b", spec)]
        line = [*TRACE, *options, "--json", *words, str(target.pid)]
        with warm.Popen(line, stdout=subprocess.PIPE, text=True) as tracer:
            _wait_until_traced(target.pid, tracer)
            target.stdin.write("go\n")
            target.stdin.flush()
            assert target.stdout.readline() == "done\n"
            tracer.send_signal(signal.SIGINT)
            said, _ = tracer.communicate(timeout=patient(60))
        target.communicate("over\n", timeout=patient(60))
        assert target.returncode == 7
    found = result(said)
    hits = {name: found[name]["hits"] for name in specs}
    assert hits == {
        "in_main": 100, "in_other": 1000, "even_in_other": 500, "in_none": 0, "in_named": None, "in_all": 1110
    }  # fmt: skip
    assert "by their names" in found["in_named"]["why"]


def _wait_until_traced(pid: int, tracer: subprocess.Popen[str]) -> None:
    """Until the memory is there, and gdb has let the process run on."""
    maps, status = Path(f"/proc/{pid}/maps"), Path(f"/proc/{pid}/status")
    while "memfd" not in maps.read_text() or "(sleeping)" not in status.read_text():
        assert tracer.poll() is None


def test_it_counts_at_the_prompt(tmp_path: Path) -> None:
    """`break SPEC count` never stops; `info breakpoints` has the number, and `disable` ends it."""
    program = tmp_path / "program"
    source = Path(__file__).parent.parent / "probes" / "program.cpp"
    subprocess.run(["g++", "-O2", "-g", "-o", program, source, "-ldl"], check=True)
    line = [sys.executable, "-m", "dualdbg", "run", "-b", "::work count", "-b", "tiny hits 500"]
    commands = ["info breakpoints", "disable 1", "ignore 2 99", "continue", "info breakpoints"]
    line += [word for one in commands for word in ("-x", one)]
    done = warm.run([*line, "--batch", "--native", program, "1000"], text=True, timeout=patient(120))
    said = done.stdout + done.stderr
    assert len(re.findall(r"(?m)^1 +::work count: verified  \((?:disabled, )?hit 500 times\)$", said)) == 2, (
        said
    )
    assert "hits counted in the process" in said and "* Breakpoint 1" not in said


def test_a_python_program_is_run_as_without_it(tmp_path: Path) -> None:
    """Nothing of ours is in its interpreter, and what it prints is what it prints."""
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nprint(sys.argv[1:], 'debugpy' in sys.modules, 'sitecustomize' in sys.modules)\nsys.exit(5)\n"
    )
    plain = subprocess.run([sys.executable, script, "a", "-b"], capture_output=True, text=True)
    said = run("-b", "malloc", script, "a", "-b", status=5)
    assert said.startswith(plain.stdout)
    assert re.search(r"(?m)^ +[\d,]+ +[\d,]+  malloc  libc", said)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["x.py"], "nothing to trace was given"),
        (["-b", "malloc"], "no program was given"),
        (["-b", "malloc hits 3", "-c", "0"], "it never stops"),
        (["-b", "py:f count", "-c", "0"], "is for native code"),
        (["-b", "malloc", "--native", "nosuch-program"], "cannot be run"),
    ],
)
def test_wrong_words_are_refused(words: list[str], why: str) -> None:
    assert why in refused(words)


def refused(words: list[str]) -> str:
    """What is said of words that are, before anything is started."""
    with pytest.raises(DualdbgError) as caught:
        trace.main(words)
    assert caught.value.exit_status == 2
    return str(caught.value.message)


def test_a_limit_on_the_size_of_files_harms_nothing(calls: Path) -> None:
    """A program that made such memory itself would be ended by SIGXFSZ."""
    words = [*TRACE, "--json", "-b", "work", "--native", str(calls), "10"]
    limited = ["sh", "-c", 'ulimit -S -f 1000; exec "$@"', "sh", *words]
    done = subprocess.run(limited, capture_output=True, text=True, timeout=patient(300))
    assert done.returncode == 7 and "right" in done.stdout, done
    assert result(done.stdout)["work"]["hits"] is None
    assert "ulimit -f" in result(done.stdout)["work"]["why"]


def test_what_could_not_be_counted_is_not_told_as_not_called(calls: Path) -> None:
    """Also where that shows late: another breakpoint, another probe is at the place when the program runs."""
    said = run("--json", "-b", "Py_FinalizeEx", "-b", "getppid", "-c", "import os; os.getppid()")
    rows = {row["function"]: row for row in json.loads(said.splitlines()[-1])["functions"]}
    assert rows["getppid"]["hits"] == 1
    assert rows["Py_FinalizeEx"]["hits"] is None and "another breakpoint" in rows["Py_FinalizeEx"]["why"]
    said = run("--json", "-b", "work", "-b", "work if number > 5", "--native", calls, "10", status=7)
    found = json.loads(said.splitlines()[-1])["functions"]
    assert sorted(((row["hits"], row["why"]) for row in found), key=str) == [
        (80, None),
        (None, "another probe is there"),
    ]


_LOADING = """
#include <dlfcn.h>
#include <stddef.h>
#include <unistd.h>
int main(int argc, char **argv) {
    void *library = dlopen("./library.so", RTLD_NOW);
    long (*inside)(long) = (long (*)(long))dlsym(library, "inside");
    for (long at = 0; at < 100; at++) inside(at);
    dlclose(library);
    if (argc > 1) execl("/proc/self/exe", argv[0], NULL);
    return 7;
}
"""


@pytest.mark.parametrize("arguments", [[], ["again"]])
def test_what_was_counted_is_not_told_as_never_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    """Its library is gone at the end, or the program another one; and a function may be named twice."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loading.c").write_text(_LOADING)
    (tmp_path / "library.c").write_text(
        "volatile long all; long inside(long n) { all += n; return all * 3; }\n"
    )
    subprocess.run(["gcc", "-O2", "-fPIC", "-shared", "-o", "library.so", "library.c"], check=True)
    subprocess.run(["gcc", "-o", "loading", "loading.c", "-ldl"], check=True)
    specs = ["-b", "inside", "-b", "inside", "-b", "nosuch"]
    words = [*TRACE, "--count", "--json", *specs, "--native", "./loading", *arguments]
    done = subprocess.run(words, capture_output=True, text=True, timeout=patient(300))
    found = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 7 and found["missing"] == ["nosuch"], done
    assert sum(row["hits"] for row in found["functions"]) == (200 if arguments else 100)
    said = done.stdout + done.stderr
    assert "(nosuch) never bound" in said and "(inside) never bound" not in said, said


@pytest.mark.parametrize("option", ["--perfetto", "--folded"])
def test_file_that_cannot_be_written_is_told_before_the_program_runs(option: str, tmp_path: Path) -> None:
    missing, ran = tmp_path / "missing" / "trace.json", tmp_path / "ran"
    said = refused([option, str(missing), "-b", "getppid", "-c", f"open({str(ran)!r}, 'w')"])
    assert f"{missing} cannot be written: No such file or directory" in said
    assert not ran.exists()
