"""Where a C++ exception is told to be thrown, by the frames of its throw."""

from __future__ import annotations

from dualdbg.model import NativeFrame, Quality, Stack
from dualdbg.session.breakpoints.cxx_exceptions import Throw

THROWER = NativeFrame(0, 1, library="/usr/lib/libstdc++.so.6", function="__cxa_throw")


def site(*frames: NativeFrame) -> str:
    return Throw(("Refused",), None).site(Stack(1, (THROWER, *frames), Quality.FULL))


def frame(function: str, file: str, line: int, inlined: bool = False) -> NativeFrame:
    return NativeFrame(1, 2, library="/t/lib.so", function=function, file=file, line=line, inlined=inlined)


def test_an_inlined_function_that_throws_is_told() -> None:
    inner = frame("Shared::check", "/t/shared.h", 8, inlined=True)
    assert site(inner, frame("add", "/t/add.cpp", 6)) == "thrown in Shared::check at shared.h:8 as Refused"


def test_one_that_was_extended_by_the_throw_behind_it_is_not() -> None:
    """GCC 16 has the call of the thrower within the constructor of what is thrown, with the line that calls that."""
    inner = frame("Refused::Refused", "/t/add.cpp", 6, inlined=True)
    between = frame("made", "/t/add.cpp", 6, inlined=True)
    assert site(inner, between, frame("add", "/t/add.cpp", 6)) == "thrown in add at add.cpp:6 as Refused"


def test_a_recursion_on_one_line_is_told_where_it_throws() -> None:
    assert site(frame("inner", "/t/a.cpp", 6), frame("outer", "/t/a.cpp", 6)).startswith("thrown in inner ")
