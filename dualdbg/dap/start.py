"""Starts the program of a client's configuration under a session, or attaches to a process, and lets go of it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from ..config import Asked, configuration, working_directory
from ..errors import PermissionRefused, TargetError, UsageError
from ..model import State
from ..session import configured
from ..session.attach.python_control import PythonControl
from ..session.attaching import attach
from ..session.inferiors import Group
from ..session.options import Options
from ..session.session import Session
from ..session.start import launch
from ..symbols.cache import cache_directory
from ..symbols.torch.loaded_operators import operators_of
from ..symbols.torch.operators import OperatorTable
from ..system.folders import expanded, here
from ..system.in_thread import in_thread
from ..system.locale_encoding import decoded
from ..system.log_names import DEBUGPY_LOG_DIR, LogFolder, of_launch
from ..system.waiting import first_of
from ..target import interpreter
from ..target.launcher import Launch
from ..target.permission import ScopeRefused
from ..target.scope import Lowering, announcement, command_to_set, in_the_way
from .adapter import Adapter
from .configuration import Configuration, Program, read_env_file
from .streams import Streams
from .through import is_machine_code, launched_through


async def start(
    adapter: Adapter, wanted: Configuration, streams: Streams, configure: Callable[[Session], Awaitable[None]]
) -> None:
    """Start the program; ``configure`` is awaited before its first line runs, and the call returns when it runs.

    Raises DualdbgError when it cannot be started; nothing is left behind then.
    """

    try:
        logs = adapter.offer.log_dir if adapter.took_program else of_launch(adapter.offer.log_dir)
        what, options, operators = await in_thread(prepare, wanted, logs)
    except BaseException:
        streams.close()
        raise

    lets_run = adapter.took_program
    children = adapter.followed(wanted)
    group = None
    what = streams.launch(what)
    options = replace(options, terminal=streams.terminal)
    if children is not None:
        group = Group(wanted.follow, options, operators, children.joined, children.configure)
        try:
            await children.open()
            what, options = await group.listen(what), group.options
        except BaseException:
            streams.close()
            raise
    adapter.children = children

    async def stop_in_main(session: Session) -> None:
        await configure(session)
        (row,) = await session.breakpoints.add("main", temporary=True)
        adapter.pump.entry = row.id

    def subscribe(session: Session) -> None:
        if group is not None:
            group.lead(session)
            session.at_end.append(group.close)
        adapter.debuggee.name = _title(what)
        adapter.begin(session)
        adapter.pump.drain_output = streams.drain
        session.interrupt_pauses = False  # Ctrl-C goes to the program, as without a debugger
        session.keeps_target = lets_run
        streams.begun()

    try:
        session = await launch(
            what,
            options,
            operators,
            subscribe=subscribe,
            # A program of machine code has no first line of Python.
            configure=stop_in_main if wanted.stop_on_entry and what.native is not None else configure,
            start_target=streams.start_target,
        )
    except BaseException:
        if group is not None:
            await group.close()
        if children is not None:
            await children.close(kill=True)
        adapter.forget()
        streams.close()
        raise

    async def end() -> None:
        try:
            if group is not None and children is not None:
                await group.close()
                await children.close(kill=session.state is not State.DETACHED)
            await session.close()
            await adapter.caught_up()
        finally:
            if lets_run and session.state is State.DETACHED:
                adapter.offer.running = session.target  # with the terminal, while it lives
            else:
                streams.close()

    adapter.end_session = end
    if session.exit is not None and not adapter.configured.is_set():
        await adapter.caught_up()
        raise TargetError("the program has ended before it was let run")


async def start_attached(
    adapter: Adapter, wanted: Configuration, configure: Callable[[Session], Awaitable[None]]
) -> None:
    """Attach to the process of a configuration, which runs on; with ``stopOnEntry`` it stays stopped.

    Where Python control may come as soon as the process runs, it does so while ``configure`` is awaited: breakpoints in
    Python are answered by debugpy then. Else gdb holds it until then. Raises DualdbgError when it cannot be attached
    to; it runs on then.
    """
    pid = wanted.process_id
    assert pid is not None
    operators = await in_thread(operators_of, pid)
    lowering = await _lowering(adapter, pid) if wanted.fix_ptrace else None
    runs_on = False

    def subscribe(session: Session) -> None:
        adapter.debuggee.name = _name_of(pid)
        session.interrupt_pauses = False  # Ctrl-C in its terminal is the program's
        adapter.begin(session)
        adapter.pump.first_stop_is_ours = not wanted.stop_on_entry

    async def configure_in_python(session: Session, control: PythonControl) -> None:
        nonlocal runs_on
        # What the configuration has asked for may stop it as soon as it runs, which a client is to hear in its order.
        if control.worth_waiting and not wanted.stop_on_entry and not wanted.breakpoints:
            adapter.pump.first_stop_is_ours = False
            runs_on = True
            await _go_on(adapter, session)
            await first_of(control.settled.wait(), session.ended.wait(), seconds=control.worth_waiting)
        await configure(session)

    try:
        session = await attach(
            pid,
            session_options(wanted, adapter.offer.log_dir),
            operators,
            subscribe=subscribe,
            configure=configure_in_python,
            lowering=lowering,
        )
    except BaseException as error:
        adapter.forget()
        if isinstance(error, ScopeRefused):
            raise PermissionRefused(error.message, _fix(error.scope)) from error
        raise

    async def end() -> None:
        await session.close()
        await adapter.caught_up()

    adapter.end_session = end
    if not (wanted.stop_on_entry or runs_on) and session.state is State.NATIVE_STOPPED:
        await _go_on(adapter, session)


async def _go_on(adapter: Adapter, session: Session) -> None:
    """Let the process run, of which the client was not told that it was stopped."""
    adapter.pump.implied.add(session.epoch + 1)
    await session.resume()


async def _lowering(adapter: Adapter, pid: int) -> Lowering | None:
    """What lets us trace the process, where Yama's ptrace_scope forbids it. We have no terminal for questions."""
    refusal = await in_thread(in_the_way, [pid])
    if refusal is None:
        return None
    adapter.connection.output("console", f"dualdbg: {announcement(refusal.scope, 'gdb has attached')}\n")
    return await in_thread(Lowering, False)


def _fix(scope: int) -> str:
    return (
        f"in a terminal: {command_to_set(0)}, then attach, then {command_to_set(scope)}. Or, where sudo asks for no "
        'password, "fixPtrace": true in the configuration'
    )


async def start_plain(adapter: Adapter, wanted: Configuration, streams: Streams) -> None:
    """Run the program without a debugger in it (``noDebug``); its end is told when it comes."""
    try:
        what, _, _ = await in_thread(prepare, wanted, None)
        what = streams.launch(what)
        target = await streams.start_target(what, None, terminal=streams.terminal)
    except BaseException:
        streams.close()
        raise

    async def end() -> None:
        if adapter.plain is not None:  # else it was let go of
            target.kill()
            await target.wait()
            await target.cleared()
            adapter.plain = None
        streams.close()

    async def watch() -> None:
        exit = await target.wait()
        streams.drain()
        adapter.exited(exit)

    adapter.end_session = end
    adapter.plain = target
    streams.begun()
    if what.native is not None:
        await in_thread(target.let_go)
    adapter.debuggee.name = _title(what)
    adapter.pump.process_began(target.pid)
    adapter.background(watch())


def prepare(wanted: Configuration, log_dir: LogFolder | None) -> tuple[Launch, Options, OperatorTable | None]:
    """Everything that is known before the start. Raises UsageError for what cannot be run."""
    program = wanted.program
    if program is None:
        raise UsageError("launch: nothing to run is given", "give program, module or code")
    script = _script(program, wanted.cwd)
    if script is not None and is_machine_code(script):
        return _prepare_native(wanted, program, script, log_dir)
    what = Launch(
        python=interpreter.find(program.python or interpreter.default_python(os.environ.get)),
        script=script,
        module=program.module,
        code=program.code,
        args=program.args,
        cwd=_folder(wanted, program),
        env=environment(wanted),
        flags=program.flags,
    )
    options = session_options(wanted, log_dir)
    variables = {name: value for name, value in {**os.environ, **what.env}.items() if value is not None}
    facts = interpreter.inspect(what.python, variables, what.cwd, cache_directory(), what.flags)
    if not wanted.no_debug:
        facts.require_way_in()
    what = launched_through(wanted, replace(what, is_wrapped=facts.is_wrapped), variables)
    return what, options, OperatorTable.load(Path(facts.torch)) if facts.torch else None


def _prepare_native(
    wanted: Configuration, program: Program, path: str, log_dir: LogFolder | None
) -> tuple[Launch, Options, OperatorTable | None]:
    """A program of machine code, as cppdbg starts it: it may have Python in it.

    Which Python that would be is not known, unless the user has named an interpreter.
    """
    if not os.access(path, os.X_OK):
        raise UsageError(f"launch: {path} may not be executed", f"chmod +x {path}")
    if wanted.sudo:
        raise UsageError(
            "launch: sudo is for Python programs", "start dualdbg (or the editor) itself with sudo"
        )
    what = Launch(
        python=interpreter.find(program.python) if program.python is not None else "",
        native=path,
        args=program.args,
        cwd=_folder(wanted, program),
        env=environment(wanted),
    )
    return what, replace(session_options(wanted, log_dir), stop_on_entry=False), None


def session_options(wanted: Configuration, log_dir: LogFolder | None) -> Options:
    """The options of the session, from ``launch.json`` and from the configuration of the folder. Raises UsageError."""
    folder = here() / wanted.cwd if wanted.cwd else working_directory()
    named = str(folder / expanded(wanted.config)) if wanted.config else None
    asked = Asked(
        breakpoints=wanted.breakpoints,
        symbols=wanted.symbols,
        just_my_code=wanted.just_my_code,
        stop_on_entry=wanted.stop_on_entry,
        gdb=wanted.gdb,
        log_dir=Path(wanted.log_dir) if wanted.log_dir else log_dir,
        gdb_commands=wanted.gdb_commands,
        gdb_arguments=wanted.gdb_arguments,
        debugpy=wanted.debugpy,
    )
    return configured.session_options(configuration(named, folder), asked)


def _title(what: Launch) -> str:
    return what.native or what.script or (f"-m {what.module}" if what.module else "-c")


def _name_of(pid: int) -> str:
    """The command line of a process, for people; its number where it cannot be read."""
    try:
        words = decoded(Path(f"/proc/{pid}/cmdline").read_bytes()).split("\0")
    except OSError:
        words = []
    return " ".join(words).strip() or f"process {pid}"


def environment(wanted: Configuration) -> dict[str, str | None]:
    """Variables for the program's environment; None removes one. Raises UsageError for an unreadable envFile."""
    added: dict[str, str | None] = {}
    if folder := os.environ.get(DEBUGPY_LOG_DIR):
        # A terminal has an environment of its own, and the program a folder.
        added[DEBUGPY_LOG_DIR] = str(here() / folder)
    if wanted.env_file:
        try:
            text = Path(wanted.env_file).read_text(encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            raise UsageError(f"launch: envFile {wanted.env_file}: {error.strerror}") from error
        added.update(read_env_file(text, os.environ.get))
    return {**added, **wanted.env}


def _script(program: Program, cwd: str | None) -> str | None:
    if program.script is None:
        return None
    path = here() / (cwd or "") / expanded(program.script)
    if not path.exists():
        raise UsageError(f"launch: there is no file {path}", "program names the Python file to run")
    return str(path)


def _folder(wanted: Configuration, program: Program) -> str | None:
    """The working directory by debugpy's rule: the folder that is asked for, else the script's folder."""
    if wanted.cwd:
        if not Path(wanted.cwd).is_dir():
            raise UsageError(f"launch: there is no folder {wanted.cwd}", "cwd is where the program is to run")
        return wanted.cwd
    if program.script is not None and "/" in program.script:
        return str((here() / expanded(program.script)).parent)
    return None
