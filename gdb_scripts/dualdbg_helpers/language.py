"""The language of an expression: our own are read as C++, whatever language the frame or the user has.

gdb reads every expression, looks up every type and prints every value in its current language, which follows the
selected frame: ``(long)5`` is an error in a frame of Rust, ``long`` no type there. Only this module asks gdb for them.
"""

from __future__ import annotations

import contextlib
import re
from typing import Any, Iterator

import gdb
from dualdbg_shared.console_text import plain

from . import cython_frames

_OURS = "c++"
# What reads our casts, types and numbers as C++ does.
_LIKE_OURS = frozenset(("asm", "c", "c++", "minimal", "objective-c", "opencl"))
# Set by hand, where the code is in another: gdb 13 aborts when it looks up a name (go_symbol_package_name in
# gdb/go-lang.c, d_lookup_nested_symbol in gdb/d-namespace.c).
_ABORTING = frozenset(("d", "go"))
_CURRENT = re.compile(r"([\w+-]+)\"?\.$")  # The current source language is "auto; currently rust".


def current() -> str:
    """The language in which gdb would read an expression now, by gdb's name."""
    with contextlib.suppress(gdb.error):  # nothing runs
        gdb.selected_frame()  # the language follows the frame, once that is looked at
    if hasattr(gdb, "current_language"):  # gdb 13
        return str(gdb.current_language())
    match = _CURRENT.search(plain(gdb.execute("show language", to_string=True)).strip().partition("\n")[0])
    return match.group(1) if match else "unknown"


def is_like_ours() -> bool:
    """Whether gdb reads expressions as in C now."""
    return current() in _LIKE_OURS


@contextlib.contextmanager
def ours() -> Iterator[None]:
    """While it is entered, gdb reads in our language. What the user has set holds again afterwards."""
    if is_like_ours():  # the usual case: gdb takes 0.2 ms to change its setting
        yield
        return
    with _set(_OURS):
        yield


@contextlib.contextmanager
def as_of(name: str) -> Iterator[None]:
    """While it is entered, gdb reads and prints in the language ``name``."""
    if name == current():
        yield
        return
    with _set(name):
        yield


@contextlib.contextmanager
def _set(name: str) -> Iterator[None]:
    before = gdb.parameter("language")
    gdb.execute("set language " + name, to_string=True)
    try:
        yield
    finally:
        gdb.execute("set language " + before, to_string=True)


def evaluate(text: str) -> Any:
    """The :class:`gdb.Value` of an expression of ours. Raises gdb.error."""
    with ours():
        return gdb.parse_and_eval(text)


def evaluate_for_user(text: str) -> Any:
    """The value of an expression that the user typed, in the language of the selected frame or the one that is set.

    In a frame of Cython it may have the author's names of variables.
    """
    names = {}
    with contextlib.suppress(gdb.error):  # nothing runs
        names = cython_frames.names_in(gdb.selected_frame())
    text = cython_frames.translated(text, names)
    if gdb.parameter("language") in _ABORTING:
        with _set(_OURS):
            return gdb.parse_and_eval(text)
    return gdb.parse_and_eval(text)


def find_type(name: str) -> Any:
    """The type of a name in C or C++. Raises gdb.error where gdb does not know it."""
    with ours():
        return gdb.lookup_type(name)
