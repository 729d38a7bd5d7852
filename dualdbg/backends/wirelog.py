"""Every message of an engine, both ways, with times: what ``--log-dir`` keeps."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TextIO


class WireLog:
    """One file an engine; ``None`` as the folder keeps nothing. Times are seconds since ``started``."""

    def __init__(self, folder: Path | None, engine: str, started: float) -> None:
        self._started = started
        self._file: TextIO | None = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{engine}.log"
            self._file = path.open("w", encoding="utf-8", errors="backslashreplace")

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
