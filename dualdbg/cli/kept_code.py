"""Keeps the code that `dataclasses` has compiled: a session has 270 of them, a tenth of a second at each start.

`dataclasses` writes the methods of a class as text, and compiles it whenever the class is made. What the same text
has become once is kept in the cache, for each version of Python.
"""

from __future__ import annotations

import contextlib
import dataclasses
import marshal
import os
import sys
from pathlib import Path
from types import CodeType
from typing import Any

FEW = 20  # texts that are compiled before what is kept is read: for fewer it would not be worth it
MOST = 4000  # beyond that there are those of versions of dualdbg that are no more


class KeptCode:
    """Takes the place of `exec` in `dataclasses`, from :meth:`begin` on. ``user`` is the command that runs."""

    def __init__(self, user: str) -> None:
        self._name = f"classes-{user}-{sys.implementation.cache_tag}-{sys.hexversion:x}"
        self._is_read = False
        self._path: Path | None = None  # where it is kept, once it is read
        self._known: dict[str, CodeType] = {}
        self._new: dict[str, CodeType] = {}

    def begin(self) -> None:
        """Classes that are made from now on get what is kept."""
        vars(dataclasses)["exec"] = self.run

    def run(self, text: str, names: dict[str, Any], results: dict[str, Any]) -> None:
        """As the built-in function."""
        if len(self._new) == FEW and not self._is_read:
            self._is_read = True  # first: what reads it may have classes too
            self._read()
        code = self._known.get(text)
        if code is None:
            code = self._new[text] = compile(text, "<string>", "exec", dont_inherit=True)
        exec(code, names, results)

    def _read(self) -> None:
        from ..symbols.cache import cache_directory

        self._path = cache_directory() / self._name
        try:
            found = marshal.loads(self._path.read_bytes())
        except (
            OSError,
            EOFError,
            ValueError,
            TypeError,
        ):  # there is none, or not all of it: it is made again
            return
        if isinstance(found, dict):
            self._known = found

    def end(self) -> None:
        """Keep what was not known at the beginning. Where it cannot be written, it is compiled the next time."""
        if vars(dataclasses).get("exec") == self.run:
            del vars(dataclasses)["exec"]
        if self._path is None or self._new.keys() <= self._known.keys():
            return
        kept = {**self._known, **self._new}
        data = marshal.dumps(self._new if len(kept) > MOST else kept)
        part = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            part.write_bytes(data)
            part.replace(self._path)
        except OSError:
            with contextlib.suppress(OSError):  # nor is it there
                part.unlink()
