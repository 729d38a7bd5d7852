"""Finds the kernels of operators that no table of PyTorch has: those registered already and from now on."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from ...model import BreakpointKind, BreakpointSpec
from ...shared import libraries
from ...shared.requests.breakpoints import InsertBreakpoint
from ...shared.requests.threads import ReadArchitecture, ReadRegisters
from ...snapshot.linux.memory import ProcessMemory
from ...symbols.address_space import AddressSpace, Module
from ...symbols.torch.operator_registry import (
    REGISTER,
    REGISTER_ARGUMENTS,
    mentions,
    registered_kernels,
    registration,
)
from ..engines import NativeEngine

# mylib::myop may name a C++ function too. It may be an operator only when no function has that name.
_MAY_BE_OPERATOR = re.compile(r"[A-Za-z_]\w*::[A-Za-z_]\w*")

# The first function of libtorch_python that is called: all libraries of PyTorch have registered what they have.
_LOADED = "initModule"


def extension_operator(spec: BreakpointSpec) -> str | None:
    """The operator, ``mylib::myop.overload``, that a spec means or may mean. PyTorch itself does not have it."""
    if spec.kind is BreakpointKind.OPERATOR and spec.namespace not in (None, "aten"):
        return f"{spec.namespace}::{spec.subject}" + (f".{spec.overload}" if spec.overload else "")
    if spec.kind is BreakpointKind.FUNCTION and _MAY_BE_OPERATOR.fullmatch(spec.subject):
        return spec.subject
    return None


class OperatorRegistrations:
    """The registry of PyTorch in the target. Used only while gdb holds it.

    A new operator is no event. A library that may bring some is known by their names in its text; then gdb stops at
    every registration. PyTorch itself registers thousands, and is looked at once when it is loaded.
    """

    def __init__(self, native: NativeEngine, image: AddressSpace) -> None:
        self._native = native
        self._image = image
        self._number: int | None = None  # the gdb breakpoint where operators are registered
        self._loaded: int | None = None  # ... where PyTorch's own are

    def known(self, name: str) -> list[int]:
        """The addresses of the kernels that are registered for an operator."""
        return registered_kernels(self._image, self._memory(), name)

    async def watch(self, names: Collection[str], arrived: Collection[Module]) -> None:
        """Stop at registrations from now on, if one of the new modules may register one of these operators."""
        for module in arrived:
            if names and self._loaded is None and libraries.is_torch_python(module.path):
                for place in self._image.find(_LOADED, [module]):
                    self._loaded = await self._native.ask(InsertBreakpoint(place.address))
        if self._number is not None or not any(mentions(one, name) for name in names for one in arrived):
            return
        for place in self._image.find(REGISTER):
            self._number = await self._native.ask(InsertBreakpoint(place.address))
            return

    def program_replaced(self) -> None:
        """The process runs another program, and gdb has dropped its breakpoints."""
        self._number = self._loaded = None

    def is_registration(self, gdb_number: int) -> bool:
        """Whether this gdb breakpoint is one where operators are registered, or have been."""
        return gdb_number in (self._number, self._loaded)

    async def at_hand(self, gdb_number: int, names: Iterable[str], gdb_thread: int) -> dict[str, list[int]]:
        """At such a stop: the addresses of the kernels, by the operators that get them."""
        if gdb_number == self._loaded:
            return {name: self.known(name) for name in names}
        registers = REGISTER_ARGUMENTS.get(await self._native.ask(ReadArchitecture()))
        if registers is None:
            return {}
        values = await self._native.ask(ReadRegisters(gdb_thread, registers))
        memory = self._memory()
        return {
            name: registration(self._image, memory, name, *(values[register] for register in registers))
            for name in names
        }

    def _memory(self) -> ProcessMemory:
        return ProcessMemory(self._image.pid, self._image.memory_file)
