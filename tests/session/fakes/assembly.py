"""A session as ``start.py`` makes it, by the same code: the engines, and what reads the target, are played."""

from __future__ import annotations

from functools import partial
from typing import Any

from dualdbg.session.assembly import Makers, furnish
from dualdbg.session.breakpoints.table import BreakpointTable
from dualdbg.session.options import Options
from dualdbg.session.session import Session
from dualdbg.session.stops.native_hits import NativeHits
from dualdbg.session.stops.python_hits import PythonHits
from dualdbg.session.transitions.ending import exited
from dualdbg.target.launcher import Launch

from .debugpy import FakeDebugpy
from .gdb import FakeGdb
from .readers import (
    FakeCode,
    FakeHandlers,
    FakeImage,
    FakeProbe,
    FakeReader,
    FakeWatch,
    MarkedHits,
    MarkedPythonHits,
)
from .world import FILE, PID, World

_OPTIONS = Options()
_PROGRAM = Launch(python="", script=FILE)


def assemble(world: World) -> Session:
    """A session about this world. It takes no entries yet."""
    gdb: Any = FakeGdb(world)
    python: Any = FakeDebugpy(world)
    session = Session(PID, gdb, python, 0.0)
    python.is_shown = lambda: session.loop.state.is_mute
    furnish(session, python, _OPTIONS, None, _PROGRAM, _played(world))
    session.end_attached = world.be_killed
    table = session.breakpoints
    world.report = session.report
    world.tell_end = partial(session.loop.put, exited)
    world.wants = lambda number: any(map(_is_plain(table), table.native_owners_there(number)))
    world.wants_in_python = lambda number: any(map(_is_plain(table), table.python_owners((number,))))
    return session


def _played(world: World) -> Makers:
    """What reads the target reads the world."""
    made: dict[str, Any] = {
        "image": lambda pid: FakeImage(),
        "reader": lambda *ports: FakeReader(world),
        "code": lambda image, reader: FakeCode(image),
        "probe": lambda *ports: FakeProbe(world),
        "watch": lambda loop, native, python, code, learn: FakeWatch(world, python),
        "handlers": lambda *ports: FakeHandlers(world.chance),
        "native_hits": lambda *ports: MarkedHits(world, NativeHits(*ports)),
        "python_hits": lambda *ports: MarkedPythonHits(world, PythonHits(*ports)),
        "ends_within": lambda pid, seconds: world.ends_within(seconds),
    }
    return Makers(**made)


def _is_plain(table: BreakpointTable) -> Any:
    """Whether a breakpoint stops whenever it is met."""

    def is_plain(id: int) -> bool:
        row = table.find(id)
        return row is not None and row.enabled and row.spec.condition is None

    return is_plain
