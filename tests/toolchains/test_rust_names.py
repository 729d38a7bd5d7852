"""Names of Rust: both manglings, without hashes, as c++filt and rustc read them; and how they are called."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.known.binding_layers import RUST_LIBRARY, bodies_behind
from dualdbg.symbols.names.demangle import demangle
from dualdbg.symbols.objfile import Objfile
from dualdbg.toolchains.rust.names import demangle_rust, is_rust, rust_paths, short_rust_name
from tests import support

NAMES = [
    ("_RNvCsimhFHif7RFj_11sample_rust5tally", "sample_rust::tally"),
    ("_RINvCsimhFHif7RFj_11sample_rust7largestxEB2_", "sample_rust::largest::<i64>"),
    (
        "_RNvMNtCsimhFHif7RFj_11sample_rust6shapesNtB2_6Square5grown",
        "<sample_rust::shapes::Square>::grown",
    ),
    (
        "_RNvXs_NtCsimhFHif7RFj_11sample_rust6shapesNtB4_6SquareNtB4_5Shape4area",
        "<sample_rust::shapes::Square as sample_rust::shapes::Shape>::area",
    ),
    ("_RNCNvCsimhFHif7RFj_11sample_rust12rust_checked0B3_", "sample_rust::rust_checked::{closure#0}"),
    ("_RNvCsfLfy6EI15iL_7___rustc10rust_panic", "__rustc::rust_panic"),
    (
        "_RINvMNtCsh61yYgEBR7J_4core5sliceSd16sort_unstable_byNCNvNtNtNtCsd6uZb0lILag_10polars_ops6series3ops3cut4qcuts_0EBY_",
        "<[f64]>::sort_unstable_by::<polars_ops::series::ops::cut::qcut::{closure#1}>",
    ),
    ("_RINvNtCsgEmfK2I1SDS_4core6escape14escape_unicodeKja_E", "core::escape::escape_unicode::<10>"),
    ("_RNvC6_123foo3bar", "123foo::bar"),
    (
        "_RNqCs4fqI2P2rA04_11utf8_identsu30____7hkackfecea1cbdathfdh9hlq6y",
        "utf8_idents::საჭმელად_გემრიელი_სადილი",
    ),
    ("_ZN11sample_rust5tally17h62422444aa0529f6E", "sample_rust::tally"),
    (
        "_ZN74_$LT$sample_rust..shapes..Square$u20$as$u20$sample_rust..shapes..Shape$GT$4area17hf4631bab285bfb87E",
        "<sample_rust::shapes::Square as sample_rust::shapes::Shape>::area",
    ),
    (
        "_ZN11sample_rust12rust_checked28_$u7b$$u7b$closure$u7d$$u7d$17hd5a3790f971f5568E",
        "sample_rust::rust_checked::{{closure}}",
    ),
    ("_ZN11sample_rust5tally17h62422444aa0529f6E.llvm.1234", "sample_rust::tally"),
    ("_ZN2at6native5randnEv", None),  # C++
    ("_ZN3foo17h0123456789abcdeE", None),  # a hash has sixteen digits
    ("_Rubbish", None),
    ("_RNvB_1a", None),  # refers to itself
    ("randn", None),
]


@pytest.mark.parametrize(("mangled", "name"), NAMES)
def test_a_linkage_name_is_read(mangled: str, name: str | None) -> None:
    assert demangle_rust(mangled) == name
    if name is not None:
        assert is_rust(mangled)
        assert demangle(mangled) == name


def test_no_name_of_any_length_takes_for_ever() -> None:
    """Back references may double what they name, again and again."""
    doubled = "_RC1a" + "".join(f"INvB_1aB{chr(97 + n)}_E" for n in range(20))
    for text in (doubled, "_R" + "I" * 10_000, "_RMC1a" + "R" * 10_000 + "a", "_RNvC" + "9" * 30):
        assert demangle_rust(text) is None or len(demangle_rust(text) or "") < 1_000_000


@pytest.mark.parametrize(
    ("name", "short", "paths"),
    [
        ("sample::tally", "sample::tally", [("sample", "tally")]),
        ("sample::largest::<i64>", "sample::largest", [("sample", "largest")]),
        ("<a::Square>::grown", "a::Square::grown", [("a", "Square", "grown")]),
        ("<a::Vec<T>>::push", "a::Vec::push", [("a", "Vec", "push")]),
        (
            "<a::Square as b::Shape<i64>>::area",
            "<a::Square as b::Shape>::area",
            [("a", "Square", "area"), ("b", "Shape", "area")],
        ),
        ("<[T]>::len", "<[T]>::len", [("[T]", "len")]),
    ],
)
def test_a_function_has_a_short_name_and_paths(name: str, short: str, paths: list[tuple[str, ...]]) -> None:
    assert short_rust_name(name) == short
    assert rust_paths(name) == paths


def test_what_rust_brings_along_and_what_pyo3_makes_is_told_apart() -> None:
    for name in (
        "std::panicking::panic_with_hook",
        "__rustc::rust_panic",
        "<core::iter::Map as core::ops::Fn>::call",
    ):
        assert RUST_LIBRARY.match(name), name
    for name in ("sample_rust::tally", "mycore::run", "<sample_rust::Square as sample_rust::Shape>::area"):
        assert not RUST_LIBRARY.match(name), name
    assert bodies_behind("<m::Stream>::__pymethod_step__")[0] == "m::Stream::step"
    assert bodies_behind("<m::Stream>::__pymethod_get_get_suffix__")[0] == "m::Stream::get_suffix"
    assert bodies_behind("<m::Stream>::__pymethod_get_size__") == ("m::Stream::get_size", "m::Stream::size")
    assert bodies_behind("<m::Stream>::__pymethod___new____")[-1] == "m::Stream::new"
    assert bodies_behind("m::__pyfunction_add") == ("m::add",)
    assert bodies_behind("m::_::__pyfunction_add") == ("m::add",)
    assert bodies_behind("m::_::<impl m::Stream>::__pymethod_step__") == ("m::Stream::step",)


@pytest.mark.processes
@pytest.mark.parametrize("level", ["O0", "O2"])
def test_all_names_of_a_real_library_are_read_as_cxxfilt_reads_them(rust_samples: Path, level: str) -> None:
    filt = support.require(shutil.which("c++filt"), "c++filt of the binutils")
    [library] = (rust_samples / level).glob("sample_rust*.so")
    listed = subprocess.run(["nm", str(library)], capture_output=True, text=True, check=True).stdout
    names = sorted({line.split()[-1] for line in listed.splitlines() if is_rust(line.split()[-1])})
    assert len(names) > 200
    if os.environ.get("DUALDBG_TEST_ALL") != "1":
        names = names[:: len(names) // 200]
    told = subprocess.run([filt], input="\n".join(names) + "\n", capture_output=True, text=True, check=True)
    for mangled, theirs in zip(names, told.stdout.splitlines(), strict=True):
        theirs = re.sub(r"(?<=\w)\[[0-9a-f]{1,16}\](?=[:>])", "", theirs)  # the hash of a crate
        theirs = re.sub(r"::h[0-9a-f]{16}|(?<=\d): (?:usize|[iu]\d+)| ?[.(]?\.?llvm\.\w+\)?$", "", theirs)
        ours = demangle_rust(mangled)
        assert ours is not None, mangled
        assert ours == theirs or "{closure" in ours or mangled.rpartition(".")[2].isdigit(), (
            mangled,
            ours,
            theirs,
        )


@pytest.mark.processes
@pytest.mark.parametrize("level", ["O0", "O2"])
@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("sample_rust::tally", ["sample_rust::tally"]),
        ("tally", ["sample_rust::tally"]),
        ("::sample_rust::tally", ["sample_rust::tally"]),
        ("::tally", []),
        ("Square::grown", ["sample_rust::shapes::Square::grown"]),
        ("Square::area", ["<sample_rust::shapes::Square as sample_rust::shapes::Shape>::area"]),
        ("Shape::area", ["<sample_rust::shapes::Square as sample_rust::shapes::Shape>::area"]),
        (
            "<Square as Shape>::area",
            ["<sample_rust::shapes::Square as sample_rust::shapes::Shape>::area"],
        ),
        ("<Square as shapes::Other>::area", []),
        ("<Round as Shape>::area", []),
        ("sample_rust::nothing", []),
    ],
)
def test_functions_are_found_by_what_they_are_called(
    rust_samples: Path, level: str, asked: str, found: list[str]
) -> None:
    [library] = (rust_samples / level).glob("sample_rust*.so")
    symbols = Objfile.open(library).find_functions(asked)
    assert [symbol.short_name for symbol in symbols] == found
    assert all(symbol.language == "rust" for symbol in symbols)


@pytest.mark.parametrize(
    "name", ["_ZN" + "1a" * 5_000 + "17h", "_ZN" + "1a1" * 300 + "17has_storage", "_R" + "N" * 50_000]
)
def test_no_name_keeps_it_busy(name: str) -> None:
    """Each ends within milliseconds; a pattern with a repetition in another would need longer than there is time."""
    is_rust(name)
    assert demangle_rust(name) is None
