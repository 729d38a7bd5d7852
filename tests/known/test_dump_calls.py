"""PyTorch's dump() as it is typed in gdb is answered with the command that reads the same from memory."""

from __future__ import annotations

import pytest

from dualdbg.known.dump_calls import instead_of


@pytest.mark.parametrize(
    ("typed", "instead"),
    [
        ("((c10::IValue*)$rsi)->dump()", "ivalue $rsi"),
        ("((c10::IValue *) $rsi)->dump();", "ivalue $rsi"),
        ("((const ::c10::IValue*)(*(long*)$rsi + 16))->dump()", "ivalue (*(long*)$rsi + 16)"),
        ("(*(c10::IValue*)0x7ffd10).dump()", "ivalue 0x7ffd10"),
        ("((torch::jit::Graph*)$rdi)->dump()", "jit-graph $rdi"),
        ("((torch::jit::Stack*)$rsi)->dump()", "ivalue-stack $rsi"),
        ("((at::Tensor*)$rdi)->print()", "tensor $rdi"),
    ],
)
def test_a_cast_tells_the_command(typed: str, instead: str) -> None:
    assert instead_of(typed) == f"type {instead}: it reads memory and calls nothing"


def test_a_variable_may_be_any_of_them() -> None:
    assert (
        instead_of("value.dump()")
        == "an IValue: ivalue value; a tensor: tensor value; a graph: jit-graph value"
    )


@pytest.mark.parametrize(
    "typed", ["((MyType*)$rsi)->dump()", "x.size()", "strlen(text)", "make().dump()", "1 + 2"]
)
def test_other_calls_are_none_of_its_business(typed: str) -> None:
    assert instead_of(typed) == ""
