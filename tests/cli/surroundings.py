"""Hostile surroundings for a command: closed and full streams, full and read-only disks, limits, a removed folder.

Each changes only what is around the command. What cannot be made on this machine says why.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support import ROOT, require

Words = Sequence[str]
OTHER_USER = 61_000 + os.getpid() % 4000  # has no process, no home and no name


@dataclass(frozen=True)
class Surrounding:
    """``around(command, folder)`` is the command in it; ``folder`` is the user's. ``other_user``: it is another's."""

    around: Callable[[Words, Path], list[str]]
    other_user: bool = False


def _shell(script: str, command: Words) -> list[str]:
    return ["sh", "-c", f'{script}exec "$@"', "sh", *command]


def _redirected(how: str) -> Surrounding:
    return Surrounding(lambda command, _: ["sh", "-c", f'exec "$@" {how}', "sh", *command])


def _limited(what: str) -> Surrounding:
    return Surrounding(lambda command, _: _shell(f"ulimit {what}; ", command))


def _mounted(script: str) -> Surrounding:
    """In a mount namespace of its own. ``$FOLDER`` is the folder."""

    def around(command: Words, folder: Path) -> list[str]:
        return [*_namespace(), *_shell(f"set -e; FOLDER={folder}; {script}; ", command)]

    return Surrounding(around)


def _namespace() -> list[str]:
    require(os.geteuid() == 0 or None, "a mount namespace needs root", outside=True)
    unshare = require(shutil.which("unshare"), "unshare (util-linux)")
    probe = subprocess.run([unshare, "-m", "true"], capture_output=True, text=True)
    require(probe.returncode == 0 or None, f"mount namespaces ({probe.stderr.strip()})", outside=True)
    return [unshare, "-m"]


def as_other_user(options: str, home: bool = True) -> Surrounding:
    """As a user without privileges, for whom limits of the kernel count. ``options`` are those of prlimit."""

    def around(command: Words, folder: Path) -> list[str]:
        drop = f"setpriv --reuid {OTHER_USER} --regid {OTHER_USER} --clear-groups --inh-caps=-all --bounding-set=-all"
        variable = f"HOME={folder}" if home else "-u HOME"
        return [
            *_namespace(),
            *_shell(
                f"set -e; {_interpreter_for_all(folder)}", [*drop.split(), "prlimit", *options.split(), "env"]
            ),
            *variable.split(),
            *command,
        ]

    return Surrounding(around, other_user=True)


def _interpreter_for_all(folder: Path) -> str:
    """Shell commands that let another user see our interpreter and this checkout, should they lie in root's home."""
    home = Path.home()
    wanted = {path for path in map(Path, (sys.base_prefix, sys.prefix, ROOT)) if home in path.parents}
    if not wanted:
        return ""
    stash = folder / "stash"
    lines = [f"mkdir {stash}", f"mount --bind {home} {stash}", f"mount -t tmpfs -o mode=755 tmpfs {home}"]
    for path in sorted(wanted):
        lines += [f"mkdir -p {path}", f"mount --bind {stash / path.relative_to(home)} {path}"]
    return "; ".join([*lines, f"mount -t tmpfs -o mode=700 tmpfs {stash}", ""])


_SMALL = "mkdir $FOLDER/small; mount -t tmpfs -o size=64k tmpfs $FOLDER/small; "
_HOME = "export HOME=$FOLDER/small TMPDIR=$FOLDER/small; unset XDG_CACHE_HOME XDG_STATE_HOME XDG_RUNTIME_DIR"

SURROUNDINGS = {
    "nothing special": Surrounding(lambda command, _: list(command)),
    "stdin closed": _redirected("<&-"),
    "stdin null": _redirected("</dev/null"),
    "stdout closed": _redirected(">&-"),
    "stderr closed": _redirected("2>&-"),
    "stdin and stdout closed": _redirected("<&- >&-"),
    "all closed": _redirected("<&- >&- 2>&-"),
    "stdout full": _redirected("> /dev/full"),
    "stderr full": _redirected("2> /dev/full"),
    "a home of 64 kB": _mounted(_SMALL + _HOME),
    "a full home": _mounted(
        _SMALL + "dd if=/dev/zero of=$FOLDER/small/all bs=1k 2>/dev/null || true; " + _HOME
    ),
    "a read-only root": _mounted("mount -o remount,bind,ro /; mount -o remount,bind,ro /dev/shm"),
    "8 open files": _limited("-n 8"),
    "12 open files": _limited("-n 12"),
    "20 open files": _limited("-n 20"),
    "32 open files": _limited("-n 32"),
    "1 process": as_other_user("--nproc=1"),
    "3 processes": as_other_user("--nproc=3"),
    "6 processes": as_other_user("--nproc=6"),
    "no home": as_other_user("--nproc=1000", home=False),
    "a removed folder": Surrounding(
        lambda command, folder: _shell(
            f"mkdir {folder}/gone; cd {folder}/gone; rmdir {folder}/gone; ", command
        )
    ),
}
