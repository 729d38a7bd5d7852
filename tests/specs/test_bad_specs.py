"""Specs that cannot be read: each with what it says, where it points, and what it tells the user to type."""

from __future__ import annotations

import pytest

from dualdbg.errors import SpecError
from dualdbg.symbols.locspec.breakpoint_spec import parse_spec

OPERATORS = {"randn", "add", "mm"}
SUFFIXES = 'if CONDITION, hits N, log "text {expr}", thread T, outermost FUNCTION, temporary, fast, count, trace, time'

# The spec, the first line of the message, the column of the caret (None: no caret), the hint.
BAD = [
    ("", "an empty breakpoint spec", None, "name an operator, a function or FILE:LINE, for example randn"),
    ("randn@kernl", "an operator has no layer 'kernl'", 6, "nearest: kernel"),
    ("randn@", "an operator has no layer ''", 6, "layers: binding, dispatch, kernel, all"),
    (
        "at::native::randn@kernel",
        "only an operator has layers",
        17,
        "for example randn@binding or add.Tensor@dispatch",
    ),
    (
        "foo bar",
        "'bar' is not understood after 'foo'",
        4,
        f"suffixes: {SUFFIXES}; a C++ name is written without its return type",
    ),
    (
        "int main",
        "'main' is not understood after 'int'",
        4,
        f"suffixes: {SUFFIXES}; a C++ name is written without its return type",
    ),
    (
        "foo.cpp",
        "the line is missing",
        7,
        "for example foo.cpp:12; a function of Cython that is called so: cpp",
    ),
    ("foo.cpp:abc", "a line's number belongs here", 8, "a function is named without its file: abc"),
    ("foo.cpp:0", "lines count from 1", 8, "type foo.cpp:1"),
    ("foo.py:", "a line's number belongs here", 7, "for example foo.py:12"),
    ("foo.py:3:4", "a line has no columns here", 8, "type foo.py:3"),
    (
        "foo.py:3 x > 3",
        "'x > 3' is not understood after foo.py:3",
        9,
        f"a condition follows 'if': foo.py:3 if x > 3; other suffixes: {SUFFIXES}",
    ),
    (
        "foo.txt:3",
        "the suffix .txt does not tell whether foo.txt is Python or native",
        0,
        "a Python file: py:foo.txt:3; a native one ends in .c, .cpp, .cu, .h, .pyx and the like",
    ),
    (
        "tool:3",
        "a file without a suffix does not tell whether tool is Python or native",
        0,
        "a Python file: py:tool:3; a native one ends in .c, .cpp, .cu, .h, .pyx and the like",
    ),
    ('"a.py:3', "the quote is not closed", 0, 'a path in quotes: "a path.py":12'),
    (
        "torch.randn",
        "'torch' is no operator, and C++ names have no dots",
        5,
        "the operator: randn; a Python function: py:torch.randn",
    ),
    ("py:", "'py:' wants a Python function", 3, "py:torch.nn.functional.linear or py:MyModel.forward"),
    (
        "py:a..b",
        "a name is missing between the dots",
        5,
        "py:package.module.function or py:Class.method, without parentheses",
    ),
    (
        "py:f()",
        "'f()' is no Python name",
        3,
        "py:package.module.function or py:Class.method, without parentheses",
    ),
    (
        "*0xzz",
        "an address is 0x and hexadecimal digits",
        0,
        "for example *0x7ffff7a41120 or libm.so.6+0x1120",
    ),
    ("0x11111111111111111", "the address has more than 64 bits", 2, ""),
    (
        "libm.so.6+12",
        "an address is 0x and hexadecimal digits",
        0,
        "for example *0x7ffff7a41120 or libm.so.6+0x1120",
    ),
    ("*", "'*' would stop in every function", 0, "put letters into the pattern: *randn*"),
    ("foo(", "'(' is not closed", 3, "write the whole parameter list, or the name without it"),
    ("foo)", "')' closes nothing", 3, "write the name as gdb shows it, or without parameters"),
    ("foo::", "a name is missing beside '::'", 5, "namespace::Class::method"),
    ("1abc", "a function's name does not begin with a digit", 0, "a line of a file: FILE:LINE"),
    (
        "foo-bar",
        "'-' cannot stand in a function's name",
        3,
        "a C or C++ name, for example at::native::randn; a file's line is FILE:LINE",
    ),
    ("presets:x", "there is no 'presets:'", 0, "did you mean preset:x?"),
    ("thow:std::x", "there is no 'thow:'", 0, "did you mean throw:std::x?"),
    ("preset:", "'preset:' wants a name", 7, "for example preset:jit-run"),
    ("throw:1", "'throw:' wants a C++ type", 6, "throw:std::runtime_error, or throw for every type"),
    ("raise:a b", "'raise:' wants a Python exception type", 6, "raise:ValueError, or raise for every type"),
    ("uncaught:ValueError", "'uncaught' takes no type", 8, "raise:ValueError stops where one type is raised"),
    ("SIGUSR", "there is no signal 'SIGUSR'", 0, "nearest: SIGUSR2, SIGUSR1, SIGURG"),
    ("SIGKILL", "SIGKILL cannot be stopped at", 0, "the kernel delivers it without telling a debugger first"),
    ("signal:99", "there is no signal 99", 7, "signals go from 1 to 64"),
    (
        "randn when x",
        "'when x' is not understood after 'randn'",
        6,
        f"suffixes: {SUFFIXES}; a C++ name is written without its return type",
    ),
    ("randn if", "'if' wants a condition", 8, "for example if x > 3, in the language of the place"),
    (
        "randn hits",
        "'hits' wants a number from 1 on",
        10,
        "for example hits 3, to stop from the third hit on, or hits % 10",
    ),
    (
        "randn hits 0",
        "'hits' wants a number from 1 on",
        11,
        "for example hits 3, to stop from the third hit on, or hits % 10",
    ),
    (
        "randn hits 2147483648",
        "'hits' goes up to 2147483647",
        11,
        "a condition may look at a counter of the program",
    ),
    ("randn hits 3 hits 4", "a second 'hits'", 13, "give each suffix once"),
    ("randn hits 3 x", "'x' is not a suffix", 13, f"suffixes: {SUFFIXES}"),
    ("randn log x", "'log' wants a text in double quotes", 10, 'for example log "x is {x}"'),
    ('randn log "x', "'log' has no closing quote", 10, 'for example log "x is {x}"'),
    ('randn log ""', "the text of 'log' is empty", 10, 'for example log "x is {x}"'),
    (
        'randn log "{x"',
        "the braces of the log text do not match",
        10,
        "write {{ and }} for braces themselves",
    ),
    (
        "randn thread",
        "'thread' wants the thread's id or name",
        12,
        'for example thread 4711, thread worker or thread "a b"',
    ),
    (
        "randn outermost if x",
        "'outermost' wants a function",
        16,
        "for example outermost package.module.function, or outermost scope::function",
    ),
    (
        "a.py:3 outermost ns::f",
        "'outermost' wants a function of Python at a place in Python",
        7,
        "for example outermost package.module.function",
    ),
    (
        "f outermost f fast",
        "'fast' does not go with 'outermost': the stack is not looked at in the process",
        14,
        "leave one of them out",
    ),
    (
        "f count outermost f",
        "'count' goes with 'if' and 'thread' alone: it never stops",
        8,
        "for example f count if $rdi > 4096",
    ),
    (
        'f trace log "x"',
        "'trace' goes with 'if' and 'thread' alone: it never stops",
        8,
        "for example f trace if $rdi > 4096",
    ),
    ("f trace count", "'trace' counts too", 8, "leave 'count' out"),
    ("f time", "'time' goes with 'trace' or 'count'", 6, "for example f trace time"),
    ("py:f trace", "'trace' is for native code", 5, "leave it out: Python is asked itself"),
]


@pytest.mark.parametrize(("text", "message", "column", "hint"), BAD, ids=[bad[0] for bad in BAD])
def test_bad_spec(text: str, message: str, column: int | None, hint: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_spec(text, OPERATORS.__contains__)
    said = caught.value.message.split("\n")
    shown = [] if column is None else [f"  {text}", "  " + " " * column + "^"]
    assert said == [message, *shown]
    assert caught.value.hint == hint
    assert caught.value.exit_status == 2


def test_the_caret_points_into_the_text_as_typed() -> None:
    with pytest.raises(SpecError) as caught:
        parse_spec("   foo bar   if x")
    assert caught.value.message.split("\n")[1:] == ["     foo bar   if x", "         ^"]


def test_a_bad_place_is_told_even_when_the_suffixes_are_good() -> None:
    with pytest.raises(SpecError, match="only an operator has layers"):
        parse_spec("a::b::c@kernel hits 3 if x")
