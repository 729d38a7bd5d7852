"""Types of results in demangled names. Pure."""

from __future__ import annotations

import pytest

from dualdbg.symbols.names.result_types import result_type

pytestmark = pytest.mark.pure

TOLD = {
    "at::Tensor at::foo<int>(int)": "at::Tensor",
    "std::vector<at::Tensor, std::allocator<at::Tensor> > ns::g<std::pair<int, long> >(std::pair<int, long> const&)": (
        "std::vector<at::Tensor, std::allocator<at::Tensor> >"
    ),
    "bool std::operator==<char>(std::string<char> const&, char const*)": "bool",
    "at::Tensor const& (anonymous namespace)::h<1>(at::Tensor const&)": "at::Tensor const&",
    "unsigned long ns::C::m<double>(double) const": "unsigned long",
    "c10::Scalar::operator double() const": "double",
    "X::operator std::vector<int, std::allocator<int> >() const": "std::vector<int, std::allocator<int> >",
    "A::A(int)": "void",
    "A<int>::~A()": "void",
}
NOT_TOLD = (
    "int f(int)", "plain_c", "void foo<int>(int)::{lambda()#1}::operator()() const", "auto f<int>()",
    "operator new(unsigned long)", "operator delete[](void*)", "void (*f<int>())(double)", "decltype (x) k<int>(int)",
    "at::Tensor c10::impl::wrap<at::Tensor (c10::ArrayRef<long>), &(f(int))>::call(int)", "non-virtual thunk to A::f()",
    "vtable for A",
)  # fmt: skip


@pytest.mark.parametrize("name", [*TOLD, *NOT_TOLD])
def test_what_a_name_tells_of_the_result(name: str) -> None:
    assert result_type(name) == TOLD.get(name)
