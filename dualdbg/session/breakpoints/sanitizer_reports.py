"""Stop where a sanitizer reports an error: its run-time library calls a function that a debugger may watch."""

from __future__ import annotations

from collections.abc import Iterable

from ...backends import events as engine
from ...backends.native import ARGUMENT_REGISTERS
from ...shared.libraries import is_sanitizer
from ...shared.requests.breakpoints import InsertBreakpoint
from ...shared.requests.threads import ReadArchitecture, ReadRegisters
from ...snapshot.linux.memory import ProcessMemory
from ...symbols.address_space import AddressSpace, Module
from ..engines import NativeEngine

# sanitizer/common_interface_defs.h: it is called with the last line of the report, and prints it.
_SUMMARY = "__sanitizer_report_error_summary"
# By UndefinedBehaviorSanitizer that is not called, but this, without a word (ubsan_monitor.cpp).
_UNDEFINED, _IN_WORDS = "__ubsan_on_report", "UndefinedBehaviorSanitizer: it says next what is wrong here"
_LONGEST = 1024  # bytes; kMaxSummaryLength in sanitizer_common.h


class SanitizerReports:
    """gdb's breakpoints in the libraries of sanitizers."""

    def __init__(self, native: NativeEngine, image: AddressSpace) -> None:
        self._native = native
        self._image = image
        self._functions: dict[int, str] = {}  # by gdb's number, which comes once

    async def watch(self, modules: Iterable[Module]) -> None:
        """Stop at reports of the sanitizers among these modules."""
        for module in [one for one in modules if is_sanitizer(one.path)]:
            name = _UNDEFINED if "ubsan" in module.path.rpartition("/")[2] else _SUMMARY
            for place in self._image.find(name, [module]):
                self._functions[await self._native.ask(InsertBreakpoint(place.address))] = name

    async def text(self, event: engine.NativeStopped) -> str | None:
        """Return what is to be said of the report at which a thread stands; None at any other stop."""
        name = self._functions.get(event.gdb_breakpoint or 0)
        if name != _SUMMARY:
            return _IN_WORDS if name is not None else None
        register = ARGUMENT_REGISTERS[await self._native.ask(ReadArchitecture())][0]
        address = (await self._native.ask(ReadRegisters(event.gdb_thread or 1, [register])))[register]
        memory = ProcessMemory(self._image.pid, self._image.memory_file)
        return memory.text(address, _LONGEST).removeprefix("SUMMARY: ")
