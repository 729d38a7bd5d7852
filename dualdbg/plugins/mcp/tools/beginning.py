"""``run`` and ``attach``: how sessions begin, on programs, processes and cores."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ....config import Asked
from ....errors import SpecError, UsageError
from ....session.attaching import attach
from ....session.post_mortem import open_core
from ....session.session import Session
from ....session.start import launch
from ....symbols.torch.loaded_operators import operators_of
from ....system.in_thread import in_thread
from ....target.descent import descends_from
from ..answers import Reply, Situation
from ..debuggee import Debuggee, Start, Subscribe
from ..permissions import NotPermitted
from ..registry import Arguments, tool
from ..sessions import Sessions
from ..situation import situation
from .fields import Seconds, Texts
from .programs import (
    ProgramArguments,
    check_program,
    check_specs,
    launched,
    not_begun,
    prepare,
    title_of,
)

_SPECS = "an operator (randn), a function, FILE:LINE, throw, raise:ValueError, watch:EXPRESSION"


class RunArguments(ProgramArguments):
    breakpoints: Annotated[Texts, Field(description=_SPECS)] = []
    stop_on_entry: Annotated[bool, Field(description="stop before the first line")] = False
    all_code: Annotated[bool, Field(description="stop in the Python code of libraries too")] = False
    seconds: Seconds = 30.0


@tool("run", "Run a program under the debugger", RunArguments, Situation)
async def run(sessions: Sessions, arguments: RunArguments) -> Reply:
    """Start a Python program (or native executable) with both debuggers in it, and wait for its first stop, its end
    or a time. A crash (SIGSEGV, abort) is a stop too. Its standard input is empty; what it writes is read with output.
    It ends with its session."""
    check_program(sessions, arguments, "run")
    if arguments.native and arguments.stop_on_entry:
        raise UsageError("native has no first line", 'breakpoints=["main"] stops there')
    sessions.permissions.check_specs(arguments.breakpoints)
    what, operators = await in_thread(partial(prepare, arguments, with_python=True))
    asked = Asked(
        breakpoints=tuple(arguments.breakpoints),
        just_my_code=False if arguments.all_code else None,
        stop_on_entry=arguments.stop_on_entry,
    )
    id = sessions.new_id()
    options = sessions.options(id, asked)
    check_specs(arguments.breakpoints, operators, options.presets, "breakpoints")

    async def start(debuggee: Debuggee, subscribe: Subscribe) -> Session:
        return await launched(
            debuggee, what, lambda program: launch(program, options, operators, subscribe=subscribe)
        )

    return await _begun(sessions, id, title_of(what), start, "its program was ended", arguments.seconds)


async def _begun(
    sessions: Sessions, id: str, title: str, start: Start, afterwards: str, seconds: float
) -> Reply:
    """The first answer of a session. A start that fails, or that the client gives up, leaves none."""
    try:
        debuggee = await sessions.begin(id, title, start, afterwards)
        return await _first(sessions, debuggee, seconds)
    except SpecError as error:
        raise not_begun("one of the breakpoints", error) from error


async def _first(sessions: Sessions, debuggee: Debuggee, seconds: float) -> Reply:
    try:
        async with sessions.using(debuggee.id):
            stands = await debuggee.wait(seconds)
            return await situation(debuggee, None if stands else seconds)
    except BaseException:
        await sessions.end(debuggee.id, "it could not be started")
        raise


class AttachArguments(Arguments):
    pid: Annotated[int | None, Field(ge=1, description="a running process")] = None
    core: Annotated[str | None, Field(max_length=4000, description="a core file: nothing of it runs")] = None
    exe: Annotated[
        str | None, Field(max_length=4000, description="the core's program, where it has moved")
    ] = None
    breakpoints: Annotated[Texts, Field(description="as run has them")] = []
    all_code: Annotated[bool, Field(description="stop in the Python code of libraries too")] = False
    seconds: Seconds = 60.0


@tool("attach", "Debug a running process, or a core file", AttachArguments, Situation, looks=True)
async def attach_(sessions: Sessions, arguments: AttachArguments) -> Reply:
    """Attach to a running process, which stands until continue_until lets it go on, or open a core file. A process
    goes on when its session ends. To look at a process without stopping it for long: stacks and diagnose."""
    if (arguments.pid is None) == (arguments.core is None):
        raise UsageError("attach wants pid or core, one of them", "for example attach(pid=4711)")
    if arguments.core is not None:
        id = sessions.new_id()
        options = replace(sessions.options(id, Asked()), breakpoints=())
        title = f"core {Path(arguments.core).name}"
        open_it = partial(open_core, arguments.core, options, arguments.exe)
        return await _begun(
            sessions,
            id,
            title,
            lambda _, subscribe: open_it(subscribe=subscribe),
            "the core file was closed",
            arguments.seconds,
        )
    assert arguments.pid is not None
    if sessions.permissions.read_only:
        raise NotPermitted(
            "this server only looks: no process is attached to",
            f"stacks(pid={arguments.pid}), diagnose(pid={arguments.pid}), or attach(core=…)",
        )
    if descends_from(os.getpid(), {arguments.pid}):
        raise NotPermitted(
            f"process {arguments.pid} is this server, or started it: it would stand still with what asks here",
            f"stacks(pid={arguments.pid})",
        )
    own = sessions.of_process(arguments.pid)
    if own is not None:
        raise UsageError(
            f"process {arguments.pid} is debugged in session {own} already",
            f"go on with session={own!r}, for example stack(session={own!r}); or end(session={own!r}) first",
        )
    sessions.permissions.check_specs(arguments.breakpoints)
    call = Asked(breakpoints=tuple(arguments.breakpoints), just_my_code=False if arguments.all_code else None)
    id = sessions.new_id()
    options = sessions.options(id, call)
    operators = await in_thread(operators_of, arguments.pid)
    check_specs(arguments.breakpoints, operators, options.presets, "breakpoints")
    begin = partial(attach, arguments.pid, options, operators)
    return await _begun(
        sessions,
        id,
        f"process {arguments.pid}",
        lambda _, subscribe: begin(subscribe=subscribe),
        f"process {arguments.pid} goes on",
        arguments.seconds,
    )
