"""The kernels that libraries outside of PyTorch have registered for their operators, read from a process's memory.

``c10::Dispatcher`` keeps a std::list of operators; a node's operator begins with its name and holds a table of
``c10::KernelFunction`` (ATen/core/dispatch/OperatorEntry.h, ATen/core/boxing/KernelFunction.h). Where what is read
does not look like that, nothing is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from ..errors import UnreadableMemory
from .image import Module, ProcessImage
from .native_entries import functions_in_template
from .policy import is_interpreter, is_system

REGISTER = "c10::Dispatcher::registerImpl"
# registerImpl(OperatorName, optional<DispatchKey>, KernelFunction, …) returns an object, whose place is the first
# argument on x86-64; name and kernel are passed by reference (System V AMD64 ABI, 3.2.3; AAPCS64, 6.8.2).
REGISTER_ARGUMENTS = {"i386:x86-64": ("rdx", "r8"), "aarch64": ("x1", "x3")}

_SINGLETON = "_ZZN3c1010Dispatcher13realSingletonEvE10_singleton"
_WORD = 8
_STRING = 32  # bytes of a std::string: pointer, length, 16 bytes of its own
_LONGEST_NAME = 256
_MOST_OPERATORS = 100_000
_MOST_BYTES = 1 << 14  # of an operator with its table
_KERNEL_WORDS = 4  # functor, boxed function, function, function for symbolic sizes
_PYTORCH = ("libtorch", "libc10", "libcaffe2")


class MemoryReader(Protocol):
    """Memory of the process. Raises UnreadableMemory."""

    def read(self, address: int, size: int) -> bytes: ...
    def u64(self, address: int) -> int: ...


def is_foreign(module: Module) -> bool:
    """Whether a module may hold an extension's own kernels."""
    name = module.path.rpartition("/")[2]
    return not (name.startswith(_PYTORCH) or is_system(module.path) or is_interpreter(module.path))


def mentions(module: Module, name: str) -> bool:
    """Whether the file has the text of an operator's name, without its namespace, anywhere."""
    if module.library is None or not is_foreign(module):
        return False
    elf = module.library.elf
    return elf.find(name.partition("::")[2].partition(".")[0].encode(), 0, elf.size) >= 0


def registered_kernels(image: ProcessImage, memory: MemoryReader, name: str) -> list[int]:
    """The absolute addresses of the functions that run when operator ``name`` (``mylib::myop.overload``) is called.

    A name without overload means all of them. Empty when there is no such operator, or none of an extension.
    """
    found: list[int] = []
    try:
        for node in _nodes(image, memory):
            if _is_meant(memory, node + 2 * _WORD, name):
                table = node + (2 + 2 * _STRING // _WORD) * _WORD
                end = node + _size_of(memory, node)
                found += _kernels(image, memory, range(table, end, _WORD))
    except UnreadableMemory:
        return []
    return list(dict.fromkeys(found))


def registration(
    image: ProcessImage, memory: MemoryReader, name: str, operator: int, kernel: int
) -> list[int]:
    """At the entry of registerImpl with these arguments: the functions, when it is for operator ``name``."""
    try:
        if not _is_meant(memory, operator, name):
            return []
        return _kernels(image, memory, range(kernel, kernel + _KERNEL_WORDS * _WORD, _WORD))
    except UnreadableMemory:
        return []


def _nodes(image: ProcessImage, memory: MemoryReader) -> Iterator[int]:
    for module in image.modules:
        if module.library is None or not module.path.rpartition("/")[2].startswith("libtorch_cpu"):
            continue
        for symbol in module.library.find_data(_SINGLETON):
            head = symbol.address + module.bias
            node = memory.u64(head)
            for _ in range(_MOST_OPERATORS):
                if node in (0, head):  # not made yet, or once around
                    break
                yield node
                node = memory.u64(node)


def _is_meant(memory: MemoryReader, operator: int, name: str) -> bool:
    base, dot, overload = name.partition(".")
    if _string(memory, operator) != base:
        return False
    return not dot or _string(memory, operator + _STRING) == ("" if overload == "default" else overload)


def _string(memory: MemoryReader, address: int) -> str:
    length = memory.u64(address + _WORD)
    if length > _LONGEST_NAME:
        return ""
    return memory.read(memory.u64(address), length).decode("utf-8", "replace")


def _size_of(memory: MemoryReader, block: int) -> int:
    """Bytes of a block of glibc's malloc, which keeps the size with three flags in the word before it."""
    size = memory.u64(block - _WORD) & ~7
    return min(size, _MOST_BYTES) - _WORD


def _kernels(image: ProcessImage, memory: MemoryReader, words: Iterable[int]) -> list[int]:
    """What the words of KernelFunctions lead to: functions that were registered, else what calls them."""
    functions: list[int] = []
    callers: list[int] = []
    for place in words:
        pointer = memory.u64(place)
        if _foreign_code(image, pointer):
            callers.append(pointer)
            functions += _named(image, pointer)
        elif pointer and pointer % _WORD == 0:
            functions += _of_functor(image, memory, pointer)
    return functions or callers


def _of_functor(image: ProcessImage, memory: MemoryReader, functor: int) -> list[int]:
    """The pointer that WrapFunctionIntoRuntimeFunctor.h keeps behind the counts of an intrusive_ptr_target."""
    try:
        table = image.module_at(memory.u64(functor))
        if table is None or not is_foreign(table):
            return []
        words = [memory.u64(functor + index * _WORD) for index in (2, 3)]
    except UnreadableMemory:
        return []
    return [word for word in words if _foreign_code(image, word)]


def _named(image: ProcessImage, caller: int) -> list[int]:
    """The function that a caller's template argument names."""
    module = image.module_at(caller)
    if module is None or module.library is None:
        return []
    symbol = module.library.symbol_at(caller - module.bias)
    return [one.address + module.bias for one in functions_in_template(module.library, symbol)]


def _foreign_code(image: ProcessImage, address: int) -> bool:
    module = image.module_at(address)
    if module is None or module.library is None or not is_foreign(module):
        return False
    code = (section for section in module.library.elf.sections if section.is_code)
    return any(0 <= address - module.bias - section.address < section.size for section in code)
