"""``dualdbg vscode``: the files of a project, and the extension."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

from ...errors import UsageError
from ...folders import here
from ...target.interpreter import default_python
from ...terminal_text import visible
from ..arguments import Parser
from ..main import tell

_LIKE = "by the look of the folder"
_WHY = {"pytorch-user": "nothing here says another"}  # the profile where no file decides
_DIFFERS_STATUS = 1  # of --check, as other tools have it
_PORT = 5678  # debugpy's own

_USAGE = """dualdbg vscode init [DIR] [OPTIONS]
       dualdbg vscode install [--code PATH]
       dualdbg vscode start-for-two [OPTIONS] SCRIPT [ARGS…]"""


def main(words: list[str]) -> int:
    commands = {"init": _init, "install": _install, "start-for-two": _start_for_two}
    if not words or words[0] in ("-h", "--help"):
        print(f"usage: {_USAGE}\n\n{_DESCRIPTION}")
        return 0 if words else UsageError.exit_status
    if words[0] not in commands:
        raise UsageError(f"vscode: there is no {words[0]!r}", f"one of {', '.join(commands)}")
    return commands[words[0]](words[1:])


_DESCRIPTION = """init            write .vscode/launch.json and the files that belong to it
install         install the extension of dualdbg into VS Code
start-for-two   start a program that waits for debugpy and cppdbg (what the profile two-debuggers runs)

dualdbg vscode init --help   the options"""


def _init(words: list[str]) -> int:
    from ...vscode.folder import compare, write
    from ...vscode.profiles import (
        PROFILES,
        Values,
        generate,
        guess,
        include_path,
        interpreter_of,
        own_command,
    )

    profiles = "\n".join(f"  {name:<15} {profile.description}" for name, profile in PROFILES.items())
    parser = Parser(
        prog="dualdbg vscode init",
        usage="dualdbg vscode init [DIR] [OPTIONS]",
        description="Writes launch.json, tasks.json, settings.json and c_cpp_properties.json into DIR/.vscode. What is "
        "there already stays as it is, comments too: only what is missing is added.",
        epilog="profiles:\n" + profiles,
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    add = parser.add_argument
    add("folder", nargs="?", default=".", metavar="DIR", help="the project (default: here)")
    add("--profile", choices=PROFILES, help="what the project is (default: what it looks like)")
    add("--check", action="store_true", help="write nothing; say what differs (status 1 when something does)")
    add("--port", type=int, default=_PORT, help=f"the first of two ports for sessions (default: {_PORT})")
    add("--python", metavar="PATH", help="the interpreter whose headers C++ code includes")
    add("--dualdbg", metavar="CMD", help="how tasks start dualdbg (default: this one)")
    given = parser.parse_args(words)
    folder = here() / given.folder
    if not folder.is_dir():
        raise UsageError(f"vscode: there is no folder {folder}", "the folder that you open in VS Code")
    if not 0 < given.port < 65535:
        raise UsageError(f"vscode: {given.port} is no port", "--port takes a number from 1 to 65534")
    profile = given.profile or guess(folder)
    python, refused = (
        (given.python, "") if given.python else interpreter_of(folder, default_python(os.environ.get))
    )
    if refused:
        tell(refused, "if you trust it, name it: --python PATH")
    values = Values(
        dualdbg=given.dualdbg or own_command(folder),
        port=given.port,
        gdb=shutil.which("gdb") or "gdb",
        include_path=include_path(folder, python),
    )
    files = compare(folder, generate(profile, values))
    if not given.check:
        write(files)
    how = "" if given.profile else f" ({_WHY.get(profile, _LIKE)}; --profile chooses another)"
    _say(f"profile {profile}: {PROFILES[profile].description}{how}")
    differing = False
    for file in files:
        name = file.path.relative_to(folder)
        differing = differing or file.changes or bool(file.merged.kept)
        if file.is_new:
            _say(f"{name}: {'is missing' if given.check else 'written'}")
            continue
        if not file.merged.differences:
            _say(f"{name}: {'as it is to be' if given.check else 'nothing to add'}")
        for one in file.merged.added:
            _say(f"{name}: {one}" if given.check else f"{name}: added {one.path}")
        for one in file.merged.kept:
            _say(f"{name}: {one}" if given.check else f"{name}: kept yours where it differs: {one}")
    return _DIFFERS_STATUS if given.check and differing else 0


def _say(text: str) -> None:
    print(visible(text))


def _install(words: list[str]) -> int:
    from ...vscode.extension import install

    parser = Parser(
        prog="dualdbg vscode install",
        description="Packs the extension that belongs to this dualdbg, and has VS Code install it.",
    )
    parser.add_argument(
        "--code", metavar="PATH", help="VS Code's command (default: code, or one of its relatives)"
    )
    given = parser.parse_args(words)
    command = install(given.code)
    print(f"installed with {command}; reload the windows that are open")
    return 0


def _start_for_two(words: list[str]) -> NoReturn:
    from ...vscode.two_debuggers import start

    parser = Parser(
        prog="dualdbg vscode start-for-two",
        usage="dualdbg vscode start-for-two [OPTIONS] SCRIPT [ARGS…]",
        description="Starts a program that waits for debugpy's client on a port and for gdb, and writes its process "
        "id into VS Code's settings.",
    )
    add = parser.add_argument
    add("--port", type=int, default=_PORT, help=f"where it waits for the editor (default: {_PORT})")
    add("--settings", metavar="FILE", default=".vscode/settings.json", help="gets dualdbg.pid")
    add("--python", metavar="PATH", help="the interpreter")
    add("script", metavar="SCRIPT")
    add("args", nargs="...", metavar="ARGS")
    given = parser.parse_args(words)
    sys.stdout.flush()
    python = given.python or default_python(os.environ.get)
    start(python, given.port, Path(given.settings), given.script, tuple(given.args))
