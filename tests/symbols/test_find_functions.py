"""Names as people write them, each compared with what nm says of the same library."""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from pathlib import Path

import pytest

from dualdbg.symbols.names.name_query import Query
from dualdbg.symbols.objfile import Objfile
from tests.symbols.conftest import functions_of_nm, run, system_library

pytestmark = pytest.mark.usefixtures("binutils")

STRING = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"
DEEP_INT = "outer::inner::deep(int)"
DEEP_STRING = f"outer::inner::deep(double, {STRING} const&)"
DEEP_VECTOR = "outer::inner::deep(std::vector<int, std::allocator<int> > const&, unsigned long long)"
DEEP_TEXT = "outer::deep(char const*)"
CONST_METHOD = "outer::Shape::method(int) const"
METHOD = "outer::Shape::method(int)"

# What a user types -> the functions it means, as nm -C prints them.
MEANT = {
    # C
    "plain_c": {"plain_c"},
    "local_c": {"local_c"},
    "other": {"other"},
    "plain_c_other": {"plain_c_other"},
    "first_name": {"first_name"},
    "second_name": {"second_name"},
    "chosen": {"chosen"},
    "plain": set(),
    "c_variable": set(),
    # scopes
    "outer::inner::deep": {DEEP_INT, DEEP_STRING, DEEP_VECTOR},
    "inner::deep": {DEEP_INT, DEEP_STRING, DEEP_VECTOR},
    "deep": {DEEP_INT, DEEP_STRING, DEEP_VECTOR, DEEP_TEXT},
    "::outer::deep": {DEEP_TEXT},
    "outer::deep": {DEEP_TEXT},
    "::deep": set(),
    "::plain_c": {"plain_c"},
    "::inner::deep": set(),
    "nner::deep": set(),
    "outer::(anonymous namespace)::hidden": {"outer::(anonymous namespace)::hidden(int)"},
    "(anonymous namespace)::hidden": {"outer::(anonymous namespace)::hidden(int)"},
    "outer::hidden": {"outer::(anonymous namespace)::hidden(int)"},
    "hidden": {"outer::(anonymous namespace)::hidden(int)"},
    "versioned": {"outer::version1::versioned(int)"},
    # parameters, spelt in several ways
    "outer::inner::deep(int)": {DEEP_INT},
    "deep( int )": {DEEP_INT},
    "deep(double, std::string const&)": {DEEP_STRING},
    "deep(double, const std::string &)": {DEEP_STRING},
    DEEP_STRING: {DEEP_STRING},
    "deep(std::vector<int, std::allocator<int>> const &, long long unsigned)": {DEEP_VECTOR},
    "deep(const std::vector<int, std::allocator<int> >&, unsigned long long int)": {DEEP_VECTOR},
    "deep(const char *)": {DEEP_TEXT},
    "deep(float)": set(),
    "outer::callback(int (*)(int), void (outer::Shape::*)(int))": {
        "outer::callback(int (*)(int), void (outer::Shape::*)(int))"
    },
    "maybe(std::optional<int64_t>)": {"outer::maybe(std::optional<long>)"},
    "functional(std::function<int(int)>)": {"outer::functional(std::function<int (int)>)"},
    # members
    "outer::Shape::method": {METHOD, CONST_METHOD},
    "Shape::method(int) const": {CONST_METHOD},
    "Shape::method(int)": {METHOD},
    "Shape::make": {"outer::Shape::make(int)"},
    "Shape::Shape": {"outer::Shape::Shape()", "outer::Shape::Shape(int)"},
    "Shape::Shape(int)": {"outer::Shape::Shape(int)"},
    "Shape::~Shape": {"outer::Shape::~Shape()"},
    "~Shape": {"outer::Shape::~Shape()"},
    "Shape::operator()": {"outer::Shape::operator()(int) const"},
    "Shape::operator() (int) const": {"outer::Shape::operator()(int) const"},
    "Shape::operator<": {"outer::Shape::operator<(outer::Shape const&) const"},
    "Shape::operator->": {"outer::Shape::operator->()"},
    "Shape::operator<<": {"outer::Shape::operator<<(int)"},
    "Shape::operator[]": {"outer::Shape::operator[](int) const"},
    "Shape::operator[](int)": {"outer::Shape::operator[](int) const"},
    "Shape::operator bool": {"outer::Shape::operator bool() const"},
    "Shape::operator std::vector<int, std::allocator<int> >": {
        "outer::Shape::operator std::vector<int, std::allocator<int> >() const"
    },
    "Shape::operator std::vector<int>": {
        "outer::Shape::operator std::vector<int, std::allocator<int> >() const"
    },
    "Shape::operator unsigned long": {"outer::Shape::operator unsigned long() const"},
    "Shape::operator long unsigned int() const": {"outer::Shape::operator unsigned long() const"},
    "Shape::operator const char *": {"outer::Shape::operator char const*() const"},
    "Shape::operator std::string": {f"outer::Shape::operator {STRING}() const"},
    'operator""_sides': {'outer::operator"" _sides(unsigned long long)'},
    'outer::operator "" _sides': {'outer::operator"" _sides(unsigned long long)'},
    "Shape::operator new": {"outer::Shape::operator new(unsigned long)"},
    "Shape::operator delete": {"outer::Shape::operator delete(void*)"},
    "outer::operator<<": {"outer::operator<<(std::ostream&, outer::Shape const&)"},
    "operator_like": {"outer::operator_like(int)"},
    "Both::other_base": {"outer::Both::other_base()"},
    "non-virtual thunk to outer::Both::other_base()": {"non-virtual thunk to outer::Both::other_base()"},
    # templates
    "Box::get": {"outer::Box<int>::get(int)", f"outer::Box<{STRING} >::get({STRING})"},
    "Box<int>::get": {"outer::Box<int>::get(int)"},
    "outer::Box<std::string>::get": {f"outer::Box<{STRING} >::get({STRING})"},
    "Box<int>::Inner::leaf": {"outer::Box<int>::Inner::leaf()"},
    "Inner::leaf": {"outer::Box<int>::Inner::leaf()", f"outer::Box<{STRING} >::Inner::leaf()"},
    "Box::convert": {"long outer::Box<int>::convert<long>(int)"},
    "Box<int>::convert<long>": {"long outer::Box<int>::convert<long>(int)"},
    "scaled": {"float outer::scaled<float, 3>(float)", "int outer::scaled<int, -1>(int)"},
    "literal<true, 7>": {"int outer::literal<true, 7ul>()"},
    "literal<true, 7ul>": {"int outer::literal<true, 7ul>()"},
    "nothing(std::nullptr_t)": {"outer::nothing(decltype(nullptr))"},
    "by_default(const std::map<std::string, std::vector<long>> &, std::unique_ptr<outer::Shape>)": {
        f"outer::by_default(std::map<{STRING}, std::vector<long, std::allocator<long> >, std::less<{STRING} >, "
        f"std::allocator<std::pair<{STRING} const, std::vector<long, std::allocator<long> > > > > const&, "
        "std::unique_ptr<outer::Shape, std::default_delete<outer::Shape> >)"
    },
    "by_default(std::map<std::string, std::vector<int>> const&, std::unique_ptr<outer::Shape>)": set(),
    "scaled<float,3>": {"float outer::scaled<float, 3>(float)"},
    "float outer::scaled<float, 3>(float)": {"float outer::scaled<float, 3>(float)"},
    "count_of": {"int outer::count_of<int, char const*, outer::Shape>(int, char const*, outer::Shape)"},
    # lambdas
    "with_lambda": {"outer::with_lambda(int)"},
    "outer::with_lambda(int)::{lambda(int)#1}::operator()": {
        "outer::with_lambda(int)::{lambda(int)#1}::operator()(int) const"
    },
    "with_lambda::{lambda(auto:1)#2}::operator()": {
        "auto outer::with_lambda(int)::{lambda(auto:1)#2}::operator()<double>(double) const",
        "auto outer::with_lambda(int)::{lambda(auto:1)#2}::operator()<int>(int) const",
    },
    # linkage names
    "_ZN5outer5inner4deepEi": {DEEP_INT},
    "_ZN5outer5inner4dee": set(),
    # globs: * stays within a scope, ** does not
    "plain*": {"plain_c", "plain_c_other"},
    "outer::*deep*": {DEEP_TEXT},
    "outer::**deep*": {DEEP_TEXT, DEEP_INT, DEEP_STRING, DEEP_VECTOR},
    "outer::hid*": {"outer::(anonymous namespace)::hidden(int)"},
    "Sh?pe::m*": {METHOD, CONST_METHOD, "outer::Shape::make(int)"},
    "scal*": {"float outer::scaled<float, 3>(float)", "int outer::scaled<int, -1>(int)"},
}


def numbered(text: str, known: dict[str, set[int]]) -> str:
    """``text`` as this compiler numbers lambdas: GCC 14 and later begins anew for each list of parameters."""
    anew = any("{lambda(auto:1)#1}" in name for name in known)
    return text.replace("{lambda(auto:1)#2}", "{lambda(auto:1)#1}") if anew else text


@pytest.mark.parametrize("name", MEANT)
def test_a_name_means_what_nm_lists(shapes: Path, name: str) -> None:
    known = functions_of_nm(shapes)
    meant = {numbered(text, known) for text in MEANT[name]}
    expected = {address for text in meant for address in known[text]}
    symbols = Objfile.open(shapes).find_functions(numbered(name, known))
    assert {symbol.address for symbol in symbols} == expected
    assert all(symbol.name in meant or symbol.kind == "ifunc" for symbol in symbols)


def test_the_parameters_of_a_lambda_tell_it_from_others() -> None:
    """GCC 14 and later gives two lambdas of a scope the same number where their parameters differ."""
    query = Query.of("f(int)::{lambda(int)#1}::operator()")
    assert query.matches("f(int)::{lambda(int)#1}::operator()(int) const")
    assert not query.matches("auto f(int)::{lambda(auto:1)#1}::operator()<int>(int) const")
    assert Query.of("f::{lambda#1}::operator()").matches("f(int)::{lambda(int)#1}::operator()(int) const")


def test_every_name_in_full_means_itself(shapes: Path) -> None:
    library = Objfile.open(shapes)
    known = functions_of_nm(shapes)
    assert len(known) > 50
    for name, addresses in known.items():
        assert {s.address for s in library.find_functions(name, exact=True)} == addresses, name
        assert {s.address for s in library.find_functions(name)} >= addresses, name


@pytest.mark.usefixtures("binutils")
def test_constructors_of_classes_with_a_short_form_are_found() -> None:
    """``_ZNSaIcEC1Ev`` spells neither ``allocator`` nor the name of the constructor."""
    path = system_library("libstdc++.so.6")
    library = Objfile.open(path)
    classes = ("allocator", "basic_string", "basic_istream", "basic_ostream", "basic_iostream")
    special = re.compile(rf"std::({'|'.join(classes)})<.*>::~?\1[(<]")
    found = Counter[str]()
    for name, addresses in functions_of_nm(path, "-D").items():
        known = special.search(name)
        if known is None or found[known[1]] == 12:
            continue
        found[known[1]] += 1
        assert {s.address for s in library.find_functions(name, exact=True)} == addresses, name
    assert set(found) == set(classes)
    assert library.find_functions("std::allocator<char>::~allocator")
    assert library.find_functions("std::basic_istream::basic_istream")


def test_the_strings_of_the_library_share_their_tails(shapes: Path) -> None:
    """The premise of two tests above: ``other`` has no string of its own."""
    assert run("readelf", "-p", ".strtab", shapes).count("other\n") == 1


def test_aliases_are_one_symbol(shapes: Path) -> None:
    (symbol,) = Objfile.open(shapes).find_functions("*_name")
    assert {symbol.linkage_name, *symbol.aliases} == {"first_name", "second_name"}
    constructors = Objfile.open(shapes).find_functions("Shape::Shape(int)")
    assert [len(symbol.aliases) for symbol in constructors] == [1]  # C1 and C2


def test_an_ifunc_is_said_to_be_one(shapes: Path) -> None:
    (symbol,) = Objfile.open(shapes).find_functions("chosen")
    assert symbol.kind == "ifunc"


def test_data_is_found_apart(shapes: Path) -> None:
    library = Objfile.open(shapes)
    assert [(s.linkage_name, s.kind, s.size) for s in library.find_data("c_variable")] == [
        ("c_variable", "data", 4)
    ]
    assert [s.size for s in library.find_data("outer::global_table")] == [16]
    assert [s.kind for s in library.find_data("per_thread")] == ["tls"]
    assert [s.name for s in library.find_data("vtable for outer::Shape")] == ["vtable for outer::Shape"]
    assert library.find_data("plain_c") == []


def test_what_the_library_only_uses_is_not_found(shapes: Path) -> None:
    """Undefined symbols have stubs in the PLT, which are not what a user means."""
    library = Objfile.open(shapes)
    undefined = run("nm", "-D", "--undefined-only", shapes)
    for name, linkage_name in (("::operator new", "_Znwm"), ("::operator delete", "_ZdlPvm")):
        assert linkage_name in undefined
        assert library.find_functions(name) == library.find_functions(linkage_name) == []


def test_a_stripped_library_names_what_it_exports(shapes: Path, tmp_path: Path) -> None:
    stripped = tmp_path / "stripped.so"
    run("strip", "-o", stripped, shapes)
    full, library = Objfile.open(shapes), Objfile.open(stripped)
    assert not library.has_symtab
    assert library.find_functions("local_c") == []
    for name in ("plain_c", "outer::inner::deep", "Box::get", "Shape::operator bool"):
        assert {s.address for s in library.find_functions(name)} == {
            s.address for s in full.find_functions(name)
        }


def test_a_name_that_is_in_its_own_suffix_is_found(tmp_path: Path) -> None:
    """Compilers' suffixes are words that functions are named by, or begin with; and a name may repeat itself."""
    suffixes = (".isra.0", ".constprop.0", ".part.0", ".lto_priv.0", ".constprop.0.isra.0")
    words = {word[:length] for word in ("isra", "constprop", "part", "lto_priv", "r") for length in (1, 3, 9)}
    names = {f"{word}{suffix}": word for word in sorted(words) for suffix in suffixes}
    names.update({"aa": "aa", "aaa": "aaa", "xaaa": "xaaa", "a.a": "a.a"})
    text = "".join(f".type {name},@function\n{name}: ret\n.size {name},.-{name}\n" for name in names)
    (tmp_path / "names.s").write_text(text)
    run("gcc", "-shared", "-nostdlib", "-o", tmp_path / "names.so", tmp_path / "names.s")
    library = Objfile.open(tmp_path / "names.so")
    for word in set(names.values()):
        found = {one.linkage_name for one in library.find_functions(word)}
        assert found == {name for name, own in names.items() if own == word}, word


def test_clones_are_kept_and_marked_but_cold_parts_are_not_meant(build, tmp_path: Path) -> None:
    # -O2 has this on x86-64 alone (GCC's manual, "Optimize Options").
    library = Objfile.open(build("clones.cpp", "-O2", "-freorder-blocks-and-partition"))
    names = run("nm", library.path)
    assert "slow_path" in names and ".cold" in names and ".constprop" in names, names
    assert all(".cold" not in s.linkage_name for s in library.find_functions("*slow*"))
    clones = library.find_functions("specialised")
    assert clones and {(s.clone or "").rstrip("0123456789") for s in clones} <= {".constprop.", ".isra.", ""}
    assert any(s.clone for s in clones)


def test_versions_of_a_symbol(build) -> None:
    script = Path(__file__).parent / "versions.map"
    library = Objfile.open(build("versions.cpp", f"-Wl,--version-script={script}"))
    symbols = library.find_functions("answer")
    assert {s.version for s in symbols} == {"OLD_1", "NEW_2"}
    assert {ctypes.CDLL(library.path).answer()} == {2}
