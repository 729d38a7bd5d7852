"""Which file is mapped where in the inferior, and the names of its symbols."""

import os
import re
from pathlib import Path

from dualdbg_shared.elf import ElfError
from dualdbg_shared.images import images
from dualdbg_shared.libraries import holds_interpreter
from dualdbg_shared.proc_files import DELETED, Mapping

from .elf import ElfFile

_ROW = re.compile(
    r"^\s*0x([0-9a-f]+)\s+0x([0-9a-f]+)\s+0x[0-9a-f]+\s+0x([0-9a-f]+)(?:\s+([-rwxspd]{4,5}))?(?:\s+(\S.*?))?\s*$"
)


def parse_proc_mappings(text):
    """The rows of gdb's ``info proc mappings`` (live process or core file; with and without ``Perms``)."""
    found = []
    for line in text.splitlines():
        match = _ROW.match(line)
        if match:
            start, end, offset, mode, path = match.groups()
            found.append(Mapping(int(start, 16), int(end, 16), int(offset, 16), path or "", mode or ""))
    return found


class Library:
    """A mapped ELF file. ``base`` is what is added to its virtual addresses."""

    def __init__(self, path, base, start, end, local):
        self.path = path
        self.base = base
        self.start = start
        self.end = end
        self._local = local

    def __contains__(self, address):
        return self.start <= address < self.end

    @property
    def elf(self):
        """The file itself, or None when it cannot be read here."""
        return _open(self._local)

    @property
    def name(self):
        return Path(self.path).name


_files = {}


def _open(path):
    """An :class:`ElfFile` by path, kept while the file on disk stays the same; None when there is none."""
    try:
        status = Path(path).stat()
        key = (status.st_ino, status.st_mtime_ns, status.st_size)
        known = _files.get(path)
        if known is None or known[0] != key:
            _files[path] = known = (key, ElfFile.open(path))
        return known[1]
    except (OSError, ElfError):
        return None


def deleted_files(pid, rows):
    """Where the kernel still has the files that were deleted since process ``pid`` mapped them: path to path.

    Files that may not be read are left out: it takes CAP_CHECKPOINT_RESTORE (proc(5), map_files).
    """
    found = {}
    for row in rows:
        if row.path.endswith(DELETED) and row.path not in found:
            file = "/proc/{}/map_files/{:x}-{:x}".format(pid, row.start, row.end)
            if os.access(file, os.R_OK):
                found[row.path] = file
    return found


def _address_in(libraries, symbol):
    """The address of ``symbol`` (mangled) in the first of the libraries that has it, or None."""
    for library in libraries:
        value = library.elf.find_symbol(symbol) if library.elf is not None else None
        if value is not None:
            return library.base + value
    return None


class Mappings:
    """The libraries of an inferior, and its symbols by address and by name.

    ``rows`` are :class:`Mapping`, ``page`` the bytes of a page there; ``roots`` are folders under which the inferior's
    files may be found (a container's root), tried before the path itself, where another file may lie out here.
    ``files`` gives, by path, the place of a file that is found in neither way because it was deleted.
    """

    def __init__(self, rows, page, roots=(), files=None):
        self.rows = sorted(rows)
        self._roots = roots
        self._files = files or {}
        self.libraries = []
        groups = {}
        for row in self.rows:
            if row.path.startswith("/"):
                groups.setdefault(row.path, []).append(row)
        for path, mapped in groups.items():
            local = self._local(path)
            elf = _open(local)
            for image in images(mapped, elf.loads(), page) if elf is not None else ():
                self.libraries.append(Library(path, image.bias, image.start, image.end, local))

    def _local(self, path):
        if path in self._files:
            return self._files[path]
        for candidate in [root.rstrip("/") + path for root in self._roots] + [path]:
            if Path(candidate).is_file():
                return candidate
        return path

    def library_at(self, address):
        for row in self.rows:
            if row.start <= address < row.end:
                return next((one for one in self.libraries if address in one), None)
        return None

    def library_named(self, *prefixes):
        """The first library whose file name starts with one of ``prefixes``, or None."""
        for prefix in prefixes:
            for library in self.libraries:
                if library.name.startswith(prefix):
                    return library
        return None

    def symbol_at(self, address):
        """The mangled name of a symbol that starts at ``address``, or None."""
        library = self.library_at(address)
        return library.elf.at(address - library.base) if library and library.elf else None

    def function_around(self, address):
        """``(mangled name, start address)`` of the function that contains ``address``, or None."""
        library = self.library_at(address)
        if library is None or library.elf is None:
            return None
        found = library.elf.around(address - library.base)
        return (found[0], found[1] + library.base) if found else None

    def addresses_of(self, symbol):
        """The addresses of ``symbol`` (mangled) in all libraries that have it."""
        for library in self.libraries:
            address = _address_in([library], symbol)
            if address is not None:
                yield address

    def address_of(self, symbol, *prefixes):
        """The address of ``symbol`` (mangled) in the libraries whose file name starts with one of ``prefixes``."""
        named = (one for one in self.libraries if not prefixes or one.name.startswith(prefixes))
        return _address_in(named, symbol)

    def in_interpreter(self, symbol):
        """The address of ``symbol`` in the file that holds CPython: libpython, else the program, whatever its name."""
        holders = [one for one in self.libraries if holds_interpreter(one.path)]
        return _address_in(holders + self.libraries[:1], symbol)

    def file_bytes(self, address, size):
        """What the mapped file holds for ``address`` (read-only data that a core file left out), or None."""
        library = self.library_at(address)
        return library.elf.contents_at(address - library.base, size) if library and library.elf else None
