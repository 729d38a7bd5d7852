"""One launched session from its start to its exit status: the target's output, the commands, the way out."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from ..console.console import Console, Quit
from ..console.printer import Highlighter
from ..console.reports import Report
from ..session.session import Session
from ..session.start import Options, launch
from ..symbols.cache import cache_directory
from ..symbols.operators import OperatorTable
from ..target import interpreter
from ..target.launcher import Launch
from ..target.terminal import Terminal
from . import main as entry
from .commands.run import RunOptions, exit_status, interrupted_status
from .output_pipes import OutputPipes

_TROUBLE_STATUS = 3


async def debug(options: RunOptions) -> int:
    """Run the program of ``options`` under a session; returns the exit status of dualdbg.

    Raises DualdbgError when the session cannot be started; nothing is left behind then.
    """
    operators = _operators(options)
    show = _json_sink() if options.json else _people_sink()
    pipes = OutputPipes(show) if options.json else None
    terminal = Terminal.open() if sys.stdin.isatty() else None
    console: Console | None = None
    session: Session | None = None

    def subscribe(new: Session) -> None:
        nonlocal console, session
        session = new
        console = Console(new, show, pipes.drain if pipes is not None else lambda: None)
        if terminal is not None:
            new.before_resume.append(lambda: terminal.give(new.pid))
            new.after_stop.append(terminal.take)

    try:
        _preload(options)
        await launch(
            _what(options, pipes), _session_options(options, terminal), operators, entry.STARTED, subscribe
        )
        assert console is not None
        if pipes is not None:
            pipes.close_write_ends()
        return await _Signals().guard(_drive(console, options, operators), console)
    finally:
        if terminal is not None:
            terminal.take()
        if console is not None:
            console.leaving = not options.json
        if session is not None:
            await session.close()
        if console is not None:
            await console.flush()
            await console.close()
        if pipes is not None:
            pipes.close()
        if terminal is not None:
            terminal.close()


async def _drive(console: Console, options: RunOptions, operators: OperatorTable | None) -> int:
    """Everything that commands do, until the session is over or nobody has more to say."""
    from .script import run_commands, run_lines, show_every_stop

    try:
        if options.batch and not options.commands:
            await show_every_stop(console)
        else:
            await run_commands(console, options.commands)
            if not options.batch and not console.ended:
                if _has_prompt(options):
                    from .prompt import Prompt, beginning_with

                    await Prompt(console, beginning_with(operators)).run()
                else:
                    await run_lines(console, sys.stdin.fileno())
    except Quit:
        pass
    await console.flush()
    if console.failed and not _has_prompt(options):
        return _TROUBLE_STATUS
    if console.exit is not None:
        return exit_status(console.exit.code, console.exit.signal)
    return 0


def _what(options: RunOptions, pipes: OutputPipes | None) -> Launch:
    program = options.program
    streams = pipes.write_ends if pipes is not None else {}
    return Launch(
        python=options.python,
        script=program.script,
        module=program.module,
        code=program.code,
        args=program.args,
        cwd=options.cwd,
        env=dict(options.env),
        stdout=streams.get("stdout", "inherit"),
        stderr=streams.get("stderr", "inherit"),
    )


def _has_prompt(options: RunOptions) -> bool:
    return not options.batch and not options.json and sys.stdin.isatty() and sys.stdout.isatty()


def _preload(options: RunOptions) -> None:
    """Import what the first stop needs while the target starts."""
    if _has_prompt(options):
        asyncio.get_running_loop().run_in_executor(None, importlib.import_module, f"{__package__}.prompt")


def _session_options(options: RunOptions, terminal: Terminal | None) -> Options:
    return Options(
        gdb=options.gdb,
        log_dir=options.log_dir,
        just_my_code=options.just_my_code,
        stop_on_entry=options.stop_on_entry,
        breakpoints=options.breakpoints,
        terminal=terminal,
    )


def _operators(options: RunOptions) -> OperatorTable | None:
    """The operators of the PyTorch that the program would import. Raises UsageError for what is no Python."""
    environment = {**os.environ, **dict(options.env)}
    facts = interpreter.inspect(options.python, environment, options.cwd, cache_directory())
    return OperatorTable.load(Path(facts.torch)) if facts.torch else None


def _json_sink() -> Callable[[Report], None]:
    from . import json_lines

    def show(report: Report) -> None:
        sys.stdout.write(json_lines.line(report))
        sys.stdout.flush()

    return show


def _people_sink() -> Callable[[Report], None]:
    import linecache

    from ..console.printer import Printer
    from ..console.style import Style

    printer = Printer(
        Style.of(sys.stdout), read_line=lambda file, line: linecache.getline(file, line) or None
    )

    def show(report: Report) -> None:
        text = printer.render(report)
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()

    return show


def _highlighter() -> Highlighter:
    from ..console.highlight import highlight

    return highlight


class _Signals:
    """What signals to dualdbg itself mean while it drives a session without a prompt."""

    def __init__(self) -> None:
        self._received: int | None = None

    async def guard(self, work: asyncio.Future[int] | object, console: Console) -> int:
        """Run ``work``; SIGINT pauses the target, a second one and SIGTERM and SIGHUP end the session."""
        loop = asyncio.get_running_loop()
        task: asyncio.Task[int] = loop.create_task(work)  # type: ignore[arg-type]

        def end(number: int) -> None:
            self._received = number
            task.cancel()

        def interrupt() -> None:
            if console.session.state.value == "running" and self._pausing != console.session.epoch:
                self._pausing = console.session.epoch
                console.session.background(console.session.pause())
            else:
                end(signal.SIGINT)

        loop.add_signal_handler(signal.SIGINT, interrupt)
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, end, number)
        try:
            return await task
        except asyncio.CancelledError:
            if self._received is None:
                raise
            return interrupted_status(self._received)
        finally:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(number)

    _pausing: int | None = None
