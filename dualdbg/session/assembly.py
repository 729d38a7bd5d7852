"""Gives a session its parts: the one place that knows which concrete readers, tables and steppers belong together."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ..backends.debugpy import DebugpyOptions
from ..backends.wirelog import WireLog
from ..model import BreakpointKind, BreakpointSpec
from ..shared.requests.arguments import Passing
from ..symbols.address_space import AddressSpace
from ..symbols.locspec.presets import expand, only_in_debug_builds
from ..symbols.nearest_names import nearest_names
from ..symbols.torch.operator_functions import behind_binding, result_at, signature_at
from ..symbols.torch.operators import OperatorTable
from ..system.folders import here
from ..system.process_end import ends_within
from ..target.launcher import BOOTSTRAP, Launch, debugpy_package
from .breakpoints.native import Candidates, NativeBreakpoints
from .breakpoints.python import PythonBreakpoints
from .breakpoints.python_names import PythonNames
from .breakpoints.python_watches import PythonWatches
from .breakpoints.spec_reader import SpecReader
from .breakpoints.table import BreakpointTable
from .breakpoints.throw_origins import ThrowOrigins
from .debugpy_requests import DebugpyRequests
from .inspect.inspector import Inspector
from .inspect.left_out import LeftOut
from .inspect.stack_reader import StackReader
from .native_runs import NativeRuns
from .new_program import JoiningEngine, NewProgram
from .options import Options
from .session import Session
from .stepping.code_of_interest import CodeOfInterest
from .stepping.departure import NativeDeparture, PythonDeparture
from .stepping.destination import Destination
from .stepping.foresight import Foresight
from .stepping.freezing import Freezer
from .stepping.ground import GroundReader
from .stepping.handlers import HandlerFinder
from .stepping.line_watch import LineWatch
from .stepping.momentary_breakpoints import MomentaryBreakpoints
from .stepping.probe import Probe
from .stepping.step_ends import ArrivalReader, StepEnds
from .stepping.stepper import Stepper
from .stops.crash_core import keep_core
from .stops.native_hits import NativeHits
from .stops.native_stops import NativeStops
from .stops.python_hits import PythonHits
from .stops.python_stops import PythonStops
from .stops.scene import Scene


def keep_log(session: Session, options: Options) -> None:
    """With a folder for logs, keep a log of all decisions of the session, and of its remarks."""
    if options.log_dir is not None:
        log = WireLog(options.log_dir, "session", session.started)
        session.log = session.loop.log = log.received
        session.close_log = log.close


@dataclass(frozen=True)
class Makers:
    """How the parts are made that read the target itself: its files, its memory, /proc.

    Of a process they are these. A core has some of its own, and the tests of races play them, as they play the engines
    (tests/session/fakes/): whatever else belongs to a session, and how all of it is joined, is the same for all.
    """

    image: Callable[[int], AddressSpace] = AddressSpace
    reader: Callable[..., StackReader] = StackReader
    inspector: Callable[..., Inspector] = Inspector
    code: Callable[..., CodeOfInterest] = CodeOfInterest
    probe: Callable[..., Probe] = Probe
    watch: Callable[..., LineWatch] = LineWatch
    handlers: Callable[..., HandlerFinder] = HandlerFinder
    native_hits: Callable[..., NativeHits] = NativeHits
    python_hits: Callable[..., PythonHits] = PythonHits
    ends_within: Callable[[int, float], Awaitable[bool]] = ends_within


OF_A_PROCESS = Makers()


def furnish(
    session: Session,
    debugpy: JoiningEngine,
    options: Options,
    operators: OperatorTable | None,
    what: Launch,
    make: Makers = OF_A_PROCESS,
) -> None:
    """Give a session that has its engines, of which one is ``debugpy``, all other parts."""
    image = make.image(session.pid)
    loop, engine = session.loop, session.native
    policy = options.symbols
    ours = (debugpy_package(), BOOTSTRAP)
    # The names that Python has for its files, and those that the kernel has.
    hidden = (*map(str, ours), *map(os.path.realpath, ours))
    reader = make.reader(engine, image, policy, hidden)
    reader.emit = session.emit
    inspector = session.inspector = make.inspector(loop, engine, debugpy, session, reader)
    inspector.left_out = LeftOut.of(options.debugpy, options.just_my_code)
    names = PythonNames(what)
    specs = SpecReader(
        operators.is_operator if operators else None,
        partial(expand, presets=options.presets),
        only_in_debug_builds(options.presets),
        _nearest_in(image, operators),
        names.resolve,
    )
    folders, mine = _source_folders(what), options.just_my_code
    native = NativeBreakpoints(engine, image, reader, policy, _candidates_in(operators), folders)
    python = PythonBreakpoints(debugpy, folders, session.native_held, names.find, mine)
    if what.script is not None:
        python.script = os.path.realpath(folders[0] / what.script)
    origins = ThrowOrigins(loop, engine, inspector, native)
    watches = PythonWatches(debugpy, inspector, session.native_held)
    session.before_resume.append(watches.forget_offers)
    make_table = options.table or BreakpointTable
    breakpoints = session.breakpoints = make_table(loop, specs, native, python, origins, watches)
    freezer = session.freezer = Freezer(loop, engine, session, inspector, image)
    inspector.thread_list.frozen = freezer.frozen
    target_ends = partial(make.ends_within, session.pid)
    session.native_runs = NativeRuns(loop, engine, inspector, freezer, breakpoints, target_ends)
    session.debugpy_requests = DebugpyRequests(loop, debugpy)
    steps = _stepping(session, image, make, bool(options.debugpy.get("showReturnValue", True)))
    session.step_into = options.step_into
    inspector.values.passing_at = native.points.passing_at = partial(_passing_at, image, operators)
    session.code.result_at = partial(result_at, image, operators)
    if operators is not None:
        session.code.behind_binding = partial(behind_binding, image, operators)
    hits = session.hits = make.native_hits(engine, breakpoints, inspector, session.pid)
    scene = Scene(engine, inspector, freezer)
    session.native_stops = NativeStops(loop, scene, breakpoints, hits, steps)
    python_hits = make.python_hits(loop, inspector, breakpoints, origins)
    session.python_stops = PythonStops(loop, breakpoints, inspector, python_hits, steps)

    def read_meanwhile() -> None:
        if inspector.reader.has_more_to_read:
            loop.background(inspector.reader.read_whole())

    session.native_stops.read_meanwhile = session.python_stops.read_meanwhile = read_meanwhile
    asked = asked_of_debugpy(options)
    taking = NewProgram(loop, engine, debugpy, breakpoints, inspector, names, what, asked)
    session.new_program, session.native_stops.new_program = taking, taking.take
    session.at_close.append(taking.close)
    breakpoints.counting.before, breakpoints.counting.halting = partial(_follow, session), session
    if options.core_folder is not None:
        session.native_stops.before_shown.append(partial(keep_core, loop, engine, options.core_folder))


def _passing_at(
    image: AddressSpace, operators: OperatorTable | None, pc: int, is_return: bool
) -> tuple[int, Passing] | None:
    """Where the function at an address begins, and what is passed to it as far as its name or its schema tells."""
    found = signature_at(image, operators, pc, is_return)
    if found is None:
        return None
    entry, signature = found
    what = Passing(
        tuple((one.name, one.type) for one in signature.parameters),
        signature.hidden,
        signature.member,
        signature.result,
        signature.table,
        signature.this,
        signature.by_address,
        as_written=signature.by_name,
    )
    return entry, what


def _follow(session: Session, spec: BreakpointSpec) -> None:
    """Something is to be counted in the process: from the first on, a trace follows it."""
    if session.trace is None:
        from .traced import Trace  # with machine code, of which most sessions want nothing

        Trace(session)
    session.trace.expects(spec)


def _stepping(session: Session, image: AddressSpace, make: Makers, reads_results: bool) -> StepEnds:
    """The parts that steps need: some leave a stop, the returned one looks at the next stop."""
    loop, engine, inspector, table = session.loop, session.native, session.inspector, session.breakpoints
    code = session.code = make.code(image, inspector.reader)
    probe = session.probe = make.probe(engine, inspector, image)
    watch = make.watch(loop, engine, inspector, code, probe.learn_mailbox)
    handlers = make.handlers(engine, image, code)
    momentary = MomentaryBreakpoints(engine, session, inspector.reader, code, handlers)
    momentary.reads_results = reads_results
    ground = GroundReader(engine, inspector, watch, code, table, handlers)
    foresight = Foresight(loop, code, watch, momentary, inspector.reader, probe, session.has_command)
    session.after_stop.append(foresight.look)
    natively = NativeDeparture(loop, engine, session.freezer, momentary, watch, probe)
    in_python = PythonDeparture(loop, momentary, watch)
    destination = Destination(table)
    session.stepper = Stepper(loop, ground, natively, in_python, destination)
    reader = ArrivalReader(engine, inspector, watch, code, table, session)
    return StepEnds(loop, reader, momentary, watch, probe, destination)


def _candidates_in(operators: OperatorTable | None) -> Candidates:
    return operators.symbols_for_spec if operators is not None else lambda spec: []


def _nearest_in(
    image: AddressSpace, operators: OperatorTable | None
) -> Callable[[BreakpointSpec], list[str]]:
    """Finds the names that a user who mistyped one may have meant: operators, and functions of what is loaded."""

    def nearest(spec: BreakpointSpec) -> list[str]:
        names = operators.nearest(spec.subject) if operators is not None else []
        if spec.kind is BreakpointKind.FUNCTION:
            libraries = [module.library for module in image.modules if module.library is not None]
            names += [name for name in nearest_names(spec.subject, libraries) if name not in names]
        return names[:5]

    return nearest


def _source_folders(what: Launch) -> tuple[Path, ...]:
    """Where a bare file name of a breakpoint is looked for.

    These are the program's folder, our own, and that of the script.
    """
    start = here() / (what.cwd or "")
    folders = [start, here()]
    if what.script is not None:
        folders.append((start / what.script).parent)
    return tuple(dict.fromkeys(folders))


def asked_of_debugpy(options: Options) -> DebugpyOptions:
    """What a program that was launched is debugged with."""
    return DebugpyOptions(
        launched=True,
        just_my_code=options.just_my_code,
        stop_on_entry=options.stop_on_entry,
        hidden_files=(str(BOOTSTRAP),),
        extra=dict(options.debugpy),
    )
