"""The program that a tool starts: the arguments that name it, whether it may be run, and how."""

from __future__ import annotations

import os
import shutil
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ....errors import SpecError, UsageError
from ....known.generated_code import COMPILED_DEBUG
from ....model import BreakpointKind
from ....session.session import Session
from ....symbols.cache import cache_directory
from ....symbols.locspec.breakpoint_spec import parse_spec
from ....symbols.locspec.presets import Preset, expand
from ....symbols.torch.operators import OperatorTable
from ....system.folders import expanded, here
from ....target import interpreter
from ....target.launcher import Launch
from ..debuggee import Debuggee
from ..registry import Arguments
from ..sessions import Sessions
from .fields import Texts

_Variable = Annotated[str, Field(pattern="^[^=]+$")]


class ProgramArguments(Arguments):
    """What is run, and how."""

    program: Annotated[
        str, Field(max_length=4000, description="a Python script, or with native an executable")
    ] = ""
    module: Annotated[str, Field(max_length=400, description="as python -m")] = ""
    code: Annotated[str, Field(max_length=20_000, description="as python -c")] = ""
    compiled_debug: Annotated[
        bool,
        Field(description="torch.compile keeps debug info"),
    ] = False
    native: Annotated[bool, Field(description="program is an executable")] = False
    args: Texts = []
    cwd: Annotated[str | None, Field(max_length=4000)] = None
    env: Annotated[dict[_Variable, str], Field(description="added to the server's")] = {}
    python: Annotated[str | None, Field(max_length=4000, description="the interpreter")] = None


async def launched(
    debuggee: Debuggee, what: Launch, start: Callable[[Launch], Awaitable[Session]]
) -> Session:
    """Start a program whose standard input is empty, and whose output the debuggee keeps."""
    null = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    try:
        pipes = debuggee.open_pipes()
        return await start(replace(what, stdin=null, stdout=pipes["stdout"], stderr=pipes["stderr"]))
    finally:
        os.close(null)


def check_specs(
    texts: Sequence[str], operators: OperatorTable | None, presets: Mapping[str, Preset], field: str
) -> None:
    """Raises UsageError for the first breakpoint that cannot be read, before anything is started or stopped for it."""
    is_operator = operators.is_operator if operators is not None else None
    for at, text in enumerate(texts):
        try:
            spec = parse_spec(text, is_operator)
            if spec.kind is BreakpointKind.PRESET:
                expand(spec.subject, presets)
        except SpecError as error:
            raise not_begun(f"{field}[{at}]", error) from error


def not_begun(which: str, error: SpecError) -> UsageError:
    """The error of a call with a breakpoint that cannot be read or set."""
    hint = f"; {error.hint}" if error.hint else ""
    return UsageError(
        f"no session was begun: {which} cannot be set: {error.message}",
        f"call it again without it, or with a spec as dualdbg://docs/breakpoints.md has them{hint}",
    )


def title_of(what: Launch) -> str:
    """A few words for a program."""
    words = [Path(word).name if at == 0 else word for at, word in enumerate(what.command()[:3])]
    return " ".join(words)[:100]


def check_program(sessions: Sessions, arguments: ProgramArguments, tool: str) -> None:
    """Raises UsageError for what has no meaning, NotPermitted for what this server does not do."""
    given = [name for name in ("program", "module", "code") if getattr(arguments, name)]
    if len(given) != 1:
        raise UsageError(
            f"{tool} wants one of program, module and code, and was given {', '.join(given) or 'none'}",
            f'for example {tool}(program="train.py", args=["--epochs", "1"])',
        )
    if arguments.native and not arguments.program:
        raise UsageError("native goes with program", f'for example {tool}(program="./a.out", native=true)')
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


def _folder(cwd: str | None) -> Path:
    return here() / expanded(cwd or "")


def prepare(arguments: ProgramArguments, *, with_python: bool) -> tuple[Launch, OperatorTable | None]:
    """What is run, and the operators of its PyTorch. ``with_python``: debugpy is to be in the interpreter.

    Raises UsageError where it cannot be; takes a moment.
    """
    cwd = str(_folder(arguments.cwd))
    python = arguments.python or ("" if arguments.native else interpreter.default_python(os.environ.get))
    facts = None
    if python:
        python = interpreter.find(python)
        facts = interpreter.inspect(python, {**os.environ, **arguments.env}, cwd, cache_directory())
        if with_python and not arguments.native:
            facts.require_way_in()
    what = Launch(
        python=python,
        script=None if arguments.native else arguments.program or None,
        native=_executable(arguments.program, cwd) if arguments.native else None,
        module=arguments.module or None,
        code=arguments.code or None,
        args=tuple(arguments.args),
        cwd=cwd,
        env={**(dict(COMPILED_DEBUG) if arguments.compiled_debug else {}), **arguments.env},
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
