"""What the mangled name of a function, and others of its library, prove of how it is called."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.symbols.names.calling import calling_of
from dualdbg.symbols.names.mangled_scopes import read
from dualdbg.symbols.names.symbol import Symbol
from dualdbg.symbols.objfile import Objfile
from tests.support import require


def symbol(name: str, *aliases: str) -> Symbol:
    return Symbol(name, name, 0x100, 16, "function", "global", "lib.so", aliases=aliases)


def member(name: str, *others: str) -> bool | None:
    """Whether ``this`` is passed, in a library with these names too."""
    names = "\0".join(["", name, *others, ""]).encode()
    found = calling_of(symbol(name), lambda letters: letters in names)
    assert found is not None
    return found.member


MEMBERS = {
    "_Z1fi": False,  # f(int)
    "_ZSt4moveRi": False,  # std::move(int&)
    "_ZN1A1fEi": None,  # A::f(int): A is a class or a namespace
    "_ZN1AL1fEi": False,  # a class has no function that only its file sees
    "_ZN12_GLOBAL__N_11fEi": False,
    "_ZNK1A1fEi": True,
    "_ZNO1A1fEi": True,  # A::f(int) &&
    "_ZN1AC1Ei": True,
    "_ZN1AD0Ev": True,
    "_ZN1AcviEv": True,  # operator int
    "_ZN1AplERKS_": True,  # a + of two things
    "_ZN1AplERKS_S1_": False,
    "_ZN1AnwEm": False,
    "_ZN1AppEi": True,
    "_ZN1AclEi": None,  # may be static in C++23
    "_ZZ1fvENKUlvE_clEv": True,  # a lambda in f()
}


@pytest.mark.parametrize("name", MEMBERS)
def test_members(name: str) -> None:
    assert member(name) is MEMBERS[name]


@pytest.mark.parametrize("other", ["_ZN1A12_GLOBAL__N_11gEv", "_ZN1AL1gEv", "_ZN1AlsERSoRKNS_1BE"])
def test_what_only_a_namespace_has(other: str) -> None:
    assert member("_ZN1A1fEi", other) is False


def test_an_operator_of_a_class_makes_no_namespace_of_it() -> None:
    assert member("_ZN1A1fEi", "_ZN1AlsERSo") is None


@pytest.mark.parametrize("other", ["_ZN1BD1Ev", "_ZN1BC2ERKS_", "_ZTV1B"])
def test_classes_that_are_passed_by_address(other: str) -> None:
    names = f"\0{other}\0".encode()
    found = calling_of(symbol("_Z1f1Bi"), lambda letters: letters in names)
    assert found is not None and found.by_address == ("B",)
    found = calling_of(symbol("_Z1f1Bi"), lambda letters: letters in b"\0_ZN1BC1Ev\0_ZN1B1fEv\0")
    assert found is not None and found.by_address == ()


def test_bases_that_are_virtual() -> None:
    nothing, table = (lambda letters: False), (lambda letters: letters in b"\0_ZTT1A\0")
    found = [
        calling_of(symbol("_ZN1AC1Ei"), table),
        calling_of(symbol("_ZN1AC2Ei"), nothing),
        calling_of(symbol("_ZN1AC2Ei"), table),
        calling_of(symbol("_ZN1AC2Ei", "_ZN1AC1Ei"), nothing),
    ]
    assert [one and one.table for one in found] == [False, None, True, False]


@pytest.mark.parametrize("name", ["_ZN1AC4Ei", "_ZN1AD4Ev"])
def test_nothing_is_told_of_what_makes_bases_and_whole_objects(name: str) -> None:
    assert calling_of(symbol(name), lambda letters: letters in b"\0_ZTT1A\0") is None


def test_namespaces_of_pytorch_hold_where_it_is_used() -> None:
    for with_torch, expected in ((True, False), (False, None)):
        found = calling_of(symbol("_ZN2at3fooEl"), lambda letters: False, with_torch)
        assert found is not None and found.member is expected


@pytest.mark.parametrize(("needed", "expected"), [("libc10.so", True), ("libmine.so", False)])
def test_libraries_that_use_pytorch(tmp_path: Path, needed: str, expected: bool) -> None:
    compiler = require(shutil.which("gcc"), "a C compiler")
    (tmp_path / "one.c").write_text("int one(void) { return 1; }\n")
    (tmp_path / "two.c").write_text("int one(void); int two(void) { return one(); }\n")
    flags = [compiler, "-shared", "-fPIC"]
    subprocess.run([*flags, f"-Wl,-soname,{needed}", "one.c", "-o", needed], cwd=tmp_path, check=True)
    subprocess.run([*flags, "two.c", f"./{needed}", "-o", "libtwo.so"], cwd=tmp_path, check=True)
    assert Objfile.open(tmp_path / "libtwo.so").uses_torch is expected


def test_functions_that_are_one_piece_of_code_have_to_agree() -> None:
    assert calling_of(symbol("_Z1fi", "_Z1gl"), lambda letters: False) is None
    assert calling_of(symbol("_Z1fi", "_Z1gi"), lambda letters: False) is not None


@pytest.mark.parametrize(
    ("name", "scope", "last"),
    [
        ("_ZNSt6vectorIiSaIiEE9push_backEOi", "St6vectorIiSaIiEE", "9push_back"),
        ("_ZN1AILi5EN1B1CEE1gEv", "1AILi5EN1B1CEE", "1g"),
        ("_ZN1AIA10_cFviEE1gEv", "1AIA10_cFviEE", "1g"),
        ("_ZN1S4nameB5cxx11Ei", "1S", "4nameB5cxx11"),
    ],
)
def test_scopes(name: str, scope: str, last: str) -> None:
    found = read(name)
    assert found is not None and (found.scope, found.last) == (scope, last)


@pytest.mark.parametrize("name", ["_ZN1AIXadL_Z1fvEEE1gEv", "_ZN", "_Z", "printf", "_ZN1A", "_ZN9A"])
def test_what_is_not_read(name: str) -> None:
    found = read(name)
    assert found is None or found.scope in ("", "1A")


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("GCC: (Debian) 12.2", True),
        ("GCC: (Debian) 12.2\0Linker: LLD 17.0\0GCC: (GNU) 13", True),
        ("clang version 17", False),
        ("GCC: (Debian) 12.2\0clang version 17", False),
        ("GCC: (GNU) 13.3\0Intel(R) oneAPI DPC++/C++ Compiler 2024.2.0", False),
        (None, False),
    ],
)
def test_whose_callers_pass_what_the_names_tell(tmp_path: Path, comment: str | None, expected: bool) -> None:
    """The note of the compiler in the library tells."""
    (tmp_path / "empty.c").write_text(
        "static int only_here(int n) { return n; } int (*seen)(int) = only_here;\n"
    )
    compiler, objcopy = (
        require(shutil.which("gcc"), "a C compiler"),
        require(shutil.which("objcopy"), "objcopy"),
    )
    (tmp_path / "note").write_text(comment or "")
    library = tmp_path / "libempty.so"
    subprocess.run([compiler, "-shared", "-fPIC", tmp_path / "empty.c", "-o", library], check=True)
    change = ["--remove-section=.comment"]
    if comment is not None:
        change = ["--update-section", f".comment={tmp_path / 'note'}"]
    subprocess.run([objcopy, *change, library], check=True)
    assert Objfile.open(library).keeps_parameters is expected
