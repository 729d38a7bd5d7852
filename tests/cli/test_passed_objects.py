"""What addresses lead to that a function without debug info is passed: members, and the object of `this`."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.driver import dualdbg
from tests.support import require

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="where arguments are is read for x86-64"
)

HEADER = """\
namespace ns {
struct Point { int x, y; };
struct Plain {
  int a = 5;
  double b = 2.5;
  Point p{1, 2};
  Plain(int n);
  long get(int n);
  static long set(Plain* plain, const Point& at, Point** way);
};
struct Base { virtual ~Base() {} virtual long run(int n) const; long field = 11; };
struct Other { virtual ~Other() {} virtual long go(int n) const; long more = 22; };
struct Derived : Base, Other { long own = 33; Derived(int n); long mine(int n) const; };
struct Holder { Derived held{1}; long ask(int n); };  // begins with an object of a class that it is none of
}
"""
LIBRARY = """\
#include "objects.h"
#define PART __attribute__((noinline, used))
static volatile long sink;
namespace ns {
PART Plain::Plain(int n) { sink = n; }
PART long Plain::get(int n) { return sink = a + n; }
PART long Plain::set(Plain* plain, const Point& at, Point** way) { return sink = plain->a + at.x + (*way)->x; }
PART long Base::run(int n) const { return sink = n + field; }
PART long Other::go(int n) const { return sink = n + more; }
PART Derived::Derived(int n) { sink = n; }
PART long Derived::mine(int n) const { return sink = n + own; }
PART long Holder::ask(int n) { return sink = n + held.own; }
}
"""
PROGRAM = """\
#include "objects.h"
#include <new>
static long virtually(ns::Base* base, ns::Other* other) { return base->run(3) + other->go(4); }
int main() {
  alignas(ns::Derived) char memory[sizeof(ns::Derived)];
  new (memory) ns::Derived(1);
  ns::Holder holder;
  ns::Derived& derived = *new (memory) ns::Derived(1);
  virtually(&derived, &derived);
  derived.mine(5);
  holder.ask(7);
  ns::Plain plain(2);
  ns::Point point{7, 8}, *way = &point;
  plain.get(6);
  ns::Plain::set(&plain, point, &way);
}
"""
ADDRESS = "= 0x[0-9a-f]+"
RIGHT = {
    "Base::run": [rf"ns::Base\* this {ADDRESS}, of a ns::Derived", "int arg1 = 3"],
    "Other::go": [rf"ns::Other\* this {ADDRESS}, of a ns::Derived", "int arg1 = 4"],
    "Derived::mine": [rf"ns::Derived\* this {ADDRESS}", "int arg1 = 5"],
    "Holder::ask": [rf"ns::Holder\* this {ADDRESS}", "int arg1 = 7"],
    # Its members are not there yet, and memory may have those of an earlier object.
    "Plain::Plain": [rf"ns::Plain\* this {ADDRESS}", "int arg1 = 2"],
    "Plain::get": [
        rf"ns::Plain\* this {ADDRESS} \{{a = 5, b = 2.5, p = \{{x = 1, y = 2\}}\}}",
        "int arg1 = 6",
    ],
    "Plain::set": [
        rf"ns::Plain\* arg1 {ADDRESS}",
        rf"ns::Point const& arg2 {ADDRESS} \{{x = 7, y = 8\}}",
        rf"ns::Point\*\* arg3 {ADDRESS}",
    ],
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = require(shutil.which("g++"), "a C++ compiler")
    folder = tmp_path_factory.mktemp("objects")
    for name, text in (("objects.h", HEADER), ("library.cpp", LIBRARY), ("program.cpp", PROGRAM)):
        (folder / name).write_text(text)
    shared = ["-O2", "-shared", "-fPIC", "library.cpp", "-o", "libobjects.so"]
    program = ["-g", "-O1", "program.cpp", "-L.", "-lobjects", f"-Wl,-rpath,{folder}", "-o", "program"]
    for words in (shared, program):
        subprocess.run([compiler, "-std=c++17", *words], cwd=folder, check=True)
    return folder / "program"


def test_this_and_other_addresses(program: Path) -> None:
    places = [word for name in RIGHT for word in ("-b", f"ns::{name}")]
    commands = ["-x", "args"] + ["-x", "continue", "-x", "args"] * (len(RIGHT) - 1)
    done = dualdbg("run", "--native", *places, *commands, "--batch", program)
    shown = [
        [line for line in part.splitlines() if re.search(r" (?:this|arg\d) = ", line)]
        for part in done.stdout.split("(dualdbg) args\n")[1:]
    ]
    for lines, (name, right) in zip(shown, RIGHT.items(), strict=True):
        assert len(lines) == len(right), (name, lines)
        for line, one in zip(lines, right, strict=True):
            assert re.fullmatch(one, line), (name, line)


def test_the_members_can_be_looked_into(program: Path) -> None:
    words = ["--json", "-b", "ns::Plain::get", "-x", "print this", "--batch"]
    done = dualdbg("run", "--native", *words, program)
    (value,) = done.of("value")
    assert [(row["name"], row["value"]) for row in value["children"]] == [
        ("a", "5"),
        ("b", "2.5"),
        ("p", "{x = 1, y = 2}"),
    ]


def test_a_constructor_has_no_object_yet(program: Path) -> None:
    """Where one of this class has been before, the table of its class is still there."""
    commands = ["-b", "ns::Derived::Derived", "-x", "continue", "-x", "continue", "-x", "args", "--batch"]
    done = dualdbg("run", "--native", *commands, program)
    assert re.search(rf"^ns::Derived\* this {ADDRESS}$", done.stdout, re.MULTILINE)
