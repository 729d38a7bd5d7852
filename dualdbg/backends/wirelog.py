"""Every message of an engine, both ways, with times: what ``--log-dir`` keeps."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TextIO

from ..errors import UsageError
from ..private_files import new_file


class WireLog:
    """One file for each engine; with ``None`` as the folder nothing is kept. Times are seconds since ``started``.

    The messages hold values of the program and secrets of the session, so only the user may read the files.

    Raises UsageError for a folder that cannot be written.
    """

    def __init__(self, folder: Path | None, engine: str, started: float) -> None:
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


def _open(folder: Path, engine: str) -> TextIO:
    path = folder / f"{engine}.log"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)  # of an earlier session: that file may be readable for others, or a link
        return os.fdopen(new_file(path), "w", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(
            f"no log can be written to {path}: {error.strerror}",
            "give --log-dir a folder that you may write to",
        ) from error
