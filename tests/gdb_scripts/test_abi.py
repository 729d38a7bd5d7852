"""Which register holds an argument, told from a demangled name; and when the registers still hold the arguments."""

from __future__ import annotations

import ast
import re
import sys
from typing import Any

import pytest

from tests.gdb_scripts.gdb_run import ENTRY
from tests.support import ROOT

STACK = "std::vector<c10::IValue, std::allocator<c10::IValue> >"


@pytest.fixture(scope="module")
def abi() -> Any:
    sys.path.insert(0, str(ENTRY.parent))
    try:
        from dualdbg_helpers import abi
    finally:
        sys.path.remove(str(ENTRY.parent))
    return abi


@pytest.mark.parametrize(
    ("demangled", "name", "parameters", "suffix"),
    [
        ("f(int, char*)", "f", ["int", "char*"], ""),
        ("f()", "f", [], ""),
        (f"bool ns::C::run<false>({STACK}&)", "ns::C::run<false>", [f"{STACK}&"], ""),
        ("ns::C::get(int) const", "ns::C::get", ["int"], " const"),
        (
            f"c10::Dispatcher::callBoxed(c10::OperatorHandle const&, {STACK}*) const [clone .isra.0]",
            "c10::Dispatcher::callBoxed",
            ["c10::OperatorHandle const&", f"{STACK}*"],
            " const [clone .isra.0]",
        ),
        ("f(int (*)(char, long), double)", "f", ["int (*)(char, long)", "double"], ""),
        ("C::operator()(int)", "C::operator()", ["int"], ""),
    ],
)
def test_split_function(abi: Any, demangled: str, name: str, parameters: list[str], suffix: str) -> None:
    assert abi.split_function(demangled) == (name, parameters, suffix)


def test_a_variable_is_no_function(abi: Any) -> None:
    assert abi.split_function("c10::UndefinedTensorImpl::_singleton") is None


@pytest.mark.parametrize(
    ("before", "position"),
    [
        ([], 0),
        (["c10::OperatorHandle const&"], 1),
        (["c10::OperatorKernel*", "c10::OperatorHandle const&", "c10::DispatchKeySet"], 3),
        (["double", "float", "int"], 1),  # floating arguments have registers of their own
        (["c10::ArrayRef<long>", "at::Tensor"], 3),  # two words, and an object that is passed by address
        (["std::optional<int>"], None),  # how that is passed depends on what is in it
    ],
)
def test_position(abi: Any, before: list[str], position: int | None) -> None:
    assert abi.position_of([*before, f"{STACK}&"], lambda kind: kind.startswith(STACK)) == position


@pytest.mark.parametrize(
    ("code", "intact"),
    [
        ("", True),
        ("f30f1efa", True),  # endbr64
        ("55 4889e5", True),  # push %rbp; mov %rsp,%rbp
        ("4157 4156 53 4881ec88000000", True),  # push %r15, %r14, %rbx; sub $0x88,%rsp
        ("4989fd 4889f3", True),  # mov %rdi,%r13; mov %rsi,%rbx
        ("4889f7", False),  # mov %rsi,%rdi: the first argument is gone
        ("31ff", False),  # xor %edi,%edi
        ("488b37", False),  # mov (%rdi),%rsi
        ("55 48", False),  # in the middle of an instruction
    ],
)
def test_prologue_of_x86_64(abi: Any, code: str, intact: bool) -> None:
    assert abi.arguments_intact(abi.X86_64, bytes.fromhex(code)) == intact


@pytest.mark.parametrize(
    ("words", "intact"),
    [
        ([], True),
        ([0xD503245F], True),  # bti c
        ([0xD503233F, 0xA9BC7BFD, 0x910003FD], True),  # paciasp; stp x29,x30,[sp,#-64]!; mov x29,sp
        ([0xD10103FF, 0xA9017BFD, 0x910043FD], True),  # sub sp,sp,#64; stp x29,x30,[sp,#16]; add x29,sp,#16
        ([0xAA0103E0], False),  # mov x0,x1
        ([0xF9400000], False),  # ldr x0,[x0]
    ],
)
def test_prologue_of_aarch64(abi: Any, words: list[int], intact: bool) -> None:
    code = b"".join(word.to_bytes(4, "little") for word in words)
    assert abi.arguments_intact(abi.AARCH64, code) == intact


def test_architectures(abi: Any) -> None:
    assert abi.architecture("i386:x86-64") == abi.X86_64
    assert abi.architecture("aarch64") == abi.AARCH64
    assert abi.architecture("riscv:rv64") is None
    assert abi.ARGUMENTS[abi.AARCH64][:2] == ("x0", "x1")


_OF_X86_64 = re.compile(r"\$r(?:[a-d]x|[sd]i|[89]|1[0-5])\b")
_OF_AARCH64 = re.compile(r"\$x[0-7]\b")
ONLY_ON_X86_64 = {
    " if $rdi > 4096": "no other processor has native functions traced",
    "gets the place for it in $rdi": "elsewhere a register of its own has it",
    "print *(c10::IValue": "an example of gdb's own print",
}


def test_a_text_that_names_a_register_names_that_of_each_processor() -> None:
    """What is told to type has to be there on AArch64 too."""
    found = [
        text
        for tree in ("dualdbg", "gdb_scripts")
        for path in sorted((ROOT / tree).rglob("*.py"))
        for text in _texts(path.read_text())
        if _OF_X86_64.search(text) and not _OF_AARCH64.search(text)
    ]
    known = {text: [part for part in ONLY_ON_X86_64 if part in text] for text in found}
    assert [text for text, parts in known.items() if not parts] == []
    assert {part for parts in known.values() for part in parts} == set(ONLY_ON_X86_64)


def _texts(source: str) -> list[str]:
    """The literals that say something: more than a word."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return [node.value for node in nodes if isinstance(node.value, str) and " " in node.value]
