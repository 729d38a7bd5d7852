"""The options of launch and attach, one table: for the adapter, for what the extension declares, and for the docs.

Names of debugpy (github.com/microsoft/debugpy, "Debug configuration settings") and of cppdbg
(code.visualstudio.com/docs/cpp/launch-json-reference) are taken where they mean the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

LAUNCH, ATTACH, CORE = "launch", "attach", "core"


@dataclass(frozen=True)
class Option:
    """One option. ``schema`` is its JSON schema, without the description; ``of`` says where its name comes from."""

    name: str
    schema: dict[str, Any]
    description: str
    requests: tuple[str, ...] = (LAUNCH, ATTACH)
    of: str = "dualdbg"
    hidden: bool = False  # understood, but not offered: an old or foreign spelling of another option
    default: Any = field(default=None)


_TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_ONE_OR_MORE = {"type": ["string", "array"], "items": {"type": "string"}}
_OBJECT = {"type": "object"}

# Options of cppdbg that are accepted, and why they change nothing here. What a user would miss is told (cppdbg.py).
WITHOUT_EFFECT = {
    "avoidWindowsConsoleRedirection": "It is about Windows.",
    "launchCompleteCommand": "The program always runs when it is configured.",
    "showDisplayString": "It is about natvis.",
    "visualizerFile": "natvis is not read: gdb's pretty printers show values.",
    "unknownBreakpointHandling": "Breakpoints that were set in gdb itself always stop.",
    "hardwareBreakpoints": "Breakpoints in code are set in memory.",
    "debuginfod": "gdb downloads nothing.",
    "variables": "Only cppdbg's extension replaces them.",
    "svdPath": "It is about other machines.",
    "useExtendedRemote": "gdb is on this machine.",
    "postRemoteConnectCommands": "gdb is on this machine.",
    "debugServerArgs": "gdb is on this machine.",
    "serverStarted": "gdb is on this machine.",
    "filterStdout": "gdb is on this machine.",
    "filterStderr": "gdb is on this machine.",
    "serverLaunchTimeout": "gdb is on this machine.",
}

OPTIONS = (
    # what to run
    Option(
        "program",
        _TEXT,
        "The Python file to run, or a program of machine code, which may have Python in it.",
        (LAUNCH, CORE),
        "debugpy",
        default="${file}",
    ),
    Option(
        "module", _TEXT, "The module to run instead of a file, as with `python -m`.", (LAUNCH,), "debugpy"
    ),
    Option(
        "code", _ONE_OR_MORE, "The code to run instead of a file, as with `python -c`.", (LAUNCH,), "debugpy"
    ),
    Option("args", _ONE_OR_MORE, "The program's own arguments.", (LAUNCH,), "debugpy", default=[]),
    Option(
        "python",
        _ONE_OR_MORE,
        "The interpreter, with options of its own where it needs some. Nothing has to be installed in it.",
        (LAUNCH,),
        "debugpy",
    ),
    Option("pythonPath", _TEXT, "The interpreter (old name of `python`).", (LAUNCH,), "debugpy", hidden=True),
    Option("pythonArgs", _TEXTS, "More options of the interpreter.", (LAUNCH,), "debugpy"),
    Option(
        "debugLauncherPython",
        _TEXT,
        "The interpreter that starts that of the program, where it is a wrapper (`python` by default): what it puts "
        "into the environment, the program has too.",
        (LAUNCH,),
        "debugpy",
    ),
    Option(
        "sudo",
        _FLAG,
        "Start the program by `sudo -E`. dualdbg has to be root's already: nobody else can debug a program of root.",
        (LAUNCH,),
        "debugpy",
    ),
    Option(
        "cwd",
        _TEXT,
        "The folder in which the program runs.",
        (LAUNCH,),
        "debugpy",
        default="${workspaceFolder}",
    ),
    Option(
        "env",
        {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
        "Variables of the program's environment; null takes one out.",
        (LAUNCH,),
        "debugpy",
        default={},
    ),
    Option("envFile", _TEXT, "A file with NAME=VALUE lines for the environment.", (LAUNCH,), "debugpy"),
    Option(
        "environment",
        {"type": "array", "items": {"type": "object"}},
        "The environment as cppdbg words it: objects with `name` and `value`.",
        (LAUNCH,),
        "cppdbg",
        hidden=True,
    ),
    Option(
        "console",
        {"type": "string", "enum": ["internalConsole", "integratedTerminal", "externalTerminal"]},
        "Where the program runs: its output in the debug console, or a terminal of its own.",
        (LAUNCH,),
        "debugpy",
        default="integratedTerminal",
    ),
    Option("consoleTitle", _TEXT, "The title of the terminal.", (LAUNCH,), "debugpy"),
    Option("externalConsole", _FLAG, "Run in an external terminal.", (LAUNCH,), "cppdbg", hidden=True),
    # what to attach to
    Option(
        "processId",
        {"type": ["integer", "string"]},
        "The process to attach to.",
        (ATTACH,),
        "debugpy",
        default="${command:pickProcess}",
    ),
    Option(
        "fixPtrace",
        _FLAG,
        "Where Yama's ptrace_scope forbids to attach: set it to 0 with sudo until gdb has attached, and then back. "
        "sudo must not ask for a password (`sudo -n`).",
        (ATTACH,),
    ),
    Option(
        "connect",
        {
            "type": "object",
            "properties": {"host": {"type": "string"}, "port": {"type": "integer"}},
        },
        "Where `dualdbg dap --listen` waits. VS Code itself connects there; the adapter only takes note of it.",
        (ATTACH,),
        "debugpy",
    ),
    Option("host", _TEXT, "The host of `connect` (old name).", (ATTACH,), "debugpy", hidden=True),
    Option(
        "port", {"type": "integer"}, "The port of `connect` (old name).", (ATTACH,), "debugpy", hidden=True
    ),
    Option(
        "secret",
        _TEXT,
        "The first line of the file of `dualdbg dap --listen PORT --secret-file FILE`, where it was started so.",
    ),
    Option("core", _TEXT, "The core file to look at.", (CORE, ATTACH)),
    Option("coreDumpPath", _TEXT, "The core file to look at.", (LAUNCH, CORE), "cppdbg", hidden=True),
    # what to stop at
    Option(
        "stopOnEntry",
        _FLAG,
        "Stop before the first line of the program.",
        (LAUNCH,),
        "debugpy",
        default=False,
    ),
    Option("stopAtEntry", _FLAG, "Stop before the first line.", (LAUNCH,), "cppdbg", hidden=True),
    Option(
        "breakpoints",
        _TEXTS,
        "Breakpoint specs to begin with: `randn` (an operator), `at::native::mm`, `file.cpp:12`, `throw`, ...",
        default=[],
    ),
    Option(
        "justMyCode",
        _FLAG,
        "Stop and step only in Python code of the user's own.",
        of="debugpy",
        default=True,
    ),
    # how
    Option(
        "symbols",
        _TEXTS,
        "What gdb reads of the libraries: `full`, `lazy`, or PATTERN=whole, unwind or skip.",
    ),
    Option(
        "config",
        _TEXT,
        "The configuration file, instead of the nearest `dualdbg.toml` of yours from `cwd` upwards.",
        (LAUNCH, ATTACH, CORE),
    ),
    Option("gdb", _TEXT, "The gdb to use."),
    Option("miDebuggerPath", _TEXT, "The gdb to use.", of="cppdbg", hidden=True),
    Option(
        "compiledDebug",
        _FLAG,
        "torch.compile keeps debug info of its kernels, and from which lines each comes.",
        (LAUNCH,),
    ),
    Option("logDir", _TEXT, "A folder for every message of the engines and of the editor, with times."),
    Option(
        "setupCommands",
        {"type": "array", "items": {"type": "object"}},
        "Commands of gdb's own or of MI, run before the program: objects with `text`, and `description` and "
        "`ignoreFailures` where wanted.",
        of="cppdbg",
    ),
    Option(
        "miDebuggerArgs",
        _TEXT,
        "Further words of gdb's command line: `-x FILE`, `-ex COMMAND`.",
        of="cppdbg",
        hidden=True,
    ),
    Option(
        "additionalSOLibSearchPath",
        _TEXT,
        "Folders with libraries that have moved, for gdb (`set solib-search-path`).",
        of="cppdbg",
        hidden=True,
    ),
    Option(
        "symbolLoadInfo",
        _OBJECT,
        "What gdb reads of the libraries, in cppdbg's words: see `symbols`.",
        of="cppdbg",
        hidden=True,
    ),
    Option(
        "pathMappings",
        {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"localRoot": {"type": "string"}, "remoteRoot": {"type": "string"}},
                "required": ["localRoot", "remoteRoot"],
            },
        },
        "Folders of the editor (`localRoot`) and what they are called where the program runs (`remoteRoot`).",
        of="debugpy",
        default=[],
    ),
    Option(
        "sourceFileMap",
        _OBJECT,
        "Folders as the debug information names them, and where the source is now.",
        of="cppdbg",
    ),
    Option(
        "subProcess",
        _FLAG,
        "Debug the Python processes that the program starts, each in a session of its own.",
        of="debugpy",
        default=True,
    ),
    Option(
        "followChildren",
        {"type": ["boolean", "string"]},
        "The same; or a pattern: those alone that have it in their command line, or in the name of their work.",
    ),
    Option("childToken", _TEXT, "The child process that the session is for.", (ATTACH,), hidden=True),
    Option(
        "onTerminate",
        {"type": "string", "enum": ["kill", "KeyboardInterrupt"]},
        "What `Stop` does to the program first.",
        of="debugpy",
    ),
    # handed on to debugpy as they are
    Option(
        "showReturnValue", _FLAG, "Show what functions returned when stepping.", of="debugpy", default=True
    ),
    Option("django", _FLAG, "Debug Django templates.", of="debugpy"),
    Option("jinja", _FLAG, "Debug Jinja templates.", of="debugpy"),
    Option("flask", _FLAG, "Debug Flask applications.", of="debugpy", hidden=True),
    Option("pyramid", _FLAG, "Debug Pyramid applications.", of="debugpy", hidden=True),
    Option("gevent", _FLAG, "Debug code that gevent has patched.", of="debugpy"),
    Option("guiEventLoop", _TEXT, "The GUI event loop to run while stopped.", of="debugpy"),
    Option(
        "rules",
        {"type": "array", "items": {"type": "object"}},
        "Which Python files to debug. Frames of those left out are not in the stacks of Python stops.",
        of="debugpy",
    ),
    Option("variablePresentation", _OBJECT, "How groups of Python variables are shown.", of="debugpy"),
    Option(
        "reprs",
        {"type": "string", "enum": ["read", "run"]},
        "How Python values are shown: `read` without running code of the program; `run` by its `__repr__` and "
        "properties, as debugpy does.",
        default="read",
    ),
    Option(
        "steppingResumesAllThreads",
        _FLAG,
        "Whether a step at a Python stop lets the other threads run too.",
        of="debugpy",
        default=True,
    ),
    Option("autoReload", _OBJECT, "Reload changed Python files.", of="debugpy"),
    Option("maxExceptionStackFrames", {"type": "integer"}, "Frames of an exception's stack.", of="debugpy"),
    Option("debugOptions", _TEXTS, "Options of debugpy as flags.", of="debugpy", hidden=True),
    Option("clientOS", _TEXT, "The editor's operating system.", of="debugpy", hidden=True),
    Option(
        "redirectOutput",
        _FLAG,
        "Output that goes to a terminal is shown in the debug console too; with false, what goes to the debug console "
        "is not shown. Of a process that was attached to: what its Python code prints.",
        of="debugpy",
    ),
    Option(
        "breakOnSystemExit",
        {
            "type": "array",
            "items": {
                "anyOf": [
                    {"type": ["integer", "null"]},
                    {
                        "type": "object",
                        "properties": {"from": {"type": "integer"}, "to": {"type": "integer"}},
                    },
                ]
            },
        },
        "Codes with which `SystemExit` is an uncaught exception: numbers, null for none, ranges by `from` and `to`.",
        of="debugpy",
    ),
    Option(
        "breakOnSystemExitZero",
        _FLAG,
        "`SystemExit` with the code 0 or none counts as an uncaught exception too.",
        of="debugpy",
    ),
    # accepted, and without meaning here
    Option("MIMode", {"type": "string", "enum": ["gdb"]}, "gdb it is.", of="cppdbg", hidden=True),
    Option("stopAtConnect", _FLAG, "See `stopOnEntry`.", of="cppdbg", hidden=True),
    *(Option(name, {}, why, of="cppdbg", hidden=True) for name, why in WITHOUT_EFFECT.items()),
    Option("logging", _OBJECT, "See `logDir`.", of="cppdbg", hidden=True),
    Option("targetArchitecture", _TEXT, "The process tells.", of="cppdbg", hidden=True),
    Option("logToFile", _FLAG, "See `logDir`.", of="debugpy", hidden=True),
    Option("noDebug", _FLAG, "Run without debugging.", (LAUNCH,), "the protocol", hidden=True),
)

BY_NAME = {option.name: option for option in OPTIONS}

# What debugpy itself is to be told.
FOR_DEBUGPY = (
    "showReturnValue",
    "django",
    "jinja",
    "flask",
    "guiEventLoop",
    "rules",
    "variablePresentation",
    "reprs",
    "steppingResumesAllThreads",
    "autoReload",
    "maxExceptionStackFrames",
    "breakOnSystemExit",
    "breakOnSystemExitZero",
    "debugOptions",
    "clientOS",
)

# What editors add to every configuration.
OF_EDITORS = frozenset(
    {
        "name",
        "type",
        "request",
        "debugServer",
        "preLaunchTask",
        "postDebugTask",
        "presentation",
        "internalConsoleOptions",
        "suppressMultipleSessionWarning",
        "linux",
        "osx",
        "windows",
        "workspaceFolder",
        "purpose",
        "processName",
        "restart",
        "timeout",
        "cwd",
        "adapterID",
        "serverReadyAction",
        "autoStartBrowser",
        "debugAdapterPython",
        "debugAdapterPath",
        "isOutputRedirected",
    }
)

UNSUPPORTED = {
    "customLaunchSetupCommands": "dualdbg starts the program itself; setupCommands are run before it",
    "debugServerPath": "run dualdbg dap --listen on the other machine, and connect to it",
    "deploySteps": "copy the files in a preLaunchTask",
    "listen": "let dualdbg wait instead: dualdbg dap --listen PORT SCRIPT",
    "pipeTransport": "run dualdbg dap --listen on the other machine, and connect to it",
    "miDebuggerServerAddress": "run dualdbg dap --listen on the other machine, and connect to it",
}


def of_request(request: str) -> Iterator[Option]:
    """The options that an editor is to offer for ``launch`` or ``attach``."""
    return (option for option in OPTIONS if request in option.requests and not option.hidden)
