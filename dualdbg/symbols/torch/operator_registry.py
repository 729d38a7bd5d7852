"""The kernels that are registered for operators which no table of PyTorch has, found from outside a process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from ...errors import UnreadableMemory
from ...known.binding_layers import CALLER_OF_ONE_KERNEL
from ...shared import dispatcher, libraries
from ..address_space import AddressSpace, Module
from ..callables.native_entries import functions_in_template

REGISTER = "c10::Dispatcher::registerImpl"
# registerImpl(OperatorName, optional<DispatchKey>, KernelFunction, …) returns an object, whose place is the first
# argument on x86-64; name and kernel are passed by reference (System V AMD64 ABI, 3.2.3; AAPCS64, 6.8.2).
REGISTER_ARGUMENTS = {"x86-64": ("rdx", "r8"), "aarch64": ("x1", "x3")}


class MemoryReader(Protocol):
    """Memory of the process. Raises UnreadableMemory."""

    def read(self, address: int, size: int) -> bytes:
        """Exactly ``size`` bytes."""

    def u64(self, address: int) -> int:
        """A pointer, or an unsigned number of 8 bytes."""


class _ZeroWhereNone:
    """The memory, with words of 0 where there is none: a table holds numbers that are no pointers."""

    def __init__(self, memory: MemoryReader) -> None:
        self.read = memory.read
        self._u64 = memory.u64

    def u64(self, address: int) -> int:
        try:
            return self._u64(address)
        except UnreadableMemory:
            return 0


def is_foreign(module: Module) -> bool:
    """Whether a module may hold an extension's own kernels."""
    return libraries.is_foreign(module.path)


def mentions(module: Module, name: str) -> bool:
    """Whether the file has the text of an operator's name, without its namespace, anywhere."""
    if module.library is None or not is_foreign(module):
        return False
    elf = module.library.elf
    return elf.find(name.partition("::")[2].partition(".")[0].encode(), 0, elf.size) >= 0


def registered_kernels(image: AddressSpace, memory: MemoryReader, name: str) -> list[int]:
    """The absolute addresses of the functions that run when operator ``name`` (``mylib::myop.overload``) is called.

    A name without overload means all overloads. Where no library outside of PyTorch has kernels of it, they are the
    functions by which PyTorch calls its own, as far as each of them serves one kernel.
    """
    found: list[int] = []
    own: list[int] = []
    try:
        for operator in _operators(image, memory):
            if dispatcher.is_named(memory, operator, name):
                words = dispatcher.table_of(memory, operator)
                found += _kernels(image, memory, words)
                own += _callers_of_own(image, memory, words)
    except UnreadableMemory:
        return []
    return list(dict.fromkeys(found or own))


def registration(
    image: AddressSpace, memory: MemoryReader, name: str, operator: int, kernel: int
) -> list[int]:
    """At the entry of registerImpl: the functions that it registers, when it is for operator ``name``."""
    try:
        if not dispatcher.is_named(memory, operator, name):
            return []
    except UnreadableMemory:
        return []
    return _kernels(image, memory, dispatcher.words_of_kernel(kernel))


def _operators(image: AddressSpace, memory: MemoryReader) -> Iterator[int]:
    of_torch = [one for one in image.modules if libraries.is_torch_cpu(one.path)]
    found = list(_data(of_torch, dispatcher.SINGLETON))
    if not found:  # stripped
        found = [memory.u64(place) for place in _data(image.modules, dispatcher.REFERENCE)]
    for singleton in dict.fromkeys(filter(None, found)):
        yield from dispatcher.operators(memory, singleton)


def _data(modules: Iterable[Module], name: str) -> Iterator[int]:
    """The absolute addresses of a variable in these modules."""
    for module in modules:
        if module.library is not None:
            for symbol in module.library.find_data(name):
                yield symbol.address + module.bias


def _kernels(image: AddressSpace, memory: MemoryReader, words: range) -> list[int]:
    """The functions that the words of KernelFunctions lead to: the registered ones, else their callers."""
    functions, casters = dispatcher.kernels(
        _ZeroWhereNone(memory),
        words,
        lambda address: _foreign_code(image, address),
        lambda address: _foreign_module(image, address) is not None,
    )
    functions += [function for caster in casters for function in _named(image, caster)]
    return functions or casters


def _callers_of_own(image: AddressSpace, memory: MemoryReader, words: range) -> Iterator[int]:
    """The functions in these words by which PyTorch calls one kernel of its own."""
    for place in words:
        address = memory.u64(place)
        module = image.module_at(address)
        if module is None or module.library is None or not libraries.is_pytorch(module.path):
            continue
        symbol = module.library.symbol_at(address - module.bias)
        if symbol is None or symbol.address + module.bias != address:
            continue
        if CALLER_OF_ONE_KERNEL.match(symbol.name):
            yield address


def _named(image: AddressSpace, caller: int) -> list[int]:
    """The function that a caller's template argument names."""
    module = image.module_at(caller)
    if module is None or module.library is None:
        return []
    symbol = module.library.symbol_at(caller - module.bias)
    return [one.address + module.bias for one in functions_in_template(module.library, symbol)]


def _foreign_module(image: AddressSpace, address: int) -> Module | None:
    module = image.module_at(address)
    return module if module is not None and is_foreign(module) else None


def _foreign_code(image: AddressSpace, address: int) -> bool:
    module = _foreign_module(image, address)
    if module is None or module.library is None:
        return False
    code = (section for section in module.library.elf.sections if section.is_code)
    return any(0 <= address - module.bias - section.address < section.size for section in code)
