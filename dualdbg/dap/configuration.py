"""Pure: what a launch or attach request asks for, from its arguments; every mistake in them is a UsageError."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from ..errors import UsageError
from ..known.generated_code import COMPILED_DEBUG
from ..model import GdbCommand
from ..session.inferiors import EVERY_PYTHON
from . import cppdbg
from .client.arguments import Arguments
from .client.paths import Mapping as PathMapping
from .options import BY_NAME, FOR_DEBUGPY, OF_EDITORS, UNSUPPORTED

# What an editor's session tells debugpy for itself: a condition that raises does not stop, as with debugpy.
CONDITIONS = {"dualdbgConditions": "may fail"}

# In "env", for configurations of debugpy, whose attributes have no breakpoints by name; the program does not get it.
BREAK = "DUALDBG_BREAK"
_INTERPRETER_NAMES = ("python", "pypy")


@dataclass(frozen=True)
class Program:
    """What to run: exactly one of the first three; ``python`` None means the usual interpreter.

    ``shell_arguments`` is ``args`` as one text, where the configuration has it so: a terminal's shell may expand it.
    """

    script: str | None = None
    module: str | None = None
    code: str | None = None
    args: tuple[str, ...] = ()
    python: str | None = None
    flags: tuple[str, ...] = ()
    shell_arguments: str | None = None


@dataclass(frozen=True)
class Configuration:
    """A debug configuration. ``notes`` are things to tell the user: options that mean nothing here.

    ``just_my_code`` None leaves it to the configuration of the folder, or to the file that ``config`` names.
    ``follow`` says which children are debugged too, in the words of ``dualdbg run --follow``; empty: no children.
    ``follow_by_default``: the user has not said whether to follow. ``child`` is the token of a child of another
    client's program, ``connect`` the address of the adapter that has it. ``type`` is the configuration's type, as the
    editor names it. ``launcher_python`` is the interpreter that is to start that of the program. ``redirect_output``
    None leaves it to the console.
    """

    program: Program | None = None
    launcher_python: str | None = None
    sudo: bool = False
    cwd: str | None = None
    env: Mapping[str, str | None] = field(default_factory=dict)
    env_file: str | None = None
    console: str = "internalConsole"
    title: str = "dualdbg"
    redirect_output: bool | None = None
    templates: bool = False
    stop_on_entry: bool = False
    just_my_code: bool | None = None
    breakpoints: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    config: str | None = None
    gdb: str | None = None
    gdb_commands: tuple[GdbCommand, ...] = ()
    gdb_arguments: tuple[str, ...] = ()
    log_dir: str | None = None
    mappings: tuple[PathMapping, ...] = ()
    follow: str = ""
    follow_by_default: bool = False
    interrupt_first: bool = False
    no_debug: bool = False
    debugpy: Mapping[str, Any] = field(default_factory=dict)
    process_id: int | None = None
    fix_ptrace: bool = False
    core: str | None = None
    type: str = ""
    connect: tuple[str, int] | None = None
    child: str | None = None
    notes: tuple[str, ...] = ()


def read_configuration(arguments: Arguments) -> Configuration:
    """The configuration in the arguments of a request. Raises UsageError for values that have no meaning."""
    _check_names(arguments)
    if arguments.text("MIMode", "gdb") != "gdb":
        raise UsageError(
            f"{arguments.where}: MIMode is {arguments.text('MIMode')!r}, but dualdbg works with gdb",
            "take MIMode out, and install gdb (apt-get install gdb) where there is none",
        )
    flags = set(arguments.texts("debugOptions"))
    console = arguments.text("console", "internalConsole")
    if console not in ("internalConsole", "integratedTerminal", "externalTerminal"):
        raise UsageError(
            f"{arguments.where}: console is {console!r}",
            "internalConsole, integratedTerminal or externalTerminal",
        )
    console = "externalTerminal" if arguments.flag("externalConsole") else console
    if arguments.text("reprs", "read") not in ("read", "run"):
        raise UsageError(f"{arguments.where}: reprs is {arguments.text('reprs')!r}", "read or run")
    stop_on_entry = arguments.flag("stopOnEntry", "StopOnEntry" in flags)
    environment = _environment(arguments)
    by_name = environment.pop(BREAK, None)
    return Configuration(
        program=_program(arguments),
        launcher_python=arguments.text("debugLauncherPython", None) or None,
        sudo=arguments.flag("sudo"),
        cwd=arguments.text("cwd", None),
        env=environment,
        env_file=arguments.text("envFile", None),
        console=console,
        title=arguments.text("consoleTitle", "dualdbg"),
        redirect_output=_redirect_output(arguments, flags),
        templates=any(arguments.flag(name) for name in ("django", "jinja", "flask", "pyramid")),
        stop_on_entry=stop_on_entry or arguments.flag("stopAtEntry") or arguments.flag("stopAtConnect"),
        just_my_code=_just_my_code(arguments, flags),
        config=arguments.text("config", None),
        breakpoints=(*arguments.texts("breakpoints"), *([by_name] if by_name else [])),
        symbols=(*cppdbg.symbols(arguments), *arguments.texts("symbols")),
        gdb=arguments.text("gdb", None) or arguments.text("miDebuggerPath", None),
        gdb_commands=cppdbg.gdb_commands(arguments),
        gdb_arguments=cppdbg.gdb_arguments(arguments),
        log_dir=arguments.text("logDir", None),
        mappings=_mappings(arguments),
        follow=_followed(arguments),
        follow_by_default="subProcess" not in arguments and "followChildren" not in arguments,
        interrupt_first=arguments.text("onTerminate", "kill") == "KeyboardInterrupt",
        no_debug=arguments.flag("noDebug"),
        debugpy=_for_debugpy(arguments, flags, console),
        process_id=_process_id(arguments),
        fix_ptrace=arguments.flag("fixPtrace"),
        core=arguments.text("core", None) or arguments.text("coreDumpPath", None) or None,
        type=str(arguments.values.get("type") or ""),
        connect=_address(arguments.object("connect")),
        child=arguments.text("childToken", None),
        notes=_notes(arguments),
    )


def _just_my_code(arguments: Arguments, flags: set[str]) -> bool | None:
    if "justMyCode" in arguments:
        return arguments.flag("justMyCode")
    return False if "DebugStdLib" in flags else None


def _redirect_output(arguments: Arguments, flags: set[str]) -> bool | None:
    if "redirectOutput" in arguments:
        return arguments.flag("redirectOutput")
    return True if "RedirectOutput" in flags else None


def _for_debugpy(arguments: Arguments, flags: set[str], console: str) -> dict[str, Any]:
    arguments.objects("rules")  # a list of objects, or refused
    told = {name: arguments.values[name] for name in FOR_DEBUGPY if name in arguments}
    if arguments.flag("pyramid"):
        told["jinja"] = True  # the templates of the two are the same for debugpy
    if flags:
        told["debugOptions"] = sorted(flags - {"RedirectOutput"})
    # Of a program that we start, the streams themselves are copied: what native code writes comes too. Where its
    # streams are not the client's, the client is sent what an expression in the console prints.
    starts, redirected = arguments.where == "launch", bool(_redirect_output(arguments, flags))
    told["redirectOutput"] = redirected and not starts
    told["isOutputRedirected"] = starts and (redirected or console == "internalConsole")
    told.update(CONDITIONS)
    return told


def _check_names(arguments: Arguments) -> None:
    for name, instead in UNSUPPORTED.items():
        if arguments.values.get(name):
            raise UsageError(f"{arguments.where}: {name} is not supported", instead)


def _notes(arguments: Arguments) -> tuple[str, ...]:
    notes = []
    for name in arguments.values:
        if name in BY_NAME or name in OF_EDITORS or name in UNSUPPORTED or name.startswith("_"):
            continue
        near = difflib.get_close_matches(name, BY_NAME, 1)
        notes.append(f"the option {name!r} is not known{f'; did you mean {near[0]!r}?' if near else ''}")
    if not all(map(_is_whole, arguments.objects("pathMappings"))):
        notes.append("a row of pathMappings without localRoot or remoteRoot has no effect")
    return (*notes, *cppdbg.notes(arguments))


def _program(arguments: Arguments) -> Program | None:
    args = _words(arguments, "args")
    as_text = arguments.values.get("args")
    shell = as_text if isinstance(as_text, str) else None
    python, flags = _interpreter(arguments)
    given = [name for name in ("program", "module", "code") if arguments.values.get(name)]
    if not given:
        return None
    if len(given) > 1:
        raise UsageError(f"{arguments.where}: {' and '.join(given)} are given", "give one of them")
    if given == ["module"]:
        return Program(
            module=arguments.text("module"), args=args, shell_arguments=shell, python=python, flags=flags
        )
    if given == ["code"]:
        code = "\n".join(_lines(arguments, "code"))
        return Program(code=code, args=args, shell_arguments=shell, python=python, flags=flags)
    program = arguments.text("program")
    if python is None and PurePath(program).name.startswith(_INTERPRETER_NAMES) and args:
        return _as_typed(program, args)
    return Program(script=program, args=args, shell_arguments=shell, python=python, flags=flags)


def _as_typed(python: str, words: tuple[str, ...]) -> Program:
    """A program given as for cppdbg, where ``program`` is a Python interpreter and ``args`` its command line."""
    flags: list[str] = []
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] not in ("-m", "-c"):
        flags.append(rest.pop(0))
        if flags[-1] in ("-X", "-W") and rest:
            flags.append(rest.pop(0))
    if not rest or (rest[0] in ("-m", "-c") and len(rest) < 2):
        raise UsageError(
            "launch: args of the interpreter name nothing to run", "give a script, -m MODULE or -c CODE"
        )
    chosen = {"-m": "module", "-c": "code"}.get(rest[0])
    if chosen is None:
        return Program(script=rest[0], args=tuple(rest[1:]), python=python, flags=tuple(flags))
    return Program(**{chosen: rest[1]}, args=tuple(rest[2:]), python=python, flags=tuple(flags))


def _interpreter(arguments: Arguments) -> tuple[str | None, tuple[str, ...]]:
    words = _lines(arguments, "python") or _lines(arguments, "pythonPath")
    flags = [*words[1:], *arguments.texts("pythonArgs")]
    return (words[0] if words else None), tuple(flags)


def _lines(arguments: Arguments, name: str) -> list[str]:
    """One text or a list of texts."""
    value = arguments.values.get(name)
    if isinstance(value, str):
        return [value] if value else []
    return arguments.texts(name)


def _words(arguments: Arguments, name: str) -> tuple[str, ...]:
    """A list of words, or one text that is split as a shell splits it."""
    value = arguments.values.get(name)
    if isinstance(value, str):
        try:
            return tuple(shlex.split(value))
        except ValueError as error:
            raise UsageError(f"{arguments.where}: {name} cannot be split into words: {error}") from None
    return tuple(arguments.texts(name))


def _environment(arguments: Arguments) -> dict[str, str | None]:
    environment: dict[str, str | None] = dict(COMPILED_DEBUG) if arguments.flag("compiledDebug") else {}
    for row in arguments.objects("environment"):
        environment[row.text("name")] = row.text("value", "")
    for name, value in arguments.object("env").values.items():
        if value is not None and not isinstance(value, (str, int, float)):
            raise UsageError(f"{arguments.where}.env: {name} is not a text")
        environment[name] = None if value is None else str(value)
    if arguments.flag("gevent"):
        environment["GEVENT_SUPPORT"] = "True"
    return environment


def _is_whole(row: Arguments) -> bool:
    """Whether a row of pathMappings maps anything. One with a part is not an error, as with debugpy."""
    return "localRoot" in row and "remoteRoot" in row


def _mappings(arguments: Arguments) -> tuple[PathMapping, ...]:
    mappings = [
        PathMapping(row.text("localRoot"), row.text("remoteRoot"))
        for row in arguments.objects("pathMappings")
        if _is_whole(row)
    ]
    for compiled, local in arguments.object("sourceFileMap").values.items():
        row = Arguments(
            f"{arguments.where}.sourceFileMap.{compiled}", local if isinstance(local, dict) else {}
        )
        target = row.values.get("editorPath") if isinstance(local, dict) else local
        if not isinstance(target, str):
            raise UsageError(
                f"{arguments.where}.sourceFileMap: {compiled} is not mapped to a path",
                '"FOLDER": "FOLDER", or "FOLDER": {"editorPath": "FOLDER", "useForBreakpoints": true}',
            )
        both = row.flag("useForBreakpoints", True)
        mappings.append(PathMapping(target, compiled, of_compiler=True, only_to_client=not both))
    return tuple(mapping for mapping in mappings if mapping.local and mapping.remote)


def _followed(arguments: Arguments) -> str:
    """debugpy's default: every Python process."""
    value = arguments.values.get("followChildren")
    if value is None:
        value = arguments.flag("subProcess", True)
    if not isinstance(value, (bool, str)):
        raise UsageError(f"{arguments.where}: followChildren is neither true or false nor a pattern")
    return EVERY_PYTHON if value is True else value or ""


def _address(connect: Arguments) -> tuple[str, int] | None:
    port = connect.values.get("port")
    if isinstance(port, bool) or not isinstance(port, int) or not 0 < port < 1 << 16:
        return None  # the editor itself connects there
    return connect.text("host", "127.0.0.1"), port


def _process_id(arguments: Arguments) -> int | None:
    value = arguments.values.get("processId")
    if value is None or value == "":
        return None
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 31:
        raise UsageError(f"{arguments.where}: processId is {str(value)[:40]!r}, which is no process id")
    return value


def read_env_file(text: str, lookup: Callable[[str], str | None]) -> dict[str, str]:
    """The variables of an ``envFile``: NAME=VALUE lines, quotes, comments, ``${NAME}`` of earlier ones and ours."""
    found: dict[str, str] = {}
    for raw in text.splitlines():
        line = raw.strip().removeprefix("export ").strip()
        name, equals, value = line.partition("=")
        if not line or line.startswith("#") or not equals or not name.strip():
            continue
        value = value.strip()
        quoted = value[:1] if len(value) > 1 and value[:1] in "'\"" and value.endswith(value[:1]) else ""
        if quoted:
            value = value[1:-1]
        elif " #" in value:
            value = value[: value.index(" #")].rstrip()
        if quoted != "'":
            value = _expanded(value, lambda name: found.get(name) or lookup(name))
        found[name.strip()] = value
    return found


def _expanded(text: str, lookup: Callable[[str], str | None]) -> str:
    parts = text.split("${")
    result = parts[0]
    for part in parts[1:]:
        name, closed, rest = part.partition("}")
        result += (lookup(name) or "") + rest if closed else "${" + part
    return result
