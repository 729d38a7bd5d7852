"""Keeps what `dataclasses` and `re` have compiled: a session has 270 classes and 230 patterns, a quarter of its start.

`dataclasses` writes the methods of a class as text, and compiles it whenever the class is made; a module compiles its
patterns when it is imported. What the same text has become once is kept in the cache, for each version of Python.
"""

from __future__ import annotations

import _sre  # type: ignore[import-not-found]
import contextlib
import dataclasses
import marshal
import re
import sys
from _thread import get_ident
from types import CodeType
from typing import Any

FEW = 20  # texts that are compiled before what is kept is read: for fewer it would not be worth it
MOST = 4000  # beyond that there are those of versions of dualdbg that are no more
_COMPILER: Any = sys.modules.get("re._compiler") or sys.modules["sre_compile"]  # since 3.11, and before
_CODE_SIZE = 4  # bytes of each code of a pattern (SRE_CODE in Modules/_sre/sre.h)


class KeptCode:
    """Takes the place of `exec` in `dataclasses`, and of what `re` compiles with, from :meth:`begin` on.

    ``user`` is the command that runs.
    """

    def __init__(self, user: str) -> None:
        self._name = f"compiled-{user}-{sys.implementation.cache_tag}-{sys.hexversion:x}"
        self._is_read = False
        # By the text of a class's methods their code; by a pattern and its flags what `_sre.compile` is given.
        self._known: dict[Any, Any] = {}
        self._new: dict[Any, Any] = {}
        self._usual: Any = _COMPILER.compile
        self._keys: dict[int, Any] = {}  # by thread: of the pattern that is being compiled there

    def begin(self) -> None:
        """Classes and patterns that are made from now on get what is kept."""
        vars(dataclasses)["exec"] = self.run
        if _sre.CODESIZE == _CODE_SIZE:
            _COMPILER.compile, _COMPILER._sre = self.compiled, self

    def run(self, text: str, names: dict[str, Any], results: dict[str, Any]) -> None:
        """As the built-in function ``exec``."""
        self._read_once()
        code: CodeType | None = self._known.get(text)
        if code is None:
            code = self._new[text] = compile(text, "<string>", "exec", dont_inherit=True)
        exec(code, names, results)

    def compiled(self, pattern: Any, flags: int = 0) -> Any:
        """As the function ``compile`` of the module with which `re` compiles."""
        if not _is_of_a_module() or not isinstance(pattern, (str, bytes)) or flags & re.DEBUG:
            return self._usual(pattern, flags)
        self._read_once()
        known = self._known.get((pattern, flags))
        if known is not None:
            given, code, *rest = known
            return _sre.compile(pattern, given, memoryview(code).cast("I").tolist(), *rest)
        thread = get_ident()
        self._keys[thread] = pattern, flags
        try:
            return self._usual(pattern, flags)
        finally:
            del self._keys[thread]

    def compile(self, pattern: Any, flags: int, code: list[int], *rest: Any) -> Any:
        """As `_sre.compile`, whose arguments are kept."""
        key = self._keys.get(get_ident())
        if key is not None:
            codes = b"".join(one.to_bytes(_CODE_SIZE, sys.byteorder) for one in code)
            self._new[key] = (int(flags), codes, *rest)
        return _sre.compile(pattern, flags, code, *rest)

    def __getattr__(self, name: str) -> Any:
        return getattr(_sre, name)  # the compiler of patterns finds the rest of that module here

    def _read_once(self) -> None:
        if len(self._new) < FEW or self._is_read:
            return
        self._is_read = True  # first: what reads it may have classes too
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
        if _COMPILER._sre is self:
            _COMPILER.compile, _COMPILER._sre = self._usual, _sre
        if not self._is_read or self._new.keys() <= self._known.keys():
            return
        from ..symbols.cache import is_kept, store

        kept = {**self._known, **self._new}
        if is_kept():
            with contextlib.suppress(OSError):
                store(self._name, [marshal.dumps(self._new if len(kept) > MOST else kept)])


def _is_of_a_module() -> bool:
    """Whether a module is imported that compiles a pattern: others may be made of what the user types."""
    frame = sys._getframe(2)  # what has called KeptCode.compiled
    while frame.f_back is not None and frame.f_globals.get("__name__") == "re":
        frame = frame.f_back
    return frame.f_code.co_name == "<module>"
