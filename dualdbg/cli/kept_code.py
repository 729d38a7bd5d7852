"""Keeps the code that `dataclasses` has compiled: a session has 270 of them, a tenth of a second at each start.

`dataclasses` writes the methods of a class as text, and compiles it whenever the class is made. What the same text
has become once is kept in the cache, for each version of Python.
"""

from __future__ import annotations

import contextlib
import dataclasses
import marshal
import sys
from types import CodeType
from typing import Any

FEW = 20  # texts that are compiled before what is kept is read: for fewer it would not be worth it
MOST = 4000  # beyond that there are those of versions of dualdbg that are no more


class KeptCode:
    """Takes the place of `exec` in `dataclasses`, from :meth:`begin` on. ``user`` is the command that runs."""

    def __init__(self, user: str) -> None:
        self._name = f"classes-{user}-{sys.implementation.cache_tag}-{sys.hexversion:x}"
        self._is_read = False
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

        try:
            found = marshal.loads((cache_directory() / self._name).read_bytes())
        except (OSError, EOFError, ValueError, TypeError):  # not there, or not all of it
            return
        if isinstance(found, dict):
            self._known = found

    def end(self) -> None:
        """Keep what was not known at the beginning. Where it cannot be written, it is compiled the next time."""
        if vars(dataclasses).get("exec") == self.run:
            del vars(dataclasses)["exec"]
        if not self._is_read or self._new.keys() <= self._known.keys():
            return
        from ..symbols.cache import is_kept, store

        kept = {**self._known, **self._new}
        if is_kept():
            with contextlib.suppress(OSError):
                store(self._name, [marshal.dumps(self._new if len(kept) > MOST else kept)])
