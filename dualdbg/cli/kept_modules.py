"""Keeps the code of dualdbg's modules in one file: a session imports 350, and half of that is to find and open files.

The import system looks for each module in its folder, and opens and checks a file of bytecode for it. What a command
has imported once is kept in the cache, with the time and the size of each source: so it is seen when one changes.
"""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
import zlib
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType
from typing import Any

MOST = 1000  # beyond that there are those of versions of dualdbg that are no more
_PACKAGE = __name__.partition(".")[0]
_CACHE = f"{_PACKAGE}.symbols.cache"
_FOLDER = str(sys.modules[_PACKAGE].__path__[0])

Source = tuple[str, int, int]  # its path, when it was last modified (ns), its size


class KeptModules:
    """A finder of modules, from :meth:`begin` to :meth:`end`. ``user`` is the command that runs."""

    def __init__(self, user: str) -> None:
        tag = f"{sys.implementation.cache_tag}-{sys.hexversion:x}-{sys.flags.optimize}"
        self._name = f"modules-{user}-{tag}-{zlib.crc32(os.fsencode(_FOLDER)):08x}"
        self._is_read = False
        self._known: dict[str, tuple[Source, str | None, bytes]] = {}
        self._new: dict[str, tuple[Source, str | None, bytes]] = {}

    def begin(self) -> None:
        """What is imported from now on is found here, or else kept."""
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """As the import system asks finders."""
        if not name.startswith(_PACKAGE + "."):
            return None
        if not self._is_read and not self._read():
            return None
        known = self._known.get(name)
        if known is not None and known[0] == _source(known[0][0]):
            loader = _KeptLoader(name, known[0][0])
            loader.code = known[2]
            spec = spec_from_file_location(name, loader.path, loader=loader)
            if spec is not None:
                spec.cached = known[1]
            return spec
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _KeepingLoader(name, spec.loader.path)
            spec.loader.keep = self._keep
        return spec

    def _keep(self, name: str, source: Source, code: CodeType) -> None:
        self._new[name] = source, sys.modules[name].__spec__.cached, marshal.dumps(code)  # type: ignore[union-attr]

    def _read(self) -> bool:
        """Read what is kept. False as long as the module is not there that says where: others come before it."""
        cache = sys.modules.get(_CACHE)
        if cache is None or getattr(cache.__spec__, "_initializing", False):
            return False
        self._is_read = True
        try:
            found = marshal.loads((cache.cache_directory() / self._name).read_bytes())
        except (OSError, EOFError, ValueError, TypeError):  # not there, or not all of it
            return True
        if isinstance(found, dict):
            self._known = found
        return True

    def end(self) -> None:
        """Keep what was not known at the beginning. Where it cannot be written, it is found as usual the next time."""
        sys.meta_path.remove(self)
        if not self._new:
            return
        from ..symbols.cache import is_kept, store

        kept = {**self._known, **self._new}
        if is_kept():
            with contextlib.suppress(OSError):
                store(self._name, [marshal.dumps(self._new if len(kept) > MOST else kept)])


class _KeptLoader(SourceFileLoader):
    """Has the module's code already."""

    code: bytes

    def get_code(self, fullname: str) -> CodeType:
        """As the import system asks loaders."""
        code: CodeType = marshal.loads(self.code)
        return code


class _KeepingLoader(SourceFileLoader):
    """Has the code of a module kept that it loads."""

    keep: Any

    def get_code(self, fullname: str) -> CodeType | None:
        """As the import system asks loaders."""
        source = _source(self.path)  # first: what is changed meanwhile is seen the next time
        code = super().get_code(fullname)
        if source is not None and code is not None:
            self.keep(fullname, source, code)
        return code


def _source(path: str) -> Source | None:
    try:
        status = os.stat(path)  # noqa: PTH116  # for each of 300 modules
    except OSError:
        return None
    return path, status.st_mtime_ns, status.st_size
