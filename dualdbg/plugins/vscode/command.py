"""``dualdbg vscode``: the files of a project, and the extension."""

from __future__ import annotations

import argparse
import os
import shutil

from ...cli.arguments import Parser
from ...cli.main import tell
from ...errors import UsageError
from ...system.folders import here
from ...system.terminal_text import visible
from ...target.interpreter import default_python

SUMMARY = "write launch.json and the other files of a project; install the extension"
_LIKE = "by the look of the folder"
_WHY = {"pytorch-user": "nothing here says another"}  # the profile where no file decides
_DIFFERS_STATUS = 1  # of --check, as other tools have it
_PORT = 5678  # debugpy's own


def main(words: list[str]) -> int:
    parser = make_parser()
    given = parser.parse_args(words)
    if given.action is None:
        parser.print_help()
        return UsageError.exit_status
    return {"init": _init, "install": _install}[given.action](given)


def make_parser() -> Parser:
    """The parser of the command line, with one for each of the actions."""
    from .profiles import PROFILES

    parser = Parser(
        prog="dualdbg vscode",
        description="The files of a project for VS Code, and the extension of dualdbg.",
        epilog="dualdbg vscode ACTION --help shows the options of an action",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", parser_class=Parser)
    profiles = "\n".join(f"  {name:<15} {profile.description}" for name, profile in PROFILES.items())
    init = actions.add_parser(
        "init",
        prog="dualdbg vscode init",
        usage="dualdbg vscode init [DIR] [OPTIONS]",
        help="write .vscode/launch.json and the files that belong to it",
        description="Writes launch.json, tasks.json, settings.json and c_cpp_properties.json into DIR/.vscode. What is "
        "there already stays as it is, comments too: only what is missing is added. "
        "Files that dualdbg 0.2 wrote are replaced if nobody has changed them.",
        epilog="profiles:\n" + profiles,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = init.add_argument
    add("folder", nargs="?", default=".", metavar="DIR", help="the project (default: here)")
    add("--profile", choices=PROFILES, help="what the project is (default: what it looks like)")
    add("--check", action="store_true", help="write nothing; say what differs (status 1 when something does)")
    add(
        "--port",
        type=int,
        default=_PORT,
        help=f"the first of two ports of the profile port (default: {_PORT})",
    )
    add("--python", metavar="PATH", help="the interpreter whose headers C++ code includes")
    add("--dualdbg", metavar="CMD", help="how tasks of the profile port start dualdbg (default: this one)")
    add = actions.add_parser(
        "install",
        prog="dualdbg vscode install",
        help="install the extension of dualdbg into VS Code",
        description="Packs the extension that belongs to this dualdbg, and has VS Code install it.",
    ).add_argument
    add("--code", metavar="PATH", help="VS Code's command (default: code, or one of its relatives)")
    return parser


def _init(given: argparse.Namespace) -> int:
    from .folder import compare, write
    from .profiles import (
        PROFILES,
        Values,
        debug_adapter,
        generate,
        guess,
        include_path,
        interpreter_of,
        is_former,
        missing,
        own_command,
    )

    folder = here() / given.folder
    if not folder.is_dir():
        raise UsageError(f"vscode: there is no folder {folder}", "the folder that you open in VS Code")
    if not 0 < given.port < 65535:
        raise UsageError(f"vscode: {given.port} is no port", "--port takes a number from 1 to 65534")
    profile = given.profile or guess(folder)
    lacking = missing(profile, folder)
    if lacking:
        tell(
            f"{folder} is not {PROFILES[profile].description}: it has no {', no '.join(lacking)}; the tasks of profile "
            f"{profile} will fail here",
            f"dualdbg vscode init --profile {profile} CHECKOUT, or leave --profile away: then it is {guess(folder)}",
        )
    python, refused = (
        (given.python, "") if given.python else interpreter_of(folder, default_python(os.environ.get))
    )
    if refused:
        tell(refused, "if you trust it, name it: --python PATH")
    values = Values(
        dualdbg=given.dualdbg or own_command(folder),
        adapter=debug_adapter(folder),
        port=given.port,
        gdb=shutil.which("gdb") or "gdb",
        include_path=include_path(folder, python),
    )
    files = compare(
        folder, generate(profile, values), lambda name, text: is_former(name, text, profile, values)
    )
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
        if file.is_former:
            done = "replaced" if file.merged.text else "removed"
            _say(f"{name}: {'is' if given.check else done + ', for it was'} as dualdbg 0.2 wrote it")
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


def _install(given: argparse.Namespace) -> int:
    from .extension import install

    command = install(given.code)
    print(f"installed with {command}; reload the windows that are open")
    return 0
