"""Breakpoints on indirect functions belong at the implementation that the resolver chooses, perhaps only later."""

from __future__ import annotations

from dataclasses import dataclass

from ...shared.requests.breakpoints import InsertBreakpoint
from ...shared.requests.threads import ReadArchitecture, ReadMemory, ReadRegisters
from ...snapshot.linux.memory import ProcessMemory
from ...symbols.address_space import AddressSpace, LoadedFunction
from ...symbols.ifuncs import implementation
from ..engines import NativeEngine

_RETURNED = {"x86-64": ("rsp", None, "rax"), "aarch64": (None, "x30", "x0")}
"""Where a function that has just been entered returns to (on the stack, or in a register), and what it returns."""


@dataclass(frozen=True)
class Chosen:
    """A resolver returned: the indirect function, and the address of its implementation."""

    place: LoadedFunction
    address: int


class IndirectFunctions:
    """Knows what resolvers have chosen. One that has not run yet is watched; nothing is run in the target."""

    def __init__(self, native: NativeEngine, image: AddressSpace) -> None:
        self._native = native
        self._image = image
        self._resolvers: dict[int, LoadedFunction] = {}  # by gdb's breakpoint at the resolver
        self._returns: dict[int, LoadedFunction] = {}  # by gdb's breakpoint where it returns to

    def implementation(self, place: LoadedFunction) -> int | None:
        """The address of what the resolver chose, from memory; None while it has not run."""
        memory = ProcessMemory(self._image.pid, self._image.memory_file)
        return implementation(self._image, place, memory.read)

    async def watch(self, place: LoadedFunction) -> None:
        """Stop when the resolver runs."""
        if all(one.address != place.address for one in self._resolvers.values()):
            self._resolvers[await self._native.ask(InsertBreakpoint(place.address))] = place

    async def at_stop(self, gdb_number: int, gdb_thread: int) -> Chosen | bool:
        """What a stop at a resolver or behind it tells; True at its entry, False at any other stop."""
        place = self._resolvers.get(gdb_number)
        if place is not None:
            number = await self._native.ask(
                InsertBreakpoint(await self._return_address(gdb_thread), gdb_thread)
            )
            self._returns[number] = place
            return True
        place = self._returns.pop(gdb_number, None)
        if place is None:
            return False
        await self._native.delete_breakpoint(gdb_number)
        for number, one in list(self._resolvers.items()):
            if one.address == place.address:
                del self._resolvers[number]
                await self._native.delete_breakpoint(number)
        register = _RETURNED[await self._native.ask(ReadArchitecture())][2]
        return Chosen(place, (await self._native.ask(ReadRegisters(gdb_thread, [register])))[register])

    async def libraries_left(self) -> None:
        """Forget the resolvers in modules that are gone."""
        for points in (self._resolvers, self._returns):
            for number, place in list(points.items()):
                if place.module not in self._image.modules:
                    del points[number]
                    await self._native.delete_breakpoint(number)

    def program_replaced(self) -> None:
        """The process runs another program, and gdb has dropped its breakpoints."""
        self._resolvers.clear()
        self._returns.clear()

    async def _return_address(self, gdb_thread: int) -> int:
        stack, link, _ = _RETURNED[await self._native.ask(ReadArchitecture())]
        values = await self._native.ask(ReadRegisters(gdb_thread, [stack or link or ""]))
        if link is not None:
            return values[link]
        return int.from_bytes(await self._native.ask(ReadMemory(values[stack or ""], 8)), "little")
