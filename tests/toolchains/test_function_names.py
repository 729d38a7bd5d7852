"""Each toolchain against tables: what a function is called, whose it is, and which functions a name means."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from dualdbg.symbols.names.symbol import Symbol, symbol_of
from dualdbg.symbols.objfile import Objfile
from tests.support import require

CYTHON = (
    *("__pyx_f_1m_term", "__pyx_pw_1m_1poly", "__pyx_pf_1m_2is_prime", "__pyx_pw_1m_3is_prime"),
    *("__pyx_pf_1m_4kind", "__pyx_f_1m_kind", "__pyx_pf_1m_8__pyx_fuse_0both", "__pyx_pf_1m_6both"),
    *("__pyx_pw_1m_11numbers", "__pyx_gb_1m_12generator", "__pyx_pf_1m_3Box_4size___get__", "__Pyx_Raise"),
    *("__pyx_pf_1m_2is_prime._omp_fn.0", "__pyx_tp_new_1m_Box"),
)
RUST = (
    *("_ZN4demo5weigh17h0123456789abcdefE", "_RNvCs1234_4demo4fold", "rust_panic", "plain"),
    *("_ZN4demo17__pyfunction_area17h0123456789abcdefE",),
)
FORTRAN = ("dgemm_", "__shapes_MOD_area", "two_words__", "plain", "Capital_")
CXX = ("_ZN2at5randnEv", "plain", "rust_panic", "dgemm_", "_ZN2at5randnEv._omp_fn.0", "loop._omp_fn.1")

# Linkage name, language, what the author calls it (None: nothing but what C or C++ says).
SPOKEN = {
    "m.so": [
        ("__pyx_f_1m_term", "cython", "m.term"),
        ("__pyx_pw_1m_1poly", "cython", "m.poly"),
        ("__pyx_pf_1m_2is_prime", "cython", "m.is_prime"),
        ("__pyx_pw_1m_3is_prime", "cython", None),
        ("__pyx_pf_1m_4kind", "cython", "__pyx_for_python.m.kind"),
        ("__pyx_f_1m_kind", "cython", "m.kind"),
        ("__pyx_pf_1m_8__pyx_fuse_0both", "cython", "m.both"),
        ("__pyx_gb_1m_12generator", "cython", "m.numbers"),
        ("__pyx_pf_1m_3Box_4size___get__", "cython", "m.Box.size.__get__"),
        ("__Pyx_Raise", None, None),
        ("__pyx_tp_new_1m_Box", "cython", None),
        ("__pyx_pf_1m_2is_prime._omp_fn.0", "cython", "m.is_prime [parallel region]"),
    ],
    "libdemo.so": [
        ("_ZN4demo5weigh17h0123456789abcdefE", "rust", "demo::weigh"),
        ("_RNvCs1234_4demo4fold", "rust", "demo::fold"),
        ("_ZN4demo17__pyfunction_area17h0123456789abcdefE", "rust", "demo::area"),
        ("rust_panic", "rust", None),
        ("plain", None, None),
    ],
    "libblas.so": [
        ("dgemm_", "fortran", "dgemm"),
        ("two_words__", "fortran", "two_words"),
        ("__shapes_MOD_area", "fortran", "shapes::area"),
        ("plain", None, None),
        ("Capital_", None, None),
    ],
    "libcxx.so": [
        ("_ZN2at5randnEv", "c++", None),
        ("plain", None, None),
        ("rust_panic", None, None),
        ("dgemm_", None, None),
        ("_ZN2at5randnEv._omp_fn.0", None, "at::randn [parallel region]"),
        ("loop._omp_fn.1", None, "loop [parallel region]"),
    ],
}
# What is typed, and the linkage names that it means.
MEANT = {
    "m.so": [
        ("m.is_prime", ["__pyx_pf_1m_2is_prime"]),
        ("is_prime", ["__pyx_pf_1m_2is_prime"]),
        ("m.poly", ["__pyx_pw_1m_1poly"]),
        ("m.kind", ["__pyx_f_1m_kind"]),
        ("both", ["__pyx_pf_1m_8__pyx_fuse_0both"]),
        ("m.numbers", ["__pyx_gb_1m_12generator"]),
        ("n.is_prime", []),
    ],
    "libdemo.so": [
        ("demo::weigh", ["_ZN4demo5weigh17h0123456789abcdefE"]),
        ("weigh", ["_ZN4demo5weigh17h0123456789abcdefE"]),
        ("demo::area", ["_ZN4demo17__pyfunction_area17h0123456789abcdefE"]),
        ("demo.weigh", []),
    ],
    "libblas.so": [
        ("dgemm", ["dgemm_"]),
        ("DGEMM", ["dgemm_"]),
        ("shapes::area", ["__shapes_MOD_area"]),
        ("area", ["__shapes_MOD_area"]),
        ("shapes::plain", []),
    ],
    "libcxx.so": [("dgemm", []), ("at::rand", [])],
}
FILES = {"m.so": CYTHON, "libdemo.so": RUST, "libblas.so": FORTRAN, "libcxx.so": CXX}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Objfile]:
    folder = tmp_path_factory.mktemp("toolchains")

    @cache
    def built(name: str) -> Objfile:
        return build_library(folder / name, FILES[name])

    return built


def build_library(path: Path, names: tuple[str, ...]) -> Objfile:
    """A library with functions of these linkage names; that of Rust has what rustc writes into each."""
    compiler = require(shutil.which("gcc"), "a C compiler")
    lines = [f'void f{at}(void) __asm__("{one}"); void f{at}(void) {{}}' for at, one in enumerate(names)]
    if names is RUST:
        lines.append('__asm__(".section .comment\\n.string \\"rustc version 1.80.0\\"\\n.text");')
    source = path.with_suffix(".c")
    source.write_text("\n".join(lines))
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", path], check=True)
    return Objfile.open(path)


@pytest.mark.parametrize("name", FILES)
def test_a_function_has_its_authors_name_and_language(name: str, library: Callable[[str], Objfile]) -> None:
    rows = SPOKEN[name]
    functions = _functions(library(name))
    found = [functions[linkage] for linkage, *_ in rows]
    assert [(one.linkage_name, one.language, one.spoken) for one in found] == rows


def _functions(library: Objfile) -> dict[str, Symbol]:
    entries = ((table, table.entry(at)) for table in library.tables for at in range(table.count))
    symbols = (symbol_of(table, entry, library.path) for table, entry in entries)
    return {one.linkage_name: one for one in symbols}


@pytest.mark.parametrize("name", FILES)
def test_a_name_means_the_functions_with_its_lines(name: str, library: Callable[[str], Objfile]) -> None:
    rows = MEANT[name]
    found = [
        (typed, sorted(one.linkage_name for one in library(name).find_functions(typed))) for typed, _ in rows
    ]
    assert found == rows
