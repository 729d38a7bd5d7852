"""File and line of code addresses, inlined calls included, from the debug info of files.

gdb reads it, without a process: DWARF of every version, compressed, in a file of its own, or spread over several. That
takes as long as a file is big, so there is a deadline, after which a file counts as not read.

It is a gdb of its own, which answers one question and ends: who asks (``dualdbg stacks``, the report of a core) has
looked at a process from outside and has no engine. What it is asked, and what it says, are rows of JSON that
``gdb_scripts/dualdbg_lines.py`` takes and makes, as the helpers of the engine do.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from ..system.environment import for_gdb
from ..system.in_thread import run
from ..system.patience import patient
from ..system.resources import resource_directory
from ..toolchains.rust.names import demangle_rust, short_rust_name
from .cache import index_folder
from .gdb_feed.policy import Load, Policy
from .names import cxx_names
from .objfile import Objfile

DEADLINE = patient(10.0)  # seconds for all files of one look
_MARK = "dualdbg-lines "


@dataclass(frozen=True)
class Line:
    """A place in the source. ``function`` is its short name; None where debug info has only the line."""

    function: str | None
    file: str
    line: int


class SourceLines:
    """Looks up lines and keeps what was found, by the contents of the files. ``deadline`` is in seconds."""

    def __init__(self, gdb: str = "gdb", deadline: float = DEADLINE) -> None:
        self._gdb = gdb
        self._deadline = deadline
        self._known: dict[tuple[str, int], tuple[Line, ...]] = {}
        self._failed: dict[str, str] = {}

    @staticmethod
    def are_read(library: Objfile, path: str) -> bool:
        """Whether a library's lines are looked up: debug info is there, and it is not the interpreter's or system's.

        ``path`` is the one that the process knows.
        """
        return Policy().decide(library, path).load is Load.WHOLE

    def look_up(self, wanted: Mapping[Objfile, set[int]]) -> list[str]:
        """Read the lines of link-time addresses by file. Returns what could not be read, in words for people."""
        missing = {
            library: sorted(a for a in addresses if (library.identity, a) not in self._known)
            for library, addresses in wanted.items()
            if library.identity not in self._failed
        }
        files = sorted((one for one, addresses in missing.items() if addresses), key=lambda one: one.size)
        if files:
            self._ask(files, missing)
        return [
            f"file and line of frames in {PurePath(library.path).name} were not read: {why}"
            for library in wanted
            if (why := self._failed.get(library.identity)) is not None
        ]

    def at(self, library: Objfile, address: int) -> tuple[Line, ...]:
        """The place of an address that was looked up: the innermost inlined call first, the function itself last."""
        return self._known.get((library.identity, address), ())

    def _ask(self, files: Sequence[Objfile], addresses: Mapping[Objfile, Sequence[int]]) -> None:
        gdb = shutil.which(self._gdb)
        if gdb is None:
            self._fail(files, f"there is no gdb ({self._gdb})")
            return
        question = [[str(one.debug_file or one.path), addresses[one]] for one in files]
        why = "gdb ended before it was done"
        try:
            output = run(
                _command(gdb),
                input=json.dumps(question).encode() + b"\n",
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=self._deadline,
                env=for_gdb(os.environ),
            ).stdout
        except subprocess.TimeoutExpired as error:
            output = error.stdout or b""
            why = f"that takes longer than {self._deadline:g} s"
        rows = output.decode("utf-8", "replace").splitlines()
        answers = [json.loads(row[len(_MARK) :]) for row in rows if row.startswith(_MARK)]
        for library, answer in zip(files, answers):  # noqa: B905 - the last may be missing
            if "error" in answer:
                self._fail([library], answer["error"])
                continue
            for address, rows in answer.items():
                self._known[library.identity, int(address)] = tuple(_line(*row) for row in rows)
        self._fail(files[len(answers) :], why)

    def _fail(self, files: Sequence[Objfile], why: str) -> None:
        self._failed.update((library.identity, why) for library in files)


def _line(function: str | None, file: str, line: int) -> Line:
    if function is None:
        return Line(None, file, line)
    rust = demangle_rust(function)
    return Line(cxx_names.parse(function).short if rust is None else short_rust_name(rust), file, line)


def _command(gdb: str) -> list[str]:
    """gdb, which runs no code of the user or of the files."""
    settings = ["set debuginfod enabled off", "set auto-load off", "set auto-load safe-path /nonexistent"]
    folder = index_folder()
    if folder is not None:
        settings += [f"set index-cache directory {folder}", "set index-cache enabled on"]
    before = [word for setting in settings for word in ("-iex", setting)]
    return [
        gdb,
        "-nx",
        "-q",
        "-batch",
        *before,
        "-x",
        str(resource_directory("gdb_scripts") / "dualdbg_lines.py"),
    ]
