"""``run`` and ``attach``: how sessions begin, on programs, processes and cores."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ...config import Asked
from ...errors import UsageError
from ...folders import expanded, here
from ...in_thread import in_thread
from ...session.attaching import attach
from ...session.post_mortem import open_core
from ...session.session import Session
from ...session.start import launch
from ...symbols.cache import cache_directory
from ...symbols.torch.loaded_operators import operators_of
from ...symbols.torch.operators import OperatorTable
from ...target import interpreter
from ...target.launcher import Launch
from ..answers import Reply, Situation
from ..debuggee import Debuggee, Subscribe
from ..permissions import NotPermitted
from ..registry import Arguments, tool
from ..sessions import Sessions
from ..situation import situation
from .fields import Seconds, Texts

_SPECS = (
    "where to stop: an operator (randn), a function, FILE:LINE, throw, raise:ValueError, watch:EXPRESSION"
)

_Variable = Annotated[str, Field(pattern="^[^=]+$")]


class RunArguments(Arguments):
    program: Annotated[
        str, Field(max_length=4000, description="a Python script, or with native an executable")
    ] = ""
    module: Annotated[str, Field(max_length=400, description="as python -m")] = ""
    code: Annotated[str, Field(max_length=20_000, description="as python -c")] = ""
    native: Annotated[bool, Field(description="program is an executable, with or without Python in it")] = (
        False
    )
    args: Texts = []
    cwd: Annotated[str | None, Field(max_length=4000)] = None
    env: Annotated[dict[_Variable, str], Field(description="added to the server's environment")] = {}
    python: Annotated[str | None, Field(max_length=4000, description="the interpreter")] = None
    breakpoints: Annotated[Texts, Field(description=_SPECS)] = []
    stop_on_entry: Annotated[bool, Field(description="stop before the first line")] = False
    all_code: Annotated[bool, Field(description="stop in the Python code of libraries too")] = False
    seconds: Seconds = 30.0


@tool("run", "Run a program under the debugger", RunArguments, Situation)
async def run(sessions: Sessions, arguments: RunArguments) -> Reply:
    """Start a Python program (or native executable) with both debuggers in it, and wait for its first stop, its end
    or a time. A crash (SIGSEGV, abort) is a stop too. Its standard input is empty; what it writes is read with output.
    It ends with its session."""
    _check(sessions, arguments)
    what, operators = await in_thread(_prepare, arguments)
    asked = Asked(
        breakpoints=tuple(arguments.breakpoints),
        just_my_code=False if arguments.all_code else None,
        stop_on_entry=arguments.stop_on_entry,
    )
    id = sessions.new_id()
    options = sessions.options(id, asked)

    async def start(debuggee: Debuggee, subscribe: Subscribe) -> Session:
        null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        try:
            pipes = debuggee.open_pipes()
            with_streams = replace(what, stdin=null, stdout=pipes["stdout"], stderr=pipes["stderr"])
            return await launch(with_streams, options, operators, subscribe=subscribe)
        finally:
            os.close(null)

    title = " ".join(Path(word).name if at == 0 else word for at, word in enumerate(what.command()[:3]))
    debuggee = await sessions.begin(id, title[:100], start, "its program was ended")
    return await _first(sessions, debuggee, arguments.seconds)


async def _first(sessions: Sessions, debuggee: Debuggee, seconds: float) -> Reply:
    """The first answer of a session. A start that fails, or that the client gives up, leaves none."""
    try:
        async with sessions.using(debuggee.id):
            stands = await debuggee.wait(seconds)
            return await situation(debuggee, None if stands else seconds)
    except BaseException:
        await sessions.end(debuggee.id, "it could not be started")
        raise


def _check(sessions: Sessions, arguments: RunArguments) -> None:
    """Raises UsageError for what has no meaning, NotPermitted for what this server does not do."""
    given = [name for name in ("program", "module", "code") if getattr(arguments, name)]
    if len(given) != 1:
        raise UsageError(
            f"run wants one of program, module and code, and was given {', '.join(given) or 'none'}",
            'for example run(program="train.py", args=["--epochs", "1"])',
        )
    if arguments.native and (not arguments.program or arguments.stop_on_entry):
        raise UsageError(
            "native goes with program, and has no first line", 'breakpoints=["main"] stops there'
        )
    cwd = _folder(arguments.cwd)
    if not (os.access(cwd, os.F_OK) and cwd.is_dir()):  # is_dir alone raises for a name that is too long
        raise UsageError(f"there is no folder {cwd}", "cwd wants an existing one")
    permissions = sessions.permissions
    if permissions.programs is not None:
        for name in ("module", "code", "env", "python"):
            if getattr(arguments, name):
                permissions.check_unlisted(name)
        program = Path(_executable(arguments.program, str(cwd)) if arguments.native else arguments.program)
        permissions.check_program(
            cwd / expanded(str(program)), cwd if arguments.cwd else permissions.programs[0]
        )
    script = "" if arguments.native else arguments.program
    if script and not os.access(cwd / expanded(script), os.F_OK):
        raise UsageError(f"there is no script {arguments.program} in {cwd}", "give its path, or cwd")
    permissions.check_specs(arguments.breakpoints)


def _folder(cwd: str | None) -> Path:
    return here() / expanded(cwd or "")


def _prepare(arguments: RunArguments) -> tuple[Launch, OperatorTable | None]:
    """What is run, and the operators of its PyTorch. Raises UsageError where it cannot be; takes a moment."""
    cwd = str(_folder(arguments.cwd))
    python = arguments.python or ("" if arguments.native else interpreter.default_python(os.environ.get))
    facts = None
    if python:
        python = interpreter.find(python)
        facts = interpreter.inspect(python, {**os.environ, **arguments.env}, cwd, cache_directory())
        if not arguments.native:
            facts.require_way_in()
    what = Launch(
        python=python,
        script=None if arguments.native else arguments.program or None,
        native=_executable(arguments.program, cwd) if arguments.native else None,
        module=arguments.module or None,
        code=arguments.code or None,
        args=tuple(arguments.args),
        cwd=cwd,
        env=dict(arguments.env),
        is_wrapped=facts is not None and facts.is_wrapped and not arguments.native,
    )
    return what, OperatorTable.load(Path(facts.torch)) if facts is not None and facts.torch else None


def _executable(name: str, cwd: str) -> str:
    found = shutil.which(name if "/" not in name else str(Path(cwd) / expanded(name)))
    if found is None:
        raise UsageError(
            f"{name} cannot be run: there is no such program, or it may not be executed", "give its path"
        )
    return found


class AttachArguments(Arguments):
    pid: Annotated[int | None, Field(ge=1, description="a running process")] = None
    core: Annotated[str | None, Field(max_length=4000, description="a core file: nothing of it runs")] = None
    exe: Annotated[
        str | None, Field(max_length=4000, description="the core's program, where it has moved")
    ] = None
    breakpoints: Annotated[Texts, Field(description=_SPECS)] = []
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
        debuggee = await sessions.begin(
            id, title, lambda _, subscribe: open_it(subscribe=subscribe), "the core file was closed"
        )
        return await _first(sessions, debuggee, arguments.seconds)
    assert arguments.pid is not None
    if sessions.permissions.read_only:
        raise NotPermitted(
            "this server only looks: no process is attached to",
            f"stacks(pid={arguments.pid}), diagnose(pid={arguments.pid}), or attach(core=…)",
        )
    sessions.permissions.check_specs(arguments.breakpoints)
    call = Asked(breakpoints=tuple(arguments.breakpoints), just_my_code=False if arguments.all_code else None)
    id = sessions.new_id()
    options = sessions.options(id, call)
    operators = await in_thread(operators_of, arguments.pid)
    begin = partial(attach, arguments.pid, options, operators)
    debuggee = await sessions.begin(
        id,
        f"process {arguments.pid}",
        lambda _, subscribe: begin(subscribe=subscribe),
        f"process {arguments.pid} goes on",
    )
    return await _first(sessions, debuggee, arguments.seconds)
