"""Names of functions with constraints, as GCC 14 and later mangle them: they are found by what a user calls them.

The names are of GCC 16.1, of the function that stands beside them in the test.
"""

from __future__ import annotations

import pytest

from dualdbg.symbols.names import cxx_names
from dualdbg.symbols.names.demangle import demangle, without_constraints

# The clause of a member of a class template, which no demangler of GCC reads; a clause and a template argument's own
# concept; letters that look so.
NAMES = {
    "_ZN3BoxIiE3putEiQ2OkIT_E": ("Box", "put"),  # void Box<T>::put(T) requires Ok<T>
    "_ZN3BoxIiEC2EvQ2OkIT_E": ("Box", "Box"),
    "_ZN3BoxIiE3getIlEEiT_Qaa2OkITL0__E2OkIS2_E": ("Box", "get"),
    "_ZNSsC1EvQ26is_default_constructible_vIT1_E": ("std", "basic_string", "basic_string"),
    "_Z2frITk2OkiEvT_": ("fr",),  # template<Ok T> void fr(T)
    "_Z3fr3IiEvT_Q2OkIS0_E": ("fr3",),
    "_Z3fr4IiTk2OkiEvT0_T_": ("fr4",),
    "_ZN3BoxIiE3putEiQ2OkIT_E.cold": ("Box", "put"),
    "_ZN1Q2QqES_": ("Q", "Qq"),
    "_Z5Tk2OkIiEvT_": ("Tk2Ok",),
}


@pytest.mark.parametrize("mangled", NAMES)
def test_a_function_with_constraints_is_called_as_it_is_without(mangled: str) -> None:
    assert cxx_names.parse(demangle(mangled)).bases == NAMES[mangled]


@pytest.mark.parametrize(
    ("text", "bases", "parameters", "qualifiers"),
    [
        ("void fr3<int>(int) requires Ok<int>", ("fr3",), "(int)", ""),
        ("Box<int>::put(int) const requires Ok<int>", ("Box", "put"), "(int)", "const"),
        ("f(int) requires (Ok<int>) && Also<(int)3>", ("f",), "(int)", ""),
        ("void f<g(int)::{lambda(int) requires Ok<int>#1}>(int)", ("f",), "(int)", ""),
        ("requires_more(int)", ("requires_more",), "(int)", ""),
    ],
)
def test_the_clause_is_no_part_of_the_name(
    text: str, bases: tuple[str, ...], parameters: str, qualifiers: str
) -> None:
    parsed = cxx_names.parse(text)
    assert (parsed.bases, parsed.parameters, parsed.qualifiers) == (bases, parameters, qualifiers)


def test_a_concept_with_arguments_stays() -> None:
    """Arguments may be referred to later, and where they end is not known without reading them."""
    name = b"_Z1fITkSt14convertible_toIiElEvT_"
    assert list(without_constraints(name)) == []
