"""Long names made short: template arguments go first, operators stay what they are."""

from __future__ import annotations

import pytest

from dualdbg.console.names import package_path, short_path
from dualdbg.known.short_names import short_function, without_template_arguments


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("f<int, g<char> >::call", "f<...>::call"),
        ("operator<", "operator<"),
        ("a::operator<< <int>", "a::operator<< <...>"),
        ("a<b>::operator->", "a<...>::operator->"),
        ("a::operator<=>(b<c>)", "a::operator<=>(b<...>)"),
        ("my_operator<int>", "my_operator<...>"),
        ("<a::Square as a::Shape<i64>>::area", "a::Square::area"),
        ("<alloc::vec::Vec<fn() -> u8> as b::C>::push", "alloc::vec::Vec<...>::push"),
        ("(anonymous namespace)::f", "(anonymous namespace)::f"),
        ("f<(a)1>::g<h<i>, j>::k", "f<...>::g<...>::k"),
    ],
)
def test_template_arguments(name: str, short: str) -> None:
    assert without_template_arguments(name) == short


def test_a_name_is_only_shortened_when_it_must_be() -> None:
    assert short_function("f<int>", None) == "f<int>"
    assert short_function("f<int>", 6) == "f<int>"
    assert short_function("ns::f<int, int>::call", 16) == "ns::f<...>::call"
    shortened = short_function("a_very_long_namespace::another_one::and_a_function", 30)
    assert len(shortened) <= 30
    assert shortened.endswith("and_a_function") and "..." in shortened


def test_paths_are_those_a_user_would_type() -> None:
    assert short_path("/home/ada/src/a.py", "/home/ada") == "src/a.py"
    assert short_path("/home/adam/a.py", "/home/ada") == "/home/adam/a.py"
    assert package_path("/x/lib/python3.11/site-packages/torch/__init__.py") == "torch/__init__.py"
