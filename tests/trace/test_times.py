"""``dualdbg trace --time``: a time for each call that has returned, and for no other one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import rows
from tests.trace.test_counts import pytestmark, result, run
from tests.trace.test_records import events_in, library

__all__ = ["library", "pytestmark"]

NAMES = ("spin", "throws", "jumps", "climbs", "ends_in_spin", "measured")
OPTIONS = [word for name in NAMES for word in ("-b", name)]


@pytest.fixture(scope="module", params=rows.some(["-O2", "-O3"], 1))
def times(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("times") / "times"
    source = Path(__file__).with_name("times.cpp")
    command = ["g++", request.param, "-g", "-pthread", "-Wno-clobbered", "-o", str(made), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return made


def _own(said: str) -> dict[str, list[int]]:
    texts = [json.loads(line) for line in said.splitlines() if line.startswith('{"event": "output"')]
    rows = "".join(text["text"] for text in texts).splitlines()
    return {name: list(map(int, numbers)) for name, *numbers in map(str.split, rows)}


def test_each_call_that_returns_is_timed(times: Path) -> None:
    """Threads, recursion, exceptions, longjmp, tail calls: the program's own counts, and times between its own."""
    said = run("--time", "--json", *OPTIONS, "--native", times, 300, status=7)
    own, found = _own(said), result(said)
    for name in NAMES:
        row = found[name]
        assert row["untimed"] == []
        assert row["timed"] == own[name][0] > 0
        assert row["recorded"] == row["hits"]
        assert sum(one["timed"] for one in row["callers"]) == row["timed"]
        assert sum(one["time"] for one in row["callers"]) == pytest.approx(row["time"], rel=1e-3)
        assert max(one["longest"] for one in row["callers"]) == row["longest"]
    assert found["throws"]["hits"] == 2400 and found["throws"]["timed"] == 1600
    assert found["jumps"]["hits"] == 2400 and found["jumps"]["timed"] == 1920
    _, within, around = own["measured"]
    # The clocks tick at the same rate, as well as that was measured.
    assert within / 1e9 * 0.98 <= found["measured"]["time"] <= around / 1e9 * 1.02
    climbed = {one["native"]: one for one in found["climbs"]["callers"]}
    assert climbed["work"]["timed"] == 2400
    assert found["spin"]["longest"] <= found["spin"]["time"]


def test_times_without_records(times: Path) -> None:
    """`--count --time`: totals, which nothing can drop."""
    said = run("--time", "--count", "--json", *OPTIONS, "--native", times, 5000, status=7)
    own, found = _own(said), result(said)
    assert {name: found[name]["timed"] for name in NAMES} == {name: own[name][0] for name in NAMES}
    _, within, around = own["measured"]
    assert within / 1e9 * 0.98 <= found["measured"]["time"] <= around / 1e9 * 1.02
    assert "callers" not in found["spin"] and "longest" not in found["spin"]


def test_a_condition_times_the_calls_for_which_it_is_true(times: Path) -> None:
    """Also where an exception left a call of which it was true: the next one there has no time of it."""
    said = run("--time", "--json", "-b", "throws if $rdi % 7 == 3", "--native", times, 300, status=7)
    row = result(said)["throws"]
    true = [number for number in range(300) if number % 7 == 3]
    assert row["hits"] == 8 * len(true)
    assert row["timed"] == 8 * sum(number % 3 != 0 for number in true)


def test_stops_meanwhile_cost_times_and_make_none(times: Path) -> None:
    """Libraries are loaded while eight threads run: they are stopped, and some in our code."""
    said = run("--time", "--json", *OPTIONS, "--native", times, 3000, 25, status=7)
    own, found = _own(said), result(said)
    for name in NAMES:
        assert found[name]["hits"] >= found[name]["timed"]
        assert 0 < found[name]["timed"] <= own[name][0]
    _, _, around = own["measured"]
    assert found["measured"]["time"] <= around / 1e9 * 1.02


def test_what_cannot_be_timed_is_said(tmp_path: Path) -> None:
    """A way out without room, and a line within a function; the calls are counted all the same."""
    source = tmp_path / "short.c"
    source.write_text(
        '__asm__(".globl narrow\\n.type narrow,@function\\nnarrow: movl $1, %eax\\n testl %edi, %edi\\n jz 1f\\n'
        ' movl $2, %eax\\n1: ret\\n.size narrow,.-narrow\\n.globl next\\nnext: ret\\n");\n'
        "extern int narrow(int);\n"
        "int main(void) {\n    int sum = 0;\n    for (int at = 0; at < 100; at++)\n        sum += narrow(at);\n"
        "    return sum == 199 ? 7 : 1;\n}\n"
    )
    subprocess.run(["gcc", "-O0", "-g", "-o", tmp_path / "short", source], check=True)
    said = run("--time", "--json", "-b", "narrow", "--native", tmp_path / "short", status=7)
    row = result(said)["narrow"]
    if row["hits"] is not None:
        assert row["hits"] == 100 and row["timed"] == 0
        assert "way out" in row["untimed"][0]
    said = run("--time", "-b", "narrow", "-b", f"{source}:6", "--native", tmp_path / "short", status=7)
    assert "Not timed" in said and "it is not the beginning of a function" in said


def test_events_have_durations_and_stacks_have_times(library: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        f"import ctypes, time\nlibrary = ctypes.CDLL({str(library)!r})\ntime.sleep(0.5)\n"
        "def once(n): library.twice(n)\nfor i in range(500): once(i)\n"
    )
    events, stacks = tmp_path / "events.json", tmp_path / "stacks.txt"
    said = run("--time", "--json", "--perfetto", events, "--folded", stacks, "-b", "twice", script)
    row = result(said)["twice"]
    found: list[dict[str, Any]] = events_in(events)
    assert len(found) == 500 == row["timed"]
    assert {event["ph"] for event in found} == {"X"}
    assert [event["args"]["number"] for event in sorted(found, key=lambda event: event["ts"])] == list(
        range(500)
    )
    assert sum(event["dur"] for event in found) / 1e6 == pytest.approx(row["time"], rel=1e-3)
    assert {event["args"]["python"] for event in found} == {f"{script}:4 in once"}
    lines = dict(line.rsplit(" ", 1) for line in stacks.read_text().splitlines())
    assert all(name.startswith(f"{script}:4 in once;") for name in lines)
    assert sum(map(int, lines.values())) == pytest.approx(row["time"] * 1e6, abs=len(lines))


def test_no_times_where_greenlets_share_a_stack(tmp_path: Path) -> None:
    """Their library is known by its name; calls are counted all the same."""
    source, library = tmp_path / "program.c", tmp_path / "_greenlet.abi3.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, "-x", "c", "/dev/null"], check=True)
    source.write_text(
        "#include <dlfcn.h>\n#include <unistd.h>\nint main(void) {\n"
        f'    if (!dlopen("{library}", RTLD_NOW)) return 1;\n'
        "    for (int at = 0; at < 100; at++) getppid();\n    return 7;\n}\n"
    )
    subprocess.run(["gcc", "-o", tmp_path / "program", source, "-ldl"], check=True)
    for options in ([], ["--count"]):
        said = run("--time", "--json", *options, "-b", "getppid", "--native", tmp_path / "program", status=7)
        row = result(said)["getppid"]
        assert (row["hits"], row["timed"], row["time"]) == (100, 0, 0)
        assert "greenlets" in row["untimed"][0]


_FORKING = """\
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) long sleeps(int us) { volatile long kept = us; usleep(us); return kept; }
int main(void) {
    for (int child = 0; child < 4; child++)
        if (!fork()) {
            for (int i = 0; i < 200; i++) sleeps(500);
            _exit(0);
        }
    for (int i = 0; i < 100; i++) sleeps(1000);
    while (wait(0) > 0);
    return 0;
}
"""


def test_forked_children_have_calls_of_their_own(tmp_path: Path) -> None:
    """At the same places of their stacks, at the same time."""
    source, made = tmp_path / "forking.c", tmp_path / "forking"
    source.write_text(_FORKING)
    subprocess.run(["gcc", "-O2", "-g", "-o", made, source], check=True)
    row = result(run("--time", "--json", "-b", "sleeps", "--native", made))["sleeps"]
    assert row["hits"] == row["timed"] == 900 and row["time"] >= 0.5


_WITH_DATA = """\
#include <stdio.h>
__asm__(".globl mixed\\n.type mixed,@function\\n"
        "mixed: movl $1, %eax\\n testl %edi, %edi\\n jmp 1f\\n"
        "data: .byte 0x90,0x90,0x90,0x90,0x90,0x90,0xc3,0x90,0x90,0x90,0x90,0x90,0xc3,0x90,0x90,0x90\\n"
        "1: movq data(%rip), %rax\\n addq data+8(%rip), %rax\\n nop\\n nop\\n ret\\n.size mixed,.-mixed\\n");
extern unsigned long mixed(int);
int main(void) {
    int wrong = 0;
    for (int at = 0; at < 100; at++)
        wrong += mixed(at) != 0x90c3909090909090ul + 0x909090c390909090ul;
    puts(wrong ? "wrong" : "right");
    return 7;
}
"""


def test_data_among_the_code_of_a_function_stays(tmp_path: Path) -> None:
    """It has the byte of `ret`, and what comes before it could be moved; the real way out is timed."""
    (tmp_path / "mixed.c").write_text(_WITH_DATA)
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "mixed", tmp_path / "mixed.c"], check=True)
    said = run("--time", "--json", "-b", "mixed", "--native", tmp_path / "mixed", status=7)
    row = result(said)["mixed"]
    assert '"right' in said
    assert (row["hits"], row["timed"], row["untimed"]) == (100, 100, [])


@pytest.mark.parametrize("options", rows.some([[], ["--count"]], 1))
def test_a_handler_that_jumps_away_costs_the_calls_that_it_ends(options: list[str], tmp_path: Path) -> None:
    """Out of our code too, thousands of times: nobody waits for what such a call has begun."""
    made = tmp_path / "jumps"
    subprocess.run(["gcc", "-O2", "-o", made, Path(__file__).with_name("jumps.c")], check=True)
    said = run("--time", "--json", *options, "-b", "inner", "-b", "outer", "--native", made, status=7)
    began, ended, jumps = _own(said)["counts"]
    found = result(said)
    inner, outer = found["inner"], found["outer"]
    assert began <= inner["hits"] <= began + jumps
    assert 0 <= ended - inner["timed"] <= jumps and 0 <= outer["hits"] - outer["timed"] <= jumps
    assert 0 < inner["time"] <= outer["time"]
    assert options or all(0 < row["recorded"] <= row["hits"] for row in (inner, outer))


def test_a_function_into_which_another_one_jumps_has_no_times(tmp_path: Path) -> None:
    """The other one leaves by a way out of it, and is taken for the call that had left by one that is not noted."""
    source = Path(__file__).with_name("jumping_in.c")
    subprocess.run(["gcc", "-O1", "-o", tmp_path / "jumping", source], check=True)
    row = result(run("--time", "--json", "-b", "entered", "--native", tmp_path / "jumping", status=7))[
        "entered"
    ]
    assert (row["hits"], row["timed"], row["time"]) == (10, 0, 0)
    assert "code of another function" in row["untimed"][0]


@pytest.mark.parametrize("options", [["--count", "--time"], []])
def test_turns_of_a_loop_at_the_beginning_are_no_calls(options: list[str], tmp_path: Path) -> None:
    """They are counted with them, which is said; a time would be that of the last turn."""
    subprocess.run(["gcc", "-o", tmp_path / "turns", Path(__file__).with_name("turns.c")], check=True)
    row = result(run(*options, "--json", "-b", "turns", "--native", tmp_path / "turns", status=7))["turns"]
    assert row["hits"] == 300 and row["looped"]
    assert not options or (row["timed"] == 0 and "jumps back" in row["untimed"][0])
    said = run(*options, "-b", "turns", "--native", tmp_path / "turns", status=7)
    assert "with each turn of the loop" in said
