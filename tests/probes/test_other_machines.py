"""Where there is no machine code for a machine, or no room for it yet, gdb does the work, and the reason is told."""

from __future__ import annotations

import asyncio
import os
from typing import Any, cast

import pytest

from dualdbg.model import Location
from dualdbg.probes import placement, thunk
from dualdbg.probes.placement import CannotPlace
from dualdbg.session.breakpoints.probes import Probes
from dualdbg.session.breakpoints.tracing import TracedPlace
from dualdbg.shared.requests.threads import ListThreads, ReadArchitecture
from dualdbg.symbols.address_space import AddressSpace


class _Gdb:
    """It holds a program of another machine, and is asked nothing more of it."""

    async def ask(self, request: ReadArchitecture) -> str:
        return {ReadArchitecture(): "aarch64"}[request]


@pytest.mark.skipif(placement.iced is None, reason="needs iced-x86")
def test_aarch64_is_refused_before_anything_is_written() -> None:
    probes = Probes(cast(Any, _Gdb()), AddressSpace(os.getpid()))
    assert asyncio.run(probes.put(1, 0x1000, "x == 1", None, None)) == "this is done on x86-64 alone"
    place = TracedPlace({1}, 1, Location("work", address=0x1000))
    asyncio.run(probes.trace(place, None, None))
    assert place.why_not == "this is done on x86-64 alone" and place.memory is None


class _BeforeTheLibraries:
    """A program of which only the loader is there: what it loads first need not be the C library."""

    pid = os.getpid()
    modules = ()

    def find(self, name: str, modules: object) -> list[Any]:
        return []

    async def ask(self, request: ListThreads) -> dict[int, int]:
        return {ListThreads(): {1: self.pid}}[request]


def test_without_the_c_library_a_probe_waits_for_the_next_libraries() -> None:
    early = _BeforeTheLibraries()
    probes = Probes(cast(Any, early), cast(Any, early))
    with pytest.raises(CannotPlace, match="the C library's mmap"):
        asyncio.run(probes._room(0x400000))
    assert probes.tracing.waits


class _Rooms(Probes):
    """Its new memory lies at these addresses."""

    def __init__(self, *rooms: int) -> None:
        process = _BeforeTheLibraries()
        super().__init__(cast(Any, process), cast(Any, process))
        self._rooms = list(rooms)

    async def _room(self, near: int) -> int:
        return self._rooms.pop(0)


def test_memory_to_which_no_jump_can_lead_is_passed_over() -> None:
    """The distance has the byte of a trap, whatever the place in that memory."""
    site = 0x3FF000
    trap = 0x400000 + (thunk.TRAP << 16)
    probes = _Rooms(trap, trap + 0x20000)
    assert asyncio.run(probes._area(site)).start == trap + 0x20000
    assert asyncio.run(probes._area(trap)).start == trap  # it serves what else is near
