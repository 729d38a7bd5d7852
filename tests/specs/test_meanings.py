"""Names that several things bear."""

from __future__ import annotations

from dualdbg.symbols.locspec.breakpoint_spec import parse_spec
from dualdbg.symbols.locspec.meanings import Meaning, meanings

OPERATORS = {"randn"}.__contains__


def test_an_operator_and_a_function_of_the_user() -> None:
    found = [("at::native::randn", "libtorch_cpu.so"), ("mine::randn", "mine.so"), ("mine::randn", "mine.so")]
    assert meanings(parse_spec("randn", OPERATORS), found) == [
        Meaning("aten::randn", "PyTorch's operator"),
        Meaning("::mine::randn", "the function in mine.so"),
    ]
    assert meanings(parse_spec("randn", OPERATORS), found[:1]) == []
    assert meanings(parse_spec("aten::randn", OPERATORS), found) == []
    assert meanings(parse_spec("randn@binding", OPERATORS), found) == []


def test_a_function_in_several_scopes() -> None:
    found = [("a::run", "a.so"), ("b::run", "a.so"), ("b::run", "b.so")]
    assert [one.spec for one in meanings(parse_spec("run"), found)] == ["::a::run", "::b::run"]
    assert meanings(parse_spec("run"), found)[1].what == "the function in a.so, b.so"
    assert meanings(parse_spec("run"), found[1:]) == []
    assert meanings(parse_spec("r*n"), found) == []
    assert meanings(parse_spec("a.py:3"), found) == []


def test_each_meaning_is_clear() -> None:
    for one in meanings(parse_spec("randn", OPERATORS), [("randn", "mine.so")]):
        spec = parse_spec(one.spec, OPERATORS)
        assert meanings(spec, [("randn", "mine.so")]) == []
