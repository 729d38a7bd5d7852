"""Pure: options of cppdbg that say in other words what dualdbg does, or what it does not do.

Names and meanings: code.visualstudio.com/docs/cpp/launch-json-reference; Extension/tools/OptionsSchema.json of
github.com/microsoft/vscode-cpptools.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from ..errors import UsageError
from ..model import GdbCommand
from .client.arguments import Arguments

_CHATTY = ("engineLogging", "trace", "traceResponse")


def gdb_commands(arguments: Arguments) -> tuple[GdbCommand, ...]:
    """What gdb is to do before the program runs: ``setupCommands``, and where libraries are that have moved."""
    commands = []
    folders = arguments.text("additionalSOLibSearchPath", "").replace(";", ":").strip(":")
    if folders:
        commands.append(GdbCommand(f"set solib-search-path {folders}"))
    for row in arguments.objects("setupCommands"):
        text = row.text("text", "").strip()
        if text:
            commands.append(GdbCommand(text, row.flag("ignoreFailures"), row.text("description", "")))
    return tuple(commands)


def gdb_arguments(arguments: Arguments) -> tuple[str, ...]:
    """``miDebuggerArgs`` as words. Raises UsageError where a shell could not split it."""
    text = arguments.text("miDebuggerArgs", "")
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(
            f"{arguments.where}: miDebuggerArgs cannot be split into words: {error}", "close the quotes"
        ) from None


def symbols(arguments: Arguments) -> tuple[str, ...]:
    """``symbolLoadInfo`` as a symbol policy.

    What gdb is not to load of a library is its debug information: names and stacks cost little, and are always there.
    """
    information = arguments.object("symbolLoadInfo")
    names = [name.strip() for name in information.text("exceptionList", "").split(";") if name.strip()]
    if information.flag("loadAll", True):
        return tuple(f"{name}=unwind" for name in names)
    return ("lazy", *(f"{name}=whole" for name in names))


def notes(arguments: Arguments) -> Iterator[str]:
    """What a user of cppdbg would miss, where the configuration asks for it: a sentence for each."""
    if arguments.values.get("visualizerFile"):
        yield (
            "visualizerFile is not read: values are shown by gdb's pretty printers. A printer of yours is loaded by "
            '"setupCommands": [{"text": "source /path/to/printers.py"}]'
        )
    logging = arguments.object("logging").values
    if any(logging.get(name) not in (None, False, "none") for name in _CHATTY):
        yield 'logging is not written to this console: "logDir": "FOLDER" keeps every message of gdb and of the editor'
    if arguments.object("hardwareBreakpoints").flag("require"):
        yield "hardwareBreakpoints: breakpoints in code are set in memory; `gdb hbreak PLACE` sets one in the processor"
    if arguments.object("debuginfod").flag("enabled"):
        yield (
            "debuginfod: gdb downloads nothing, which might take minutes; debuginfod-find debuginfo FILE beforehand, "
            "and name the folder with set debug-file-directory in setupCommands"
        )
    if arguments.values.get("variables"):
        yield "variables: ${NAME} is replaced by cppdbg only; write the values themselves"
