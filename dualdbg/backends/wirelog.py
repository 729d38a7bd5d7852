"""Every message of an engine, both ways, with times: what ``--log-dir`` keeps."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TextIO

from ..errors import UsageError


class WireLog:
    """One file an engine; ``None`` as the folder keeps nothing. Times are seconds since ``started``.

    Raises UsageError for a folder that cannot be written.
    """

    def __init__(self, folder: Path | None, engine: str, started: float) -> None:
        self._started = started
        self._file: TextIO | None = None
        if folder is not None:
            self._file = _open(folder, engine)

    def sent(self, text: str) -> None:
        self._write(">", text)

    def received(self, text: str) -> None:
        self._write("<", text)

    def _write(self, direction: str, text: str) -> None:
        if self._file is not None:
            elapsed = time.monotonic() - self._started
            self._file.write(f"{elapsed:10.6f} {direction} {text.rstrip()}\n")
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _open(folder: Path, engine: str) -> TextIO:
    path = folder / f"{engine}.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return path.open("w", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise UsageError(
            f"no log can be written to {path}: {error.strerror}",
            "give --log-dir a folder that you may write to",
        ) from error
