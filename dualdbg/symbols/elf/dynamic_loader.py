"""Where the dynamic loader finds a library: the search rules of ld.so(8), without running anything."""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from dualdbg.errors import SymbolError

from .elf_file import EM_AARCH64, EM_X86_64, ElfFile

CACHE_FILE = Path("/etc/ld.so.cache")
_CACHE_MAGIC = b"glibc-ld.so.cache1.1"
_CACHE_HEADER = struct.Struct("<20sIIB3xI12x")  # magic, entries, size of strings, flags, extensions
_CACHE_ENTRY = struct.Struct("<iIIIQ")  # flags, name, path, OS version, hardware capabilities
# The flags of entries for each machine (glibc, sysdeps/generic/ldconfig.h).
_CACHE_FLAGS = {EM_X86_64: 0x0303, EM_AARCH64: 0x0A03}
_TRIPLET = {EM_X86_64: "x86_64-linux-gnu", EM_AARCH64: "aarch64-linux-gnu"}
_TOKEN = re.compile(r"\$(?:\{(ORIGIN|LIB|PLATFORM)\}|(ORIGIN|LIB|PLATFORM)\b)")


@dataclass(frozen=True)
class Found:
    """A library that the loader would take, and which rule found it."""

    path: str
    rule: str


@dataclass
class Loader:
    """The rules for one process: its environment, and the machine its libraries are for.

    ``library_path`` are the folders of LD_LIBRARY_PATH. ``loaded`` holds what the process has already, by the
    names under which it is known (DT_SONAME and the names it was asked for): no name is searched twice.
    """

    machine: int
    library_path: tuple[str, ...] = ()
    loaded: dict[str, Found] = field(default_factory=dict)
    cache_file: Path = CACHE_FILE
    _machines: dict[str, int | None] = field(default_factory=dict)

    @classmethod
    def of(cls, environment: Mapping[str, str], machine: int) -> Loader:
        """The rules for a process with this environment. ``machine`` is e_machine of its ELF file."""
        text = environment.get("LD_LIBRARY_PATH", "")
        folders = re.split("[:;]", text) if text else []
        # ld.so(8): an empty entry is the current directory.
        return cls(machine, tuple(folder or os.curdir for folder in folders))

    def find(self, name: str, needed_by: ElfFile, chain: tuple[ElfFile, ...] = ()) -> Found | None:
        """The file that DT_NEEDED ``name`` of ``needed_by`` leads to. ``chain``: who needs ``needed_by``, outwards.

        None when the loader would say "cannot open shared object file".
        """
        if name in self.loaded:
            return self.loaded[name]
        if "/" in name:
            path = self._expand(name, needed_by)
            return Found(path, "its own path") if self._fits(path) else None
        for rule, folders in self._folders(needed_by, chain):
            for folder in folders:
                path = str(Path(folder, name))
                if self._fits(path):
                    return Found(path, rule)
        cached = read_cache(self.cache_file, self.machine).get(name)
        if cached is not None and self._fits(cached):
            return Found(cached, "ld.so.cache")
        for folder in self._default_folders():
            path = str(Path(folder, name))
            if self._fits(path):
                return Found(path, "default folder")
        return None

    def _folders(self, needed_by: ElfFile, chain: tuple[ElfFile, ...]) -> list[tuple[str, list[str]]]:
        """The folders before the cache. DT_RPATH counts only where there is no DT_RUNPATH, and is inherited."""
        rules = []
        if not needed_by.runpath:
            for elf in (needed_by, *chain):
                if elf.rpath and not elf.runpath:
                    rules.append(
                        ("RPATH of " + Path(elf.path).name, [self._expand(p, elf) for p in elf.rpath])
                    )
        rules.append(("LD_LIBRARY_PATH", [self._expand(folder, needed_by) for folder in self.library_path]))
        if needed_by.runpath:
            folders = [self._expand(folder, needed_by) for folder in needed_by.runpath]
            rules.append(("RUNPATH of " + Path(needed_by.path).name, folders))
        return rules

    def _expand(self, text: str, elf: ElfFile) -> str:
        values: dict[str, str] = {
            "ORIGIN": str(Path(elf.path).resolve().parent),
            "LIB": f"lib/{self._triplet}" if Path("/lib", self._triplet).is_dir() else "lib64",
            "PLATFORM": os.uname().machine,
        }
        return _TOKEN.sub(lambda match: values[match.group(1) or match.group(2)], text)

    @property
    def _triplet(self) -> str:
        return _TRIPLET[self.machine]

    def _default_folders(self) -> list[str]:
        return [
            f"/lib/{self._triplet}",
            f"/usr/lib/{self._triplet}",
            "/lib64",
            "/usr/lib64",
            "/lib",
            "/usr/lib",
        ]

    def _fits(self, path: str) -> bool:
        """True for a file that the loader would take; it passes over a file for another machine."""
        if path not in self._machines:
            self._machines[path] = _machine_of(path)
        return self._machines[path] == self.machine


def _machine_of(path: str) -> int | None:
    try:
        return ElfFile.open(path).machine
    except SymbolError:
        return None


@lru_cache(maxsize=8)
def read_cache(path: Path, machine: int) -> dict[str, str]:
    """Library name -> path in ld.so.cache, for one machine; nothing where there is no cache.

    Entries for special hardware capabilities are left out: the plain entry names the same library.
    """
    try:
        data = path.read_bytes()
    except OSError:
        return {}
    base = data.find(_CACHE_MAGIC)  # an older format may come before it
    if base < 0 or base + _CACHE_HEADER.size > len(data):
        return {}
    _, count, _, _, _ = _CACHE_HEADER.unpack_from(data, base)
    found: dict[str, str] = {}
    for index in range(count):
        at = base + _CACHE_HEADER.size + index * _CACHE_ENTRY.size
        if at + _CACHE_ENTRY.size > len(data):
            break
        flags, name, where, _, capabilities = _CACHE_ENTRY.unpack_from(data, at)
        if flags == _CACHE_FLAGS[machine] and capabilities == 0:
            found.setdefault(_string(data, base + name), _string(data, base + where))
    return found


def _string(data: bytes, at: int) -> str:
    end = data.find(b"\0", at)
    return data[at : end if end >= 0 else len(data)].decode("utf-8", "surrogateescape")
