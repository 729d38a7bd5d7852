"""Binding layers by name: the two kinds of names say the same of every function, and of nobody's own code too much."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dualdbg.known.binding_layers import GLUE_PATTERNS, LAYERS, bodies_behind, is_library_code
from dualdbg.symbols.names.cxx_names import parse
from dualdbg.symbols.names.demangle import demangle
from dualdbg.symbols.objfile import Objfile
from tests import support

GLUE = re.compile("|".join(f"(?:{pattern})" for pattern in GLUE_PATTERNS))


def functions(library: Path) -> Iterator[tuple[bytes, str]]:
    """Linkage name, and the name by which frames know the function."""
    for table in Objfile.open(library).tables:
        for entry in table.functions():
            linkage = table.name(entry)
            name = parse(demangle(linkage.decode())).short
            if name:  # there is none for a function that returns a pointer to a member
                yield linkage, name


@pytest.fixture(scope="module")
def bindings() -> Path:
    return support.built(support.SAMPLES / "bindings/build.py")


def disagreements(libraries: list[Path]) -> tuple[set[str], list[str]]:
    """The layers that were met, and the functions of which only one of a layer's two tables knows."""
    met, wrong = set(), []
    for library in libraries:
        for linkage, name in functions(library):
            for layer in LAYERS:
                by_linkage = any(re.match(pattern.encode(), linkage) for pattern in layer.linkage)
                by_name = any(re.match(pattern, name) for pattern in layer.demangled)
                met.update({layer.name} if by_linkage else ())
                if by_linkage != by_name:
                    wrong.append(f"{layer.name}: {linkage.decode()} is {name}")
    return met, wrong


def test_both_kinds_of_names_say_the_same(native_samples: Path, bindings: Path) -> None:
    met, wrong = disagreements([*native_samples.glob("*.so"), *bindings.glob("*.so")])
    assert wrong == []
    # No sample is built with PyO3: it has to be downloaded.
    assert met == {layer.name for layer in LAYERS} - {"PyO3"}


def own(library: Path, word: str) -> dict[str, tuple[bool, bool]]:
    """What is said of the functions with a word in their names: whether a library's, whether glue."""
    found = {name: linkage for linkage, name in functions(library) if word in name}
    return {name: (is_library_code(linkage), GLUE.match(name) is not None) for name, linkage in found.items()}


def test_the_authors_own_code_is_nobody_elses(native_samples: Path, bindings: Path) -> None:
    [cython] = bindings.glob("sample_cython*.so")
    bodies = {name: said for name, said in own(cython, "__pyx_pf_").items() if "::" not in name}
    assert bodies and set(bodies.values()) == {(False, False)}
    assert set(own(cython, "__pyx_pw_").values()) == {(True, True)}
    [pybind] = native_samples.glob("sample_pybind*.so")
    assert own(pybind, "pybind11_init_sample_pybind")["pybind11_init_sample_pybind"] == (False, False)
    assert set(own(pybind, "sample::Vec2::length").values()) == {(False, False)}


@pytest.mark.parametrize(
    "linkage", [b"__pyx_f_4mine_helper", b"__pyx_pf_4mine_add", b"_ZL18__pyx_f_4mine_add3dd"]
)
def test_what_cython_makes_of_an_authors_function(linkage: bytes) -> None:
    """As C and as C++: the names are the same but for the mangling."""
    assert not is_library_code(linkage)


@pytest.mark.parametrize(
    "linkage",
    [
        b"__pyx_pw_4mine_1add",
        b"_ZL19__pyx_pw_4mine_1addP7_objectS0_",
        b"__Pyx_PyObject_Call",
        b"_ZL19__Pyx_PyObject_CallP7_object",
        b"_ZNO8pybind116detail8initimpl7factoryE",
        b"_ZZN8pybind116handle3ptrEv",
        b"_ZN8nanobind6detailL25nb_func_vectorcall_simpleEP7_object",
        b"_ZSt4moveIRiE",
        b"_ZNKSt6vectorIiE4sizeEv",
        b"PyInit_mine",
        b"__do_global_dtors_aux",
        b"_ZN4mine1fEv.cold",
    ],
)
def test_what_is_nobodys_own(linkage: bytes) -> None:
    assert is_library_code(linkage)


@pytest.mark.parametrize(
    "linkage", [b"nb_steps", b"init_mine", b"_ZN4mine1fEv", b"pybind11_init_mine", b"nanobinds"]
)
def test_an_author_may_choose_such_names(linkage: bytes) -> None:
    assert not is_library_code(linkage)


def test_the_body_behind_a_wrapper() -> None:
    assert bodies_behind("__pyx_pw_6module_3add(_object*)") == ("__pyx_pf_6module_2add",)
    assert bodies_behind("__pyx_pw_6module_1add") == ("__pyx_pf_6module_add",)
    caster = "pybind11::cpp_function::initialize<f(x)::{lambda(int)#1}, void>(int)"
    assert bodies_behind(caster) == ("f(x)::{lambda(int)#1}::operator()",)
    assert bodies_behind("mine::f(int)") == ()
