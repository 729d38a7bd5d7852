"""The command line's entry: finds the subcommand, and turns every failure into a message and an exit status."""

from __future__ import annotations

import errno
import gc
import importlib
import os
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, cast

STARTED = time.monotonic()  # before the slow imports: `seconds` of a stop count from here

from .. import __version__  # noqa: E402
from ..errors import DualdbgError  # noqa: E402
from ..shared.python_versions import RANGE  # noqa: E402
from ..system import environment, open_files  # noqa: E402
from . import streams  # noqa: E402
from .kept_code import KeptCode  # noqa: E402

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

# name -> what it does; its module in dualdbg.cli.commands is imported when it is used. Plugins have the other commands.
_COMMANDS = {
    "run": "start a Python program with both debuggers in it",
    "attach": "debug a process that runs already; it goes on when you leave",
    "core": "look at a core file: a process that is no more, with the commands of a stop",
    "trace": "count the calls of functions while the program runs on, and say who calls them",
    "ps": "the Python processes, and what could be done with each",
    "stacks": "where every thread of a running process is, in both languages",
    "ops": "an operator's way from Python to its kernels, with symbols and addresses",
    "resolve": "the native functions behind a Python callable, and how to stop there",
    "libs": "the native libraries of a process or of `import torch`, and what gdb reads of each",
    "dap": "speak the Debug Adapter Protocol with an editor",
    "doctor": "look at gdb, permissions, the interpreter and PyTorch, and try a session",
    "bug-report": "write what a report of a bug should have, with nothing secret in it",
}
_PLUGINS = "dualdbg.commands"  # the group of entry points; pyproject.toml says what a module has to have

_OPTION = re.compile(r"-[A-Za-z]|--[a-z][a-z-]{0,20}")
_USAGE_STATUS = 2
_TROUBLE_STATUS = 3
_INTERRUPTED_STATUS = 130  # what a shell shows for SIGINT
_CLOSED_OUTPUT_STATUS = 141  # and for SIGPIPE
_OBJECTS_TO_COLLECT = 100_000  # more than by default: the imports alone make 60,000 that stay
_CLOSED_OUTPUT = (errno.EPIPE, errno.EIO)  # the reader of a pipe is gone; the terminal is


def main(argv: Sequence[str] | None = None) -> int:
    """Run dualdbg with the arguments ``argv`` (the process's own by default); returns the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    if sys.implementation.name != "cpython":
        tell(
            f"{sys.executable} is {sys.implementation.name}, not CPython, which dualdbg runs in",
            f"install it for CPython 3.10 or later; what it debugs is {RANGE}",
        )
        return _TROUBLE_STATUS
    environment.take_back_coercion()
    streams.prepare()
    open_files.raise_limit()
    gc.set_threshold(_OBJECTS_TO_COLLECT)
    try:
        try:
            return _dispatch(words)
        finally:
            gc.freeze()  # the interpreter's end need not look at all there is
            sys.stdout.flush()  # here, where it can fail; at exit it would be too late to say so
    except DualdbgError as error:
        tell(error.message, error.hint)
        return error.exit_status
    except KeyboardInterrupt:
        return _INTERRUPTED_STATUS
    except Exception as error:
        return _tell_of(error)


def _tell_of(error: Exception) -> int:
    """Say what happened, as far as that is known; returns the exit status."""
    from ..system.shortage import shortage

    if isinstance(error, OSError) and error.errno in _CLOSED_OUTPUT:
        streams.abandon_output()
        return _CLOSED_OUTPUT_STATUS
    if isinstance(error, streams.OutputLost):
        streams.abandon_output()
        known: DualdbgError | None = streams.told(error)
    else:
        known = shortage(error)
    if known is not None:
        tell(known.message, known.hint)
        return known.exit_status
    tell(f"something went wrong that dualdbg did not foresee; the report is in {write_report()}")
    return _TROUBLE_STATUS


def tell(message: str, hint: str = "") -> None:
    """An error, the way every error of dualdbg looks."""
    from ..system.terminal_text import visible_text

    for start, text in (("dualdbg: ", message), ("  ", hint)):
        if text:
            print(start + visible_text(text).replace("\n", "\n  "), file=sys.stderr)


def _dispatch(words: list[str]) -> int:
    first = words[0] if words else "--help"
    if first == "help" and words[1:]:
        return _dispatch([words[1], "--help"])
    if first in ("-h", "--help", "help"):
        print(_help(), end="")
        return 0 if words else _USAGE_STATUS
    if first.startswith("-"):
        from . import general

        return general.main(words)
    module = command_module(first)
    if module is None:
        tell(f"there is no command {first!r}", _nearest(first))
        return _USAGE_STATUS
    kept = KeptCode(first)
    kept.begin()
    try:
        return int(module.main(words[1:]))
    finally:
        kept.end()


def command_module(name: str) -> ModuleType | None:
    """The module of a command: its ``main`` runs it, and its ``make_parser`` makes the parser of its options. None
    where no command has that name."""
    if name in _COMMANDS:
        return importlib.import_module(f"dualdbg.cli.commands.{name.replace('-', '_')}")
    plugin = next(iter(_plugins(name)), None)
    return None if plugin is None else cast(ModuleType, plugin.load())


def summaries() -> dict[str, str]:
    """What each command does by its name: ours, then those of plugins."""
    plugins = {entry.name: str(entry.load().SUMMARY) for entry in _plugins()}
    return {**_COMMANDS, **plugins}


def _plugins(name: str | None = None) -> EntryPoints:
    from importlib.metadata import entry_points

    found = entry_points(group=_PLUGINS)
    return found if name is None else found.select(name=name)


def _help() -> str:
    known = summaries()
    width = max(len(name) for name in known)
    rows = "".join(f"  {name:<{width}}  {what}\n" for name, what in known.items())
    return (
        "usage: dualdbg COMMAND [OPTIONS]\n\n"
        "A debugger for one process with two languages: Python on top, C and C++ below.\n\n"
        f"{rows}\n"
        "  dualdbg COMMAND --help       the options of a command\n"
        "  dualdbg --version [--verbose]\n"
        "  dualdbg --completion SHELL   what bash, zsh or fish needs to complete all this\n\n"
        "for example: dualdbg run train.py --break randn\n"
    )


def _nearest(word: str) -> str:
    import difflib

    if Path(word).suffix == ".py":
        return f"to start a program: dualdbg run {word}"
    names = [*_COMMANDS, *(entry.name for entry in _plugins())]
    near = difflib.get_close_matches(word, names, 1, 0.5)
    return f"did you mean {near[0]}?" if near else f"commands: {', '.join(names)}"


def write_report() -> str:
    """The traceback of what is handled now goes to a file, whose name is returned: in the log folder, the cache, or
    where temporary files go.
    """
    text = f"dualdbg {__version__}, Python {sys.version}\n{_what_was_asked()}\n\n{traceback.format_exc()}"
    for folder in _report_folders():
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # A name that nobody can guess, and a file that only the user may read.
            descriptor, path = tempfile.mkstemp(".txt", "dualdbg-error-", folder)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError:
            continue
        return path
    tell(text)
    return "the text above (no folder could be written to)"


def _what_was_asked() -> str:
    """The command and the names of its options. Their values, and the program's arguments, may be secrets."""
    command = [word for word in sys.argv[1:2] if word in _COMMANDS or _plugins(word)]
    options = [word.partition("=")[0] if word.startswith("--") else word[:2] for word in sys.argv[2:]]
    return " ".join(["dualdbg", *command, *(option for option in options if _OPTION.fullmatch(option))])


def _report_folders() -> list[Path]:
    folders = []
    if "--log-dir" in sys.argv[:-1]:
        folders.append(Path(sys.argv[sys.argv.index("--log-dir") + 1]))
    from ..system.folders import temporary_folder, user_folder

    temporary = temporary_folder()
    return [*folders, user_folder("XDG_CACHE_HOME", ".cache"), *([temporary] if temporary else [])]
