"""The session of ``dualdbg run``: what is launched, with which engines, on which terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..console.output_pipes import OutputPipes
from ..session.configured import session_options
from ..session.start import launch
from ..symbols.cache import cache_directory
from ..system.in_thread import in_thread
from ..target import interpreter
from ..target.launcher import Launch
from ..target.terminal import Terminal, group_of
from . import main as entry
from .commands.run import RunOptions
from .dashboard import check_terminal, converse_in_dashboard
from .front_end import Interaction, Subscribe, converse
from .sinks import sink

if TYPE_CHECKING:  # what is here is imported when the program and gdb have been started
    from ..console.completion import Names
    from ..session.inferiors import Process
    from ..session.session import Session
    from ..symbols.torch.operators import OperatorTable


async def debug(options: RunOptions) -> int:
    """Run the program of ``options`` under a session; returns the exit status of dualdbg.

    Raises DualdbgError when the session cannot be started; nothing is left behind then.
    """
    facts = _interpreter(options)
    operators = _operators(facts)
    show = sink(options.json)
    pipes = OutputPipes(show) if options.json else None
    terminal = Terminal.open() if sys.stdin.isatty() else None

    async def start(subscribe: Subscribe) -> Session:
        leader = 0

        def lend(session: Session) -> None:
            if terminal is not None:
                session.before_resume.append(lambda: terminal.give(leader))
                session.after_stop.append(terminal.take)

        def subscribed(one: Session | Process) -> None:
            from ..session.session import Session

            nonlocal leader
            session = one if isinstance(one, Session) else one.session
            leader = leader or group_of(session.pid)
            lend(session)
            subscribe(one)

        what, chosen = (
            _what(options, pipes, facts),
            replace(session_options(options.config, options.asked), terminal=terminal),
        )
        if options.follow is None:
            session = await launch(what, chosen, operators, entry.STARTED, subscribed)
        else:
            from ..session.inferiors import launch_group

            session = await launch_group(options.follow, what, chosen, operators, entry.STARTED, subscribed)
        if pipes is not None:
            pipes.close_write_ends()
        return session

    interaction = Interaction(options.commands, options.batch, options.json, options.must_end)
    try:
        return await converse(
            start, interaction, show, pipes.drain if pipes is not None else lambda: None, _names_of(operators)
        )
    finally:
        if pipes is not None:
            pipes.close()
        if terminal is not None:
            terminal.close()


async def debug_in_dashboard(options: RunOptions) -> int:
    """The same in the dashboard; there the program gets its own terminal. Raises DualdbgError in the same cases."""
    check_terminal()
    from ..tui.app import Wishes
    from ..tui.terminal.pty import ENVIRONMENT, ProgramTerminal

    terminal = ProgramTerminal()
    operators: OperatorTable | None = None

    async def start(subscribe: Subscribe) -> Session:
        nonlocal operators
        facts = await in_thread(_interpreter, options)
        operators = await in_thread(_operators, facts)
        slave = terminal.slave
        what = replace(
            _what(options, None, facts),
            env={**ENVIRONMENT, **dict(options.env)},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            own_terminal=True,
        )
        chosen = session_options(options.config, options.asked)
        if options.follow is None:
            return await launch(what, chosen, operators, entry.STARTED, subscribe)
        from ..session.inferiors import launch_group

        return await launch_group(options.follow, what, chosen, operators, entry.STARTED, subscribe)

    wishes = Wishes(options.commands, lambda text: _names_of(operators)(text))
    return await converse_in_dashboard(start, terminal, wishes, options.must_end)


def _names_of(operators: OperatorTable | None) -> Names:
    """Completion of operator names; the table is read when it is first needed."""

    def names(text: str) -> Iterable[str]:
        return (name for name in (operators.names if operators else ()) if name.startswith(text))

    return names


def _what(options: RunOptions, pipes: OutputPipes | None, facts: interpreter.Interpreter | None) -> Launch:
    program = options.program
    streams = pipes.write_ends if pipes is not None else {}
    return Launch(
        python=options.python,
        script=None if options.native else program.script,
        native=program.script if options.native else None,
        module=program.module,
        code=program.code,
        args=program.args,
        cwd=options.cwd,
        env=dict(options.env),
        stdout=streams.get("stdout", "inherit"),
        stderr=streams.get("stderr", "inherit"),
        is_wrapped=facts is not None and facts.is_wrapped and not options.native,
    )


def _interpreter(options: RunOptions) -> interpreter.Interpreter | None:
    """What the interpreter says of itself. Raises UsageError for no Python, and for one that could not be debugged.

    Of a native program it is not known, unless the user has named one.
    """
    if not options.python:
        return None
    environment = {**os.environ, **dict(options.env)}
    facts = interpreter.inspect(options.python, environment, options.cwd, cache_directory())
    if not options.native:
        facts.require_way_in()
    return facts


def _operators(facts: interpreter.Interpreter | None) -> OperatorTable | None:
    """The operators of the PyTorch that the program would import."""
    if facts is None or not facts.torch:
        return None
    from ..symbols.torch.operators import OperatorTable

    return OperatorTable.load(Path(facts.torch))
