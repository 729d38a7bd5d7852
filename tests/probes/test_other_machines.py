"""Where there is no machine code for a machine, gdb does the work, and the reason is told."""

from __future__ import annotations

import asyncio
import os
from typing import Any, cast

import pytest

from dualdbg.model import Location
from dualdbg.probes import placement
from dualdbg.session.breakpoints.probes import Probes
from dualdbg.session.breakpoints.tracing import TracedPlace
from dualdbg.symbols.address_space import AddressSpace


class _Gdb:
    """It holds a program of another machine, and is asked nothing more of it."""

    async def architecture(self) -> str:
        return "aarch64"


@pytest.mark.skipif(placement.iced is None, reason="needs iced-x86")
def test_aarch64_is_refused_before_anything_is_written() -> None:
    probes = Probes(cast(Any, _Gdb()), AddressSpace(os.getpid()))
    assert asyncio.run(probes.put(1, 0x1000, "x == 1", None, None)) == "this is done on x86-64 alone"
    place = TracedPlace(1, 1, Location("work", address=0x1000))
    asyncio.run(probes.trace(place, None, None))
    assert place.why_not == "this is done on x86-64 alone" and place.memory is None
