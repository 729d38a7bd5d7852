"""Breakpoints with the word `fast`, in real sessions: where they stop, what is counted, what becomes of the program."""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dualdbg.probes import placement
from dualdbg.system.patience import patient
from tests import rows, warm

pytestmark = [
    pytest.mark.processes,
    pytest.mark.slow,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="machine code of x86-64"),
    pytest.mark.skipif(placement.iced is None, reason="needs iced-x86"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++"),
]
_IN_PROCESS = "condition evaluated in the process"
_WRONG = re.compile(r"(?m)^wrong \d")  # what the program says at its end


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("probes")
    levels = {"O0": ["-O0", "-g"], "O2": ["-O2", "-g"], "plain": ["-O2"]}
    source = Path(__file__).with_name("program.cpp")
    for name, options in levels.items():
        subprocess.run(["g++", *options, "-o", folder / name, source, "-ldl"], check=True)
    return {name: folder / name for name in levels}


def _run(program: Path, words: list[str], breakpoints: list[str], commands: list[str], *options: str) -> str:
    line = [sys.executable, "-m", "dualdbg", "run", *options]
    line += [word for one in breakpoints for word in ("-b", one)]
    line += [word for one in commands for word in ("-x", one)]
    done = warm.run([*line, "--batch", "--native", str(program), *words], text=True, timeout=patient(300))
    return done.stdout + done.stderr


# In the order in which the program comes to the numbers for which each is true.
_CONDITIONS = {
    "item->values[3] == 5 || item->values[3] == 77": [5, 77],
    "number == 31234": [31234],
    "number > 0 && number % 40000 == 0": [40000, 80000],
    "item->number == 9 && text[0] == 'y' && number >= 90000": [94999],
    "item->name[1] == 'a' && number / -7 == -14285 && !(number & 1)": [99996, 99998],
}


@pytest.mark.parametrize("level", ["O0", "O2"])
def test_it_stops_where_the_condition_is_true(programs: dict[str, Path], level: str) -> None:
    """At its function's entry, with its arguments, and nowhere else: with debug info, optimised or not.

    The breakpoint gets one condition after the other.
    """
    first, *others = _CONDITIONS
    # Each condition but the first is set at the last stop of the one before.
    commands = ["bt", *_stops(_CONDITIONS[first])[1:]]
    for condition in others:
        commands += [f"condition 1 {condition}", *_stops(_CONDITIONS[condition])]
    said = _run(programs[level], ["100000"], [f"::work fast if {first}"], [*commands, "continue"])
    found = re.findall(r"^(?:int )?(?:number )?(?:= )?(\d+)$|(?<![=>])= (\d+)$", said, re.M)
    assert [int(one or other) for one, other in found] == [
        one for stops in _CONDITIONS.values() for one in stops
    ]
    assert said.count(_IN_PROCESS) == len(_CONDITIONS)
    assert re.search(r"#0 c\S* +work .*\n #1 c\S* +main ", said)
    assert "right 0" in said


def _stops(numbers: list[int]) -> list[str]:
    return [*["continue", "print number"] * len(numbers), "info breakpoints"]


def test_registers_are_enough_without_debug_info(programs: dict[str, Path]) -> None:
    commands = ["print $rdi", "info breakpoints", "continue"]
    said = _run(
        programs["plain"], ["100000"], ["work fast if (int)$rdi == 31234 && *(int*)$rsi == 4"], commands
    )
    assert re.search(r"^(.*= )?31234$", said, re.M), said
    assert _IN_PROCESS in said
    assert "right 0" in said


def test_json_says_where_it_is_evaluated(programs: dict[str, Path]) -> None:
    breakpoints = ["::work fast if number == 500", "tiny fast if $rdi == 1", "::throws if number == 1"]
    said = _run(programs["O2"], ["1000"], breakpoints, ["info breakpoints"], "--json")
    rows = _rows(said)
    assert rows[1] == [{"in": "process", "why": None}]
    assert rows[2][0]["in"] == "gdb" and "shorter than the jump" in rows[2][0]["why"]
    assert rows[3] == []


def _rows(said: str) -> dict[int, Any]:
    events = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    report = next(event for event in events if event.get("event") == "breakpoints")
    return {row["id"]: row["evaluated"] for row in report["breakpoints"]}


def test_hits_are_counted_in_the_process(programs: dict[str, Path]) -> None:
    """`hits N`, and `ignore` while it runs: the numbers are those of gdb's own way."""
    commands = [
        "print number",
        "info breakpoints",
        "ignore 1 500",
        "continue",
        "print number",
        "info breakpoints",
        "continue",
    ]
    for word in ("fast ", ""):
        said = _run(programs["O2"], ["4000"], [f"::work {word}hits 2000"], commands)
        assert (
            re.findall(r"= (\d+)$|^(\d+)$", said, re.M)[:2] == [("1999", ""), ("2500", "")] or "1999" in said
        )
        assert "(hit 2000 times)" in said, said
        assert "(hit 2501 times)" in said, said
        assert ("hits counted in the process" in said) == bool(word)


def test_memory_that_is_not_there_is_told_as_without_it(programs: dict[str, Path]) -> None:
    commands = ["print number", "info breakpoints", "continue"]
    texts = []
    for word in ("fast ", ""):
        said = _run(programs["O2"], ["2000", "null"], [f"::work {word}if item->values[0] == 99"], commands)
        assert "1000" in said and "right 0" in said, said
        texts.append(re.search(r"(?m)^\* Breakpoint 1.*\n(?:.*\n)?", said)[0].split("thread")[0])  # type: ignore[index]
        assert "Cannot access memory" in said
    assert texts[0] == texts[1]


@pytest.mark.parametrize("mode", ["throw", "fork", "exec"])
def test_the_program_does_what_it_does(programs: dict[str, Path], mode: str) -> None:
    """Exceptions are thrown through it, a child has it and no debugger, another program takes the place."""
    breakpoints = [
        "::work fast if number == -1 || number % 3000 == 17",
        "::throws fast if number == 2999 || number == 3",
    ]
    said = _run(programs["O2"], ["10000", mode], breakpoints, ["continue"] * 12)
    assert ("right 42" if mode == "fork" else "right 0") in said, said
    assert not _WRONG.search(said), said
    assert said.count("* Breakpoint 1") == (8 if mode == "exec" else 4), said
    assert said.count("* Breakpoint 2") == (2 if mode == "throw" else 0), said


@pytest.mark.parametrize("level", rows.some(["O2", "O0"], 1))
def test_steps_from_a_hit(programs: dict[str, Path], level: str) -> None:
    """They go on from there as from any other stop: the hit is told once, and the code is the program's."""
    steps = ["gdb x/6i $pc", "next", "continue", "step", "continue", "finish", "continue", "next", "next"]
    texts, codes = [], []
    for word in ("fast ", ""):
        by_itself = [] if word else ["set fast off"]
        commands = [*by_itself, *steps, "info breakpoints", "disable 1", "next", "detach"]
        said = _run(programs[level], ["5000"], [f"::work {word}if number % 1000 == 17"], commands)
        assert said.count("* Breakpoint 1") == 4, said
        assert "Value returned: long" in said and "(hit 4 times)" in said and not _WRONG.search(said)
        assert (_IN_PROCESS in said) == bool(word)
        texts.append(re.findall(r"(?m)^\* .*?:|^  \d+  .*|^  \w+  .*:\d+$", said))
        codes.append(re.findall(r"(?m)<work\(.*?\)(?:\+\d+)?>:\s*(\w+)", said))
    assert texts[0] == texts[1]
    assert codes[0] == codes[1] and len(codes[0]) > 3


@pytest.mark.parametrize("last", ["delete 1", "detach", "quit"])  # `disable` is with the steps
def test_what_is_taken_away_is_gone(programs: dict[str, Path], last: str) -> None:
    """And the program goes on with the right result; `quit` ends one that it has started."""
    commands = ["info breakpoints", last, "continue"]
    said = _run(programs["O2"], ["3000"], ["::work fast if number == 317"], commands)
    assert said.count("* Breakpoint 1") == 1 and _IN_PROCESS in said, said
    assert last == "quit" or "right 0" in said, said


def test_a_library_that_is_unloaded_and_loaded_again(programs: dict[str, Path], tmp_path: Path) -> None:
    source = "long twice(long a) { return a * 2 + (a >> 3 << 3) - a / 8 * 8; }"
    (tmp_path / "twice.c").write_text(source)
    library = tmp_path / "libtwice.so"
    subprocess.run(["gcc", "-O2", "-g", "-shared", "-fPIC", "-o", library, tmp_path / "twice.c"], check=True)
    said = _run(
        programs["O2"],
        ["3000", "dlclose", str(library)],
        ["twice fast if a == 1234"],
        ["continue", "continue"],
    )
    assert said.count("* Breakpoint 1") == 2, said
    assert "right 0" in said, said


def test_a_fault_in_a_moved_instruction_is_told_in_the_function(programs: dict[str, Path]) -> None:
    """The first instruction of the function reads behind its argument."""
    said = _run(programs["O2"], ["1000", "fault"], ["reads fast if $rdi == 1"], ["bt", "info breakpoints"])
    assert "SIGSEGV" in said and re.search(r"#0 c\S* +reads ", said), said
    assert _IN_PROCESS in said


def test_another_breakpoint_at_the_place_goes_gdbs_way(programs: dict[str, Path]) -> None:
    breakpoints = ["::work fast if number == 300", "::work if number == 500"]
    said = _run(programs["O2"], ["1000"], breakpoints, ["info breakpoints", "continue", "continue"])
    assert "condition evaluated by gdb at each hit: another breakpoint is there" in said
    assert "* Breakpoint 1" in said and "* Breakpoint 2" in said and "right 0" in said


def test_what_cannot_be_done_there_goes_gdbs_way_and_says_so(programs: dict[str, Path]) -> None:
    specs = {
        "tiny fast if $rdi == 1": "shorter than the jump",
        '::work fast if $_streq(text, "a")': "gdb at each hit: ",
        "::work fast if $xmm0.v4_float[0] > 1": "gdb at each hit: ",
        "::work fast hits % 500": "each hit is looked at",
    }
    commands = []
    for number, spec in enumerate(specs, 2):
        commands += [f"break {spec}", "info breakpoints", f"delete {number}"]
    said = _run(programs["O2"], ["600"], ["::main"], [*commands, "continue"])
    tables = said.split("::main: ")[1:]
    assert "right 0" in said and len(tables) == len(specs), said
    for table, why in zip(tables, specs.values(), strict=True):
        assert why in table.partition("Breakpoint")[0], (why, table)


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("refusals") / "program"
    source = Path(__file__).with_name("refusals.c")
    subprocess.run(["gcc", "-O2", "-g", "-fcf-protection=full", "-o", made, source], check=True)
    return made


def test_beginnings_of_functions(refusing: Path) -> None:
    """A branch into it, a call, a landing pad: each stops once, whoever does the work, and the result is right."""
    names = ("looped", "padded", "calls", "plain")
    said = _run(
        refusing,
        [],
        [f"{name} fast if (int)$rdi == 50" for name in names],
        ["info breakpoints", *["continue"] * 4],
    )
    whys = re.findall(r"(?m)^ +condition evaluated (.*?)(?: \w*)?$", said)
    assert re.match(r"by gdb at each hit: a branch at 0x\w+ leads into its first", whys[0])
    assert whys[1].startswith("in the") and whys[3].startswith("in the")
    assert re.match("by gdb at each hit: its first instructions cannot be moved: call", whys[2])
    assert [said.count(f"* Breakpoint {number}:") for number in (1, 2, 3, 4)] == [1] * 4
    assert "sum 1514987" in said


@pytest.mark.parametrize(
    ("mode", "why"),
    [
        ("far", "there is no room within 2 GB of it"),
        ("handler", "the program uses every signal by which a hit could be told"),
        ("block", "the program uses every signal by which a hit could be told"),
        ("seccomp", "system calls are filtered (seccomp) in thread"),
    ],
)
def test_programs_in_which_it_cannot_be_done(refusing: Path, mode: str, why: str) -> None:
    """What they have done by then is seen when the breakpoint is set; it stops all the same."""
    commands = ["break plain fast if k == 50", "disable 1", "continue", "info breakpoints", "continue"]
    said = _run(refusing, [mode], ["puts"], commands)
    assert f"condition evaluated by gdb at each hit: {why}" in said, said
    assert said.count("* Breakpoint 2:") == 1 and "sum 1514987" in said, said


def test_the_package_is_missing(
    programs: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The breakpoint works all the same, and says what to type."""
    (tmp_path / "iced_x86.py").write_text("raise ImportError\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    said = _run(programs["O2"], ["600"], ["::work fast if number == 317"], ["info breakpoints", "continue"])
    assert "iced-x86 is not installed: pip install 'dualdbg[fast]'" in said
    assert said.count("* Breakpoint 1") == 1 and "right 0" in said


def test_threads_of_the_debugger_in_a_python_program_do_not_prevent_it(tmp_path: Path) -> None:
    """They block all signals but faults."""
    source, library, script = tmp_path / "twice.cpp", tmp_path / "twice.so", tmp_path / "calls.py"
    source.write_text('extern "C" int twice(int x) {\n  int y = x * 2;\n  return y;\n}\n')
    subprocess.run(["g++", "-g", "-O0", "-shared", "-fPIC", "-o", library, source], check=True)
    script.write_text(
        f"import ctypes\nlib = ctypes.CDLL({str(library)!r})\nfor n in range(9999): lib.twice(n)\n"
    )
    line = [sys.executable, "-m", "dualdbg", "run", "--batch", "-b", "twice if x == 9000"]
    done = warm.run([*line, "-x", "info breakpoints", str(script)], text=True, timeout=patient(60))
    assert _IN_PROCESS in done.stdout, done.stdout + done.stderr
