"""Enumerations that are passed by value to a function without debug info: by the debug info of what calls it."""

from __future__ import annotations

import platform
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
#include <optional>
namespace ns {
enum class Color : unsigned char { red, green = 7, blue = 200 };
enum Flags { one = 1, two = 2, four = 4 };
enum Low : short { low = -5, high = 9 };
enum class Wide : long long { least = -0x7fffffffffffffff, most = 0x7fffffffffffffff };
struct Box { enum class Kind { a, b }; };
struct Vm {
  int field = 3;
  long take(int a, Color c, Flags f, Low s, Box::Kind k, std::optional<Color> o, const Color& r, Wide w) const;
};
long free_take(Color c, double d, Flags f, long x);
long relayed(Color c, long x);
long relay(long x);
}
"""
LIBRARY = """\
#include "enums.h"
#define PART __attribute__((noinline, used))
static volatile long sink;
PART long ns::Vm::take(int a, Color c, Flags f, Low s, Box::Kind k, std::optional<Color> o, const Color& r,
                       Wide w) const {
  return sink = a + long(c) + f + s + long(k) + o.has_value() + long(r) + long(w);
}
PART long ns::free_take(Color c, double d, Flags f, long x) { return sink = long(c) + long(d) + f + x; }
PART long ns::relayed(Color c, long x) { return sink = long(c) + x; }
PART long ns::relay(long x) { return relayed(Color::green, x) + 1; }
"""

PROGRAM = """\
#include "enums.h"
int main() {
  ns::Vm vm;
  ns::Color blue = ns::Color::blue;
  vm.take(1, ns::Color::green, ns::Flags(5), ns::low, ns::Box::Kind::b, ns::Color::red, blue, ns::Wide::least);
  ns::free_take(ns::Color(9), 2.5, ns::two, 44);
  ns::relay(55);
}
"""
TAKE = [
    "int arg1 = 1",
    "ns::Color arg2 = ns::Color::green",
    "ns::Flags arg3 = (ns::one | ns::four)",
    "ns::Low arg4 = ns::low",
    "ns::Box::Kind arg5 = ns::Box::Kind::b",
    "std::optional<ns::Color> arg6 = ns::Color::red",
    "ns::Color const& arg7 = ns::Color::blue",
    "ns::Wide arg8 = ns::Wide::least",
]
FREE = ["ns::Color arg1 = 9", "double arg2 = 2.5", "ns::Flags arg3 = ns::two", "long arg4 = 44"]


@pytest.mark.parametrize("optimised", ["-O0", "-O2"])
def test_they_have_their_names(tmp_path: Path, optimised: str) -> None:
    compiler = require(shutil.which("g++"), "a C++ compiler")
    for name, text in (("enums.h", HEADER), ("library.cpp", LIBRARY), ("program.cpp", PROGRAM)):
        (tmp_path / name).write_text(text)
    shared = [optimised, "-shared", "-fPIC", "library.cpp", "-o", "libenums.so"]
    program = ["-g", "-O1", "program.cpp", "-L.", "-lenums", f"-Wl,-rpath,{tmp_path}", "-o", "program"]
    for words in (shared, program):
        subprocess.run([compiler, "-std=c++17", *words], cwd=tmp_path, check=True)
    functions = [word for name in ("Vm::take", "free_take", "relayed") for word in ("-b", f"ns::{name}")]
    commands = [word for line in ("args", "continue", "args", "continue", "args") for word in ("-x", line)]
    done = dualdbg("run", "--native", *functions, *commands, "--batch", tmp_path / "program")
    take, free, relayed = (
        [line for line in part.splitlines() if " arg" in line]
        for part in done.stdout.split("(dualdbg) args\n")[1:]
    )
    assert take == TAKE
    assert free == FREE
    # The caller has no debug info: that the program's enumeration of this name is the same one nobody knows.
    assert relayed[0].startswith("ns::Color arg1 = <not known")
