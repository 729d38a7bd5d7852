"""Where a function without debug info enters the next function: its calls, watched for one step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...errors import CommandError
from ...known.binding_layers import is_library_code

if TYPE_CHECKING:
    from ...symbols.address_space import AddressSpace, Module
    from ..engines import Reading
    from .crossing import Crossing, Engine

_MANY = 2000  # calls of one function; more would take longer to watch than the step is worth


@dataclass
class CallEntries:
    """gdb's breakpoints for one step: at functions that will be called, and at calls through a pointer."""

    start: int  # of the calling function
    end: int
    callees: set[int] = field(default_factory=set)
    sites: set[int] = field(default_factory=set)

    @property
    def numbers(self) -> list[int]:
        return [*self.callees, *self.sites]


async def watch_calls(
    native: Engine, image: AddressSpace, crossing: Crossing, pc: int, gdb_thread: int
) -> CallEntries | None:
    """Breakpoints at what the function at ``pc`` calls, as far as it has a name and is of interest to a user."""
    module = image.module_at(pc)
    if module is None or module.library is None:
        return None
    frame = module.library.frames.find(pc - module.bias)
    if frame is None:
        return None
    entries = CallEntries(frame.start + module.bias, frame.end + module.bias)
    try:
        rows = await native.calls(entries.start, entries.end)
    except CommandError:
        return None  # data between the instructions
    if not rows or len(rows) > _MANY:
        return None
    interesting = crossing.interesting()
    targets = {row.target for row in rows if row.target is not None}
    wanted = sorted(target for target in targets if _is_wanted(image, interesting, target))
    sites = sorted(row.site for row in rows if row.target is None)
    entries.callees.update(await native.insert_breakpoints(gdb_thread, wanted))
    entries.sites.update(await native.insert_breakpoints(gdb_thread, sites))
    return entries


async def pointer_followed(
    native: Engine, image: AddressSpace, crossing: Crossing, entries: CallEntries, thread: int
) -> None:
    """At a call through a pointer: a breakpoint at the function that it goes to, if that is of interest."""
    target = await native.call_target(thread)
    if target is not None and _is_wanted(image, crossing.interesting(), target):
        entries.callees.update(await native.insert_breakpoints(thread, [target]))


async def called_from_here(native: Reading, entries: CallEntries, thread: int) -> bool:
    """At the entry of a function: whether the function of the step called it."""
    registers = await native.registers(thread, ["sp"])
    word = await native.read_memory(registers["sp"], 8)
    return entries.start <= int.from_bytes(word, "little") <= entries.end


def _is_wanted(image: AddressSpace, interesting: list[Module], address: int) -> bool:
    module = image.module_at(address)
    if module is None or module not in interesting or module.library is None:
        return False
    name, _ = image.describe(address)
    if name is None or image.function_start(address + 1) != address:
        return False
    return not any(is_library_code(linkage) for linkage in _linkage_names(module, address))


def _linkage_names(module: Module, address: int) -> list[bytes]:
    assert module.library is not None
    wanted = {address - module.bias}
    return [table.name(entry) for table in module.library.tables for entry in table.with_values(wanted)]
