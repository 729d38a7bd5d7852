"""PyTorch's dump() as it is typed in gdb is answered with the command that reads the same from memory."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualdbg.known.dump_calls import instead_of, is_meant_for_a_native_frame

ELEMENT = "ivalue (long)*(long*)$rsi + 16"


@pytest.mark.parametrize(
    ("typed", "instead"),
    [
        ("((c10::IValue*)$rsi)->dump()", "ivalue $rsi"),
        ("((c10::IValue *) $rsi)->dump();", "ivalue $rsi"),
        ("( ( c10::IValue * ) *(long*)$rsi ) -> dump ( ) ;", "ivalue *(long*)$rsi"),
        ("((IValue*)$rsi)->dump()", "ivalue $rsi"),
        ("((const ::c10::IValue*)(*(long*)$rsi + 16))->dump()", "ivalue (*(long*)$rsi + 16)"),
        ("(*(c10::IValue*)0x7ffd10).dump()", "ivalue 0x7ffd10"),
        ("(*(c10::IValue*)*(long*)$rsi).dump()", "ivalue *(long*)$rsi"),
        ("(void)((c10::IValue*)$rsi)->dump()", "ivalue $rsi"),
        ("/x ((c10::IValue*)$rsi)->dump()", "ivalue $rsi"),
        ("((c10::IValue*)*(long*)$rsi)[1].dump()", ELEMENT),
        ("((c10::IValue*)*(long*)$rsi + 1)->dump()", ELEMENT),
        ("(((c10::IValue*)*(long*)$rsi) + 1)->dump()", ELEMENT),
        ("((c10::IValue*)$rsi - 2)->dump()", "ivalue (long)$rsi - 32"),
        ("reinterpret_cast<c10::IValue*>(*(long*)$rsi)->dump()", "ivalue *(long*)$rsi"),
        ("(reinterpret_cast<const c10::IValue *>($rsi))->dump()", "ivalue $rsi"),
        ("static_cast<c10::IValue*>((void*)$rsi)->dump()", "ivalue ((void*)$rsi)"),
        ("c10::IValue::dump((c10::IValue*)$rsi)", "ivalue $rsi"),
        ("c10::IValue::dump(&value)", "ivalue value"),
        ("((c10::IValue*)$rsi)->toTensor().dump()", "ivalue $rsi"),
        ("*(c10::IValue*)$rsi", "ivalue $rsi"),
        ("*((c10::IValue*)*(long*)$rsi)", "ivalue *(long*)$rsi"),
        ("((torch::jit::Graph*)$rdi)->dump()", "jit-graph $rdi"),
        ("((torch::jit::Stack*)$rsi)->dump()", "ivalue-stack $rsi"),
        ("((std::vector<c10::IValue>*)$rsi)->front().dump()", "ivalue-stack $rsi"),
        ("(*(std::vector<c10::IValue>*)$rsi)[0].dump()", "ivalue-stack $rsi"),
        ("((at::Tensor*)$rdi)->print()", "tensor $rdi"),
        ("((at::Tensor*)$rdi)[2].print()", "tensor (long)$rdi + 16"),
        ("((class c10::IValue*)$rsi)->dump()", "ivalue $rsi"),
        ("((struct c10::IValue *)$rsi)->dump()", "ivalue $rsi"),
        ("((const class c10::IValue &)$rsi).dump()", "ivalue $rsi"),
        ("((c10::IValue*)...)->dump()", "ivalue EXPR"),
        ("((c10::IValue*)…)->dump()", "ivalue EXPR"),
        # pointers to pointers
        ("((c10::IValue**)$rsi)[0]->dump()", "ivalue *(long*)$rsi"),
        ("((c10::IValue**)$rsi)[1]->dump()", "ivalue *(long*)((long)$rsi + 8)"),
        ("(*(c10::IValue**)$rsi)->dump()", "ivalue *(long*)$rsi"),
        ("(**(c10::IValue**)$rsi).dump()", "ivalue *(long*)$rsi"),
        ("(***(c10::IValue***)$rsi).dump()", "ivalue *(long*)*(long*)$rsi"),
        ("**(c10::IValue**)$rsi", "ivalue *(long*)$rsi"),
        ("(*((c10::IValue**)$rsi))[1].dump()", "ivalue (long)*(long*)$rsi + 16"),
        ("(*(c10::IValue**)$rsi + 1)->dump()", "ivalue (long)*(long*)$rsi + 16"),
        ("(*((c10::IValue**)$rsi + 1))->dump()", "ivalue *(long*)((long)$rsi + 8)"),
        ("(&((c10::IValue*)$rsi)[1])->dump()", "ivalue (long)$rsi + 16"),
        ("(*reinterpret_cast<c10::IValue**>($rsi))->dump()", "ivalue *(long*)$rsi"),
        ("c10::IValue::dump(*(c10::IValue**)$rsi)", "ivalue *(long*)$rsi"),
        ("((at::Tensor**)$rsi)[2]->print()", "tensor *(long*)((long)$rsi + 16)"),
        ("(*(at::Tensor**)$rsi)->print()", "tensor *(long*)$rsi"),
        ("((torch::jit::Graph**)$rdi)[1]->dump()", "jit-graph *(long*)((long)$rdi + 8)"),
        ("(*(torch::jit::Stack**)$rsi)->back().dump()", "ivalue-stack *(long*)$rsi"),
        ("((torch::jit::Graph*)$rdi)[1].dump()", "jit-graph ADDRESS"),  # nobody has an array of them
        # what holds a pointer
        ("(*(std::shared_ptr<torch::jit::Graph>*)$rdi)->dump()", "jit-graph *(long*)$rdi"),
        ("((std::shared_ptr<torch::jit::Graph>*)$rdi)->get()->dump()", "jit-graph *(long*)$rdi"),
        ("((std::shared_ptr<torch::jit::Graph>*)$rdi)[1]->dump()", "jit-graph *(long*)((long)$rdi + 16)"),
    ],
)
def test_a_cast_tells_the_command(typed: str, instead: str) -> None:
    assert instead_of(typed) == f"type {instead}: it reads memory and calls nothing"
    assert is_meant_for_a_native_frame(typed)


STACKS = (
    *("std::vector<c10::IValue>", "const std::vector<c10::IValue>", "struct std::vector<c10::IValue>"),
    *("std::vector<c10::IValue, std::allocator<c10::IValue> >", "torch::jit::Stack", "Stack"),
)
STACK_CASTS = (
    ("({}*)$rsi", "$rsi"),
    ("({} *) $rdi", "$rdi"),
    ("*({}*)$x1", "$x1"),
    ("reinterpret_cast<{}*>($rsi)", "$rsi"),
    ("({}*)*(long*)($rsp+8)", "*(long*)($rsp+8)"),
    ("*({}**)($rsp+8)", "*(long*)($rsp+8)"),
)
ELEMENTS = (
    *(
        "{}->data()",
        "{}->data()[1]",
        "{}->at(0)",
        "{}->back()",
        "{}->front()",
        "*{}->begin()",
        "{}->end()[-1]",
    ),
    *("{}.data()", "{}.at(0)", "{}[0]", "(*{})[0]", "(*{}).at(0)", "{}->operator[](0)"),
)
DUMPS = (
    *("{}->dump()", "{}.dump()", "(*{}).dump()", "({})->dump();", "((c10::IValue*){})->dump()"),
    *("((c10::IValue*)({}))->dump()", "((IValue*)&({}))->dump()", "(*(c10::IValue*){}).dump()"),
    "reinterpret_cast<c10::IValue*>({})->dump()",
)


@given(
    st.sampled_from(STACKS), st.sampled_from(STACK_CASTS), st.sampled_from(ELEMENTS), st.sampled_from(DUMPS)
)
@settings(max_examples=500)
def test_an_element_of_any_stack_is_answered_with_the_stack(
    type: str, cast: tuple[str, str], element: str, dump: str
) -> None:
    typed = dump.format(element.format(f"({cast[0].format(type)})"))
    assert instead_of(typed) == f"type ivalue-stack {cast[1]}: it reads memory and calls nothing"
    assert is_meant_for_a_native_frame(typed)


def test_a_variable_may_be_any_of_them() -> None:
    assert (
        instead_of("value.dump()", "Couldn't find method Value::dump")
        == "an IValue: ivalue value; a tensor: tensor value; a graph: jit-graph value"
    )
    for error in (None, 'No symbol "value" in current context.'):
        told = instead_of("value.dump()", error)
        assert "ivalue value" not in told and "args shows its arguments" in told
    assert not is_meant_for_a_native_frame("value.dump()")  # a graph has one in Python too
    assert is_meant_for_a_native_frame("value->dump()")
    assert instead_of("this->dump()").startswith("at the entry of a method this is in $rdi")


@pytest.mark.parametrize(
    "typed",
    ["stack->back().dump()", "stack[0].dump()", "(*stack)[0].dump()", "torch::jit::last(stack).dump()"],
)
def test_an_element_of_the_stack(typed: str) -> None:
    told = "type ivalue-stack: it shows the stack of the selected frame, and calls nothing"
    assert instead_of(typed) == told


@pytest.mark.parametrize(
    "typed",
    [
        "((MyType*)$rsi)->dump()",
        "((std::vector<int>*)$rsi)->dump()",
        "((c10::IValue*)$rsi)->isTensor()",
        "x.size()",
        "strlen(text)",
        "make().dump()",
        "(c10::IValue*)",
        "(c10::IValue**)$rsi",  # no IValue yet
        "((std::shared_ptr<int>*)$rsi)->dump()",
        "1 + 2",
        "a * (b)",
        "",
    ],
)
def test_other_calls_are_none_of_its_business(typed: str) -> None:
    assert instead_of(typed) == "" and not is_meant_for_a_native_frame(typed)
