"""A session as ``start.py`` makes it, over the fake engines and what the fakes read. The rest of it is real."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dualdbg.session.breakpoints.native import NativeBreakpoints
from dualdbg.session.breakpoints.python import PythonBreakpoints
from dualdbg.session.breakpoints.python_watches import PythonWatches
from dualdbg.session.breakpoints.spec_reader import SpecReader
from dualdbg.session.breakpoints.table import BreakpointTable
from dualdbg.session.breakpoints.throw_origins import ThrowOrigins
from dualdbg.session.debugpy_requests import DebugpyRequests
from dualdbg.session.inspect.inspector import Inspector
from dualdbg.session.native_runs import NativeRuns
from dualdbg.session.session import Session
from dualdbg.session.stepping.departure import NativeDeparture, PythonDeparture
from dualdbg.session.stepping.destination import Destination
from dualdbg.session.stepping.freezing import Freezer
from dualdbg.session.stepping.ground import GroundReader
from dualdbg.session.stepping.momentary_breakpoints import MomentaryBreakpoints
from dualdbg.session.stepping.step_ends import ArrivalReader, StepEnds
from dualdbg.session.stepping.stepper import Stepper
from dualdbg.session.stops.native_hits import NativeHits
from dualdbg.session.stops.native_stops import NativeStops
from dualdbg.session.stops.python_hits import PythonHits
from dualdbg.session.stops.python_stops import PythonStops
from dualdbg.session.stops.scene import Scene

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


def assemble(world: World) -> Session:
    """A session about this world. It takes no entries yet."""
    gdb: Any = FakeGdb(world)
    session = Session(PID, gdb, None, 0.0)
    loop = session.loop
    python: Any = FakeDebugpy(world, lambda: loop.state.is_mute)
    session.python = python
    image: Any = FakeImage()
    reader: Any = FakeReader(world)
    inspector = session.inspector = Inspector(loop, gdb, python, session, reader)
    none: Any = None
    specs = SpecReader(None, lambda name: [], frozenset(), lambda spec: [], none)
    native = NativeBreakpoints(gdb, image, reader, none, none)
    lines = PythonBreakpoints(python, (Path(FILE).parent,), session.native_held, none)
    watches = PythonWatches(python, inspector, session.native_held)
    table = session.breakpoints = BreakpointTable(
        loop, specs, native, lines, ThrowOrigins(loop, gdb, inspector, native), watches
    )
    freezer = session.freezer = Freezer(loop, gdb, session, inspector, image)
    inspector.thread_list.frozen = freezer.frozen
    session.native_runs = NativeRuns(loop, gdb, inspector, freezer, table, world.ends_within)
    session.debugpy_requests = DebugpyRequests(loop, python)
    code: Any = FakeCode()
    probe: Any = FakeProbe(world)
    watch: Any = FakeWatch(world)
    handlers: Any = FakeHandlers(world.chance)
    momentary = MomentaryBreakpoints(gdb, session, reader, code, handlers)
    destination = Destination(table)
    session.stepper = Stepper(
        loop,
        GroundReader(gdb, inspector, watch, code, table, handlers),
        NativeDeparture(loop, gdb, freezer, momentary, watch, probe),
        PythonDeparture(loop, momentary, watch),
        destination,
    )
    arrivals = ArrivalReader(gdb, inspector, watch, code, table, session)
    steps = StepEnds(loop, arrivals, momentary, watch, probe, destination)
    hits: Any = MarkedHits(world, NativeHits(gdb, table, inspector, native.points.arguments, PID))
    python_hits: Any = MarkedPythonHits(
        world, PythonHits(loop, inspector, table, ThrowOrigins(loop, gdb, inspector, native))
    )
    session.hits = hits
    session.native_stops = NativeStops(loop, Scene(gdb, inspector, freezer), table, hits, steps)
    session.native_stops.will_note_arguments = inspector.values.will_note_arguments
    session.native_stops.new_program = table.program_replaced
    session.python_stops = PythonStops(loop, table, inspector, python_hits, steps)
    session.wait_for_exit = None
    world.report = session.report
    world.wants = lambda number: any(map(_is_plain(table), table.native_owners_there(number)))
    world.wants_in_python = lambda number: any(map(_is_plain(table), table.python_owners((number,))))
    return session


def _is_plain(table: BreakpointTable) -> Any:
    """Whether a breakpoint stops whenever it is met."""

    def is_plain(id: int) -> bool:
        row = table.find(id)
        return row is not None and row.enabled and row.spec.condition is None

    return is_plain
