"""Where arguments are: rows of the procedure call standards, and what names leave open."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import pytest

from tests.gdb_scripts.gdb_run import ENTRY

pytestmark = pytest.mark.pure

VIEW = "std::basic_string_view<char, std::char_traits<char> >"
LONGS = ["long"] * 7


@pytest.fixture(scope="module")
def placing() -> Any:
    sys.path.insert(0, str(ENTRY.parent))
    try:
        from dualdbg_helpers import placing
    finally:
        sys.path.remove(str(ENTRY.parent))
    return placing


def places(
    placing: Any,
    kinds: Sequence[str],
    machine: str = "aarch64",
    *,
    member: bool | None = False,
    hidden: bool | None = False,
) -> list[str]:
    """Each place as text: ``x0``, ``x0 x1``, ``v0/4``, ``[8]`` on the stack, ``*x0`` a copy whose address is there."""

    def text(place: Any) -> str:
        name = type(place).__name__
        if place is None:
            return "?"
        if name == "Copied":
            return f"*{text(place.where)}"
        if name == "OnStack":
            return f"[{place.offset}]"
        words = [word if isinstance(word, str) else f"v{word}/{place.piece}" for word in place.words]
        return " ".join(words)

    parameters = [[f"a{at}", kind] for at, kind in enumerate(kinds)]
    what = placing.passing({"parameters": parameters, "hidden": hidden, "member": member}, machine)
    return [text(place) for _, _, place in placing.agreed(what)]


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        (["int", "double", "char*", "float"], ["x0", "v0/8", "x1", "v1/4"]),
        ([VIEW, "bool"], ["x0 x1", "x2"]),
        (["std::optional<double>", "double"], ["x0 x1", "v0/8"]),  # a bool is in it: no class of floats
        (["std::complex<float>", "std::complex<double>"], ["v0/4 v1/4", "v2/8 v3/8"]),
        ([f"std::optional<{VIEW} >", "int"], ["*x0", "x1"]),  # more than 16 bytes
        (["std::array<bool, 17ul>", "std::array<bool, 16ul>"], ["*x0", "x1 x2"]),
        # What does not fit is on the stack, and so is all of its kind that follows.
        ([*LONGS, VIEW, "int", "double"], [*(f"x{n}" for n in range(7)), "[0]", "[16]", "v0/8"]),
        (["double"] * 9 + ["float", "int"], [*(f"v{n}/8" for n in range(8)), "[0]", "[8]", "x0"]),
        ([*LONGS, "long", f"std::optional<{VIEW} >"], [*(f"x{n}" for n in range(8)), "*[0]"]),
        (["at::Tensor", "c10::Scalar const&"], ["x0", "x1"]),  # by address
        (["long double", "float"], ["v0/16", "v1/4"]),
    ],
)
def test_rows_of_the_standard(placing: Any, kinds: list[str], expected: list[str]) -> None:
    assert places(placing, kinds) == expected
    assert places(placing, kinds, hidden=True) == expected  # x8 has the place of the result


def test_a_class_that_is_not_known_leaves_open_what_follows(placing: Any) -> None:
    assert places(placing, ["int", "Thing", "int"]) == ["x0", "?", "?"]
    assert places(placing, ["double", "Thing", "int*", "double"]) == ["v0/8", "?", "?", "?"]


def test_whether_this_is_passed_may_be_open(placing: Any) -> None:
    assert places(placing, ["int", "double"], member=None) == ["?", "v0/8"]
    assert places(placing, ["int", "double"], member=True) == ["x1", "v0/8"]


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("char", "unsigned char"),
        ("signed char", "signed char"),
        ("char const*", "char const*"),
        ("std::optional<char>", "std::optional<unsigned char>"),
        (VIEW, VIEW),
        ("wchar_t", "unsigned int"),
        ("long double", None),
        ("void (*)(int)", None),
        ("Thing", None),
    ],
)
def test_types_that_mean_other_bytes_there(placing: Any, kind: str, shown: str | None) -> None:
    what = placing.passing({"parameters": [], "hidden": False, "member": False}, "aarch64")
    assert placing.shown_kind(kind, what) == shown


@pytest.mark.parametrize(
    ("kinds", "known", "expected"),
    [
        (["int", "double", "char*"], {}, ["rdi", "v0/8", "rsi"]),
        (["int", "double", "char*"], {"member": True, "hidden": True}, ["rdx", "v0/8", "rcx"]),
        (["int", "double"], {"hidden": None}, ["?", "v0/8"]),
        (["int", "double"], {"member": None}, ["?", "v0/8"]),
        (["long"] * 7, {"member": None}, ["?"] * 7),
        (["int", "Thing", "int", "double"], {}, ["rdi", "?", "?", "?"]),
        ([*LONGS[:5], VIEW, "int"], {}, ["rdi", "rsi", "rdx", "rcx", "r8", "[0]", "r9"]),
        (
            ["std::optional<std::basic_string_view<char, std::char_traits<char> > >", "int"],
            {},
            ["[0]", "rdi"],
        ),
        (["std::complex<double>", "std::optional<double>"], {}, ["v0/8 v1/8", "v2/8 rdi"]),
    ],
)
def test_places_on_x86_64(placing: Any, kinds: list[str], known: dict[str, Any], expected: list[str]) -> None:
    assert places(placing, kinds, "x86-64", **known) == expected
