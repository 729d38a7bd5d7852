"""Every message of an engine, both ways, with times: what ``--log-dir`` keeps."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TextIO

from ..errors import UsageError
from ..system.log_names import DebugpysLogs, LogFolder
from ..system.private_files import new_file


class WireLog:
    """One file for each engine; with ``None`` as the folder nothing is kept. Times are seconds since ``started``.

    The messages hold values of the program and secrets of the session, so only the user may read the files.

    Raises UsageError for a folder that cannot be written.
    """

    def __init__(self, folder: LogFolder | None, engine: str, started: float) -> None:
        self._started = started
        self._file: TextIO | None = None
        if folder is not None:
            self._file = _open(folder, engine)

    def sent(self, text: str) -> None:
        """Note a message to the engine."""
        self._write(">", text)

    def received(self, text: str) -> None:
        """Note a message of the engine."""
        self._write("<", text)

    def _write(self, direction: str, text: str) -> None:
        if self._file is not None:
            elapsed = time.monotonic() - self._started
            self._file.write(f"{elapsed:10.6f} {direction} {text.rstrip()}\n")
            self._file.flush()

    def close(self) -> None:
        """Close the file. What is noted later is lost."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _open(logs: LogFolder, engine: str) -> TextIO:
    folder = logs.folder if isinstance(logs, DebugpysLogs) else logs
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = _not_taken(logs, engine) if isinstance(logs, DebugpysLogs) else _replaced(logs, engine)
        return os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        name = "DEBUGPY_LOG_DIR" if isinstance(logs, DebugpysLogs) else "--log-dir"
        raise UsageError(
            f"no log of {engine} can be written to {folder}: {error.strerror}",
            f"give {name} a folder that you may write to",
        ) from error


def _replaced(folder: Path, engine: str) -> int:
    path = folder / f"{engine}.log"
    path.unlink(missing_ok=True)  # of an earlier session: that file may be readable for others, or a link
    return new_file(path)


def _not_taken(logs: DebugpysLogs, engine: str) -> int:
    for name in logs.names(engine):
        try:
            return new_file(logs.folder / name)
        except FileExistsError:
            continue
    raise AssertionError("there is always one more name")
