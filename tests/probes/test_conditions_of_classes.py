"""Conditions about classes of C++, calls that are asked for, and conditions that are often false, in real sessions."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.probes import placement
from dualdbg.system.patience import patient

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++"),
]
PROGRAM = """\
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>
struct Money { int cents; bool operator==(const Money &other) const { return cents == other.cents; } };
struct Row {
    std::string name; std::optional<int> count; Row *next; Money price;
    int area() const { return (int)name.size() * 10; }
};
__attribute__((noinline)) long visit(const Row &row, const std::vector<int> &v, std::shared_ptr<Row> held, int n) {
    asm volatile("" ::: "memory");
    return row.area() + v.size() + n + (row.price == held->price);
}
__attribute__((noinline)) long often(int n, double x) { asm volatile("" ::: "memory"); return n + (long)x; }
int main(int argc, char **) {
    long sum = 0;
    for (int i = 0; i < 60; i++) {
        Row row{"row" + std::to_string(i), i % 3 ? std::optional<int>(i) : std::nullopt, nullptr, {i}};
        Row behind{"next", i, nullptr, {0}};
        if (i % 10 == 5) row.next = &behind;
        auto held = std::make_shared<Row>(Row{"held" + std::to_string(i), i, nullptr, {33}});
        sum += visit(row, std::vector<int>(i % 5 + 1, i), held, i);
    }
    for (int i = 0; i < 100000 * (argc - 1); i++) sum += often(i, i < 2000 ? 1 : 0);
    printf("sum %ld\\n", sum);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("conditions")
    (folder / "program.cpp").write_text(PROGRAM)
    subprocess.run(
        ["g++", "-g", "-O0", "-std=c++17", "-o", folder / "program", folder / "program.cpp"], check=True
    )
    return folder / "program"


def run(program: Path, words: list[str], breakpoints: list[str], commands: list[str]) -> str:
    line = [sys.executable, "-m", "dualdbg", "run", "--batch"]
    line += [word for one in breakpoints for word in ("-b", one)]
    line += [word for one in commands for word in ("-x", one)]
    done = subprocess.run(
        [*line, "--native", program, *words], capture_output=True, text=True, timeout=patient(120)
    )
    return done.stdout + done.stderr


# The condition, and the number of the call at which it is true.
CONDITIONS = {
    "v[0] == 17": 17,
    'row.name == "row20"': 20,
    'held->name == "held30" && row.count == std::nullopt': 30,
    "v.size() == 5 && n > 55": 59,
    "call(row.area()) == 40 && n == 3": 3,
    "call(row.price == held->price)": 33,
}


def test_a_condition_compares_what_print_shows(program: Path) -> None:
    """One without a value stops once, says why, and is evaluated at the next hits; no operator is called unasked."""
    log = 'visit if n == 47 log "{row.name} {v.size()} {*held->count + 1} {row.price == held->price}"'
    breakpoints = [f"visit if {one}" for one in CONDITIONS]
    # By their numbers 7 and 8: the first has a value at some hits, the second needs a call.
    breakpoints += ["visit if row.next->count == 25", "visit if row.price == held->price"]
    numbers = sorted({0, 25, *CONDITIONS.values()})
    said = run(program, [], [*breakpoints, log], ["print n", "continue"] * (len(numbers) + 1))
    stops = re.findall(r"(?ms)^\* Breakpoints? ([\d, ]+):(.*?)print n\n(\d+)$", said)
    expected = {0: "7, 8", 25: "7"}
    expected |= {n: str(number) for number, n in enumerate(CONDITIONS.values(), 1)}
    assert {int(n): ids for ids, _, n in stops} == expected, said
    assert "Cannot access memory" in stops[0][1] and "operator== of Money would be a call" in stops[0][1]
    assert "breakpoint 7 stays on" in stops[0][1]
    assert re.search(r'^"row47" 3 48 <operator== of Money would be a call', said, re.M), said
    assert said.count("can change it, each takes milliseconds") == 2, "said of the two that call"
    assert "tensor" not in said


def test_calls_are_refused_until_they_are_switched_on(program: Path) -> None:
    commands = ["break visit if row.area() == 50", "set calls on", "break visit if row.area() == 50"]
    said = run(
        program,
        [],
        ["visit if n == 2"],
        [*commands, "disable 1", "continue", "print n", "watch v[0]", "delete 2", "continue"],
    )
    refused, _, allowed = said.partition("(dualdbg) set calls on")
    assert "would call area in the program" in refused and "set calls on" in refused and "tensor" not in said
    assert "calls on" in allowed and "can change it" in allowed
    assert re.search(r"print n\n10$", allowed, re.M), said
    assert "v[0]: 10 -> " in allowed, said


@pytest.mark.skipif(platform.machine() != "x86_64" or placement.iced is None, reason="needs iced-x86")
def test_a_condition_that_is_often_false_is_compiled_by_itself(program: Path) -> None:
    commands = ["info breakpoints", "print n", "set fast off", "info breakpoints", "continue"]
    compiled = run(program, ["1"], ["often if n == 99000"], commands)
    assert (
        compiled.count(
            "the condition of breakpoint 1 is often false: it is compiled, to run in the process where it can"
        )
        == 1
    )
    assert compiled.count("condition evaluated in the process") == 1
    assert re.search(r"print n\n99000$", compiled, re.M), compiled
    by_gdb = run(program, ["1"], ["often if x == 0"], commands[:3])
    assert re.search(r"is often false, and gdb evaluates it [\d,]+ times a second: .*double", by_gdb), by_gdb
    assert re.search(r"print n\n2000$", by_gdb, re.M), by_gdb
