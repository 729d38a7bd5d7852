"""PyTorch's dispatcher in memory: its operators, and the kernels that other libraries have registered for them.

``c10::Dispatcher`` keeps a std::list of operators; a node's operator begins with its name and holds a table of
``c10::KernelFunction`` (ATen/core/dispatch/OperatorEntry.h, ATen/core/boxing/KernelFunction.h). Nothing is found in
memory that does not look like that.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Protocol

    class Memory(Protocol):
        """Memory of the process. Its errors pass through unchanged."""

        def read(self, address: int, size: int) -> bytes: ...
        def u64(self, address: int) -> int: ...


# The Dispatcher object, which begins with the list of operators: a variable of the library libtorch_cpu.
SINGLETON = "_ZZN3c1010Dispatcher13realSingletonEvE10_singleton"
# A reference to it, in each library that was compiled with Dispatcher.h; the loader has all of them use the first. It
# is exported, so that it is found also where the libraries were stripped. Null where it is not used, or not yet.
REFERENCE = "_ZZN3c1010Dispatcher9singletonEvE1s"

_WORD = 8
_NODE = 2 * _WORD  # bytes of a node of std::list before its element
_STRING = 32  # bytes of a std::string: pointer, length, 16 bytes of its own
_LONGEST_NAME = 256
_MOST_OPERATORS = 100_000
_MOST_BYTES = 1 << 14  # of an operator with its table
_KERNEL_WORDS = 4  # functor, boxed function, function, function for symbolic sizes
# An intrusive_ptr_target, before what a functor keeps: its virtual table and two counts of 4 bytes.
HEAD_OF_FUNCTOR = 2 * _WORD
# Where WrapFunctionIntoRuntimeFunctor.h keeps the pointer.
_FUNCTOR_WORDS = (2, 3)


def operators(memory: Memory, singleton: int) -> Iterator[int]:
    """The address of every operator; ``singleton`` is that of the Dispatcher."""
    node = memory.u64(singleton)
    for _ in range(_MOST_OPERATORS):
        if node in (0, singleton):  # not made yet, or back at the start
            return
        yield node + _NODE
        node = memory.u64(node)


def is_named(memory: Memory, operator: int, name: str) -> bool:
    """Whether an operator, or a c10::OperatorName, is ``name``; ``mylib::myop`` means any overload of it."""
    base, dot, overload = name.partition(".")
    if _string(memory, operator) != base:
        return False
    return not dot or _string(memory, operator + _STRING) == ("" if overload == "default" else overload)


def table_of(memory: Memory, operator: int) -> range:
    """The addresses of the words of an operator behind its name; the dispatch table is among these words.

    The operator ends with its node, which is a block of glibc's malloc: the word before a block has its size and three
    flags.
    """
    node = operator - _NODE
    size = min(memory.u64(node - _WORD) & ~7, _MOST_BYTES) - _WORD
    return range(operator + 2 * _STRING, node + size, _WORD)


def words_of_kernel(kernel: int) -> range:
    """The addresses of the words of a c10::KernelFunction."""
    return range(kernel, kernel + _KERNEL_WORDS * _WORD, _WORD)


def kernels(
    memory: Memory, words: Iterable[int], is_code: Callable[[int], bool], is_data: Callable[[int], bool]
) -> tuple[list[int], list[int]]:
    """What the words of KernelFunctions lead to: functions that were registered, and casters, which call others.

    ``is_code`` and ``is_data`` say whether code, or data such as a virtual table, of a library outside of PyTorch is
    at an address. ``memory`` gives 0 for a word that is not there.
    """
    functions: list[int] = []
    casters: list[int] = []
    for place in words:
        pointer = memory.u64(place)
        if is_code(pointer):
            casters.append(pointer)
        elif pointer and pointer % _WORD == 0 and is_data(memory.u64(pointer)):
            held = [memory.u64(pointer + index * _WORD) for index in _FUNCTOR_WORDS]
            functions += [function for function in held if is_code(function)]
    return list(dict.fromkeys(functions)), list(dict.fromkeys(casters))


def _string(memory: Memory, address: int) -> str:
    length = memory.u64(address + _WORD)
    if length > _LONGEST_NAME:
        return ""
    return memory.read(memory.u64(address), length).decode("utf-8", "replace")
