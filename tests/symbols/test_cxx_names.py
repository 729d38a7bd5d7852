"""Demangled names taken apart, against the mangled form of the same names."""

from __future__ import annotations

import pytest

from dualdbg.symbols.names.cxx_names import parse
from dualdbg.symbols.names.cxx_types import canonical
from dualdbg.symbols.names.demangle import demangle, demangle_all

# demangled text -> (short name, parameters, qualifiers)
PARTS = {
    "main": ("main", None, ""),
    "at::native::randn(c10::ArrayRef<long>)": ("at::native::randn", "(c10::ArrayRef<long>)", ""),
    "void foo<int>(int) const": ("foo", "(int)", "const"),
    "Foo::bar() const &": ("Foo::bar", "()", "const &"),
    "void (*foo<int>(int))(double)": ("foo", "(int)", ""),
    "Foo::operator()(int) const": ("Foo::operator()", "(int)", "const"),
    "Foo::operator bool() const": ("Foo::operator bool", "()", "const"),
    "X::operator std::vector<int>() const": ("X::operator std::vector<int>", "()", "const"),
    "std::enable_if<(1)<(5), int>::type foo<(a)>>(b)>(int)": ("foo", "(int)", ""),
    "foo(int)::{lambda(int)#1}::operator()(int) const": ("foo::{lambda#1}::operator()", "(int)", "const"),
    "foo(int) const::Bar::baz()": ("foo::Bar::baz", "()", ""),
    "a::(anonymous namespace)::f(int)": ("a::(anonymous namespace)::f", "(int)", ""),
    "std::ostream& std::operator<< <char>(std::ostream&, char)": (
        "std::operator<<",
        "(std::ostream&, char)",
        "",
    ),
    "bool operator< <int>(int)": ("operator<", "(int)", ""),
    "X::operator-><int>(int)": ("X::operator->", "(int)", ""),
    "decltype ((f)(1)) g<int>(int)": ("g", "(int)", ""),
    "decltype(auto) g<int>(int)": ("g", "(int)", ""),
    "Foo<int (*)(int)>::bar()": ("Foo::bar", "()", ""),
    "Foo<&X::operator< >::f()": ("Foo::f", "()", ""),
    "Foo<&X::operator> >::f()": ("Foo::f", "()", ""),
    "void at::f<void (int), X>()": ("at::f", "()", ""),
    "operator new[](unsigned long)": ("operator new[]", "(unsigned long)", ""),
    'operator"" _x(char const*)': ('operator"" _x', "(char const*)", ""),
    "foo[abi:cxx11](int)": ("foo", "(int)", ""),
    "A<B<C>>::f(D<E<F>>)": ("A::f", "(D<E<F>>)", ""),  # libc++abi's spacing
    "operator_like(int)": ("operator_like", "(int)", ""),
    "my::operators::call(int)": ("my::operators::call", "(int)", ""),
    "foo(void (*)(int), char)": ("foo", "(void (*)(int), char)", ""),
    "foo((anonymous namespace)::T)": ("foo", "((anonymous namespace)::T)", ""),
    "auto f<int>()::{lambda(auto:1)#1}::operator()<int>(int) const": (
        "f::{lambda#1}::operator()",
        "(int)",
        "const",
    ),
}


@pytest.mark.parametrize("text", PARTS)
def test_the_parts_of_a_name(text: str) -> None:
    name = parse(text)
    assert (name.short, name.parameters, name.qualifiers) == PARTS[text]
    clone = parse(f"{text} [clone .isra.0] [clone .cold]")
    assert clone.clones == (".isra.0", ".cold") and clone.short == name.short
    assert parse(f"virtual thunk to {text}").special == "virtual thunk to"


@pytest.mark.parametrize(
    "text", ["", "(", "a::", "::", "foo<", "foo(", "operator", "<>", "foo>>", ") const", "{", "a b"]
)
def test_what_is_no_name_does_not_hang_or_raise(text: str) -> None:
    assert isinstance(parse(text).components, tuple)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("(const at::Tensor &, int)", "(at::Tensor const&, int)"),
        ("(const char* const)", "(char const* const)"),
        ("(const std::vector<const int*>&)", "(std::vector<int const*> const&)"),
        ("(void)", "()"),
        ("(long unsigned int)", "(unsigned long)"),
        ("(unsigned)", "(unsigned int)"),
        ("(long long int, short int)", "(long long, short)"),
        (
            "(std::string)",
            "(std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >)",
        ),
        ("(int64_t, std::size_t)", "(long, unsigned long)"),
        ("(A<B<C>>)", "(A<B<C> >)"),
        ("(int(*)(const T&))", "(int (*)(T const&))"),
    ],
)
def test_one_spelling_for_a_type(one: str, other: str) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("(int)", "(unsigned int)"),
        ("(T const&)", "(T&)"),
        ("(T const*)", "(T* const)"),
        ("(long)", "(long long)"),
        ("(my::string)", "(std::string)"),
        ("(int, char)", "(char, int)"),
        ("(unsigned_type)", "(unsigned)"),
    ],
)
def test_other_types_stay_others(one: str, other: str) -> None:
    assert canonical(one) != canonical(other)


def test_demangling() -> None:
    assert demangle("_ZN2at6native5randnEN3c108ArrayRefIlEE") == "at::native::randn(c10::ArrayRef<long>)"
    assert demangle("plain_c") == "plain_c"
    assert demangle("_Znonsense") == "_Znonsense"
    assert demangle_all([b"_ZdlPv", b"x", b"_ZN", b"_Znwm"]) == [
        "operator delete(void*)",
        "x",
        "_ZN",
        "operator new(unsigned long)",
    ]
