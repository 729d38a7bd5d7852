"""The files that are mapped in one process, and names for its addresses."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ..errors import SymbolError
from ..shared import page_size
from ..shared.images import images, runs
from ..shared.proc_files import DELETED, Mapping, lines_of_maps, mapping, read_maps
from ..shared.process_root import root_link
from .name_preparation import prepare
from .objfile import Objfile, Symbol


@dataclass(frozen=True)
class Module:
    """A file that is mapped: where it begins and ends, and how far it lies above its link-time addresses.

    ``library`` is None when the file cannot be read; ``trouble`` says why.
    """

    path: str
    start: int
    end: int
    bias: int
    library: Objfile | None
    trouble: str | None = None

    def is_named(self, name: str) -> bool:
        """Whether ``name`` is this module's path, its file name, or its file name without version or suffix."""
        file = self.path.rsplit("/", 1)[-1]
        return name in (self.path, file, file.partition(".so")[0], file.partition(".")[0])


@dataclass(frozen=True)
class LoadedFunction:
    """A function in the process: its absolute address and where it comes from."""

    address: int
    symbol: Symbol
    module: Module


class AddressSpace:
    """The modules of process ``pid``, as /proc/PID/maps had them at the last :meth:`refresh`.

    ``memory_file`` is an open descriptor of its memory, where it may not be read in another way.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.memory_file: int | None = None
        self._modules: dict[tuple[str, int], Module] = {}
        # By path: the rows that were there, and what they are.
        self._placed: dict[str, tuple[list[Mapping], list[Module]]] = {}
        self.version = 0  # what was worked out of the modules is stale when it is another
        self._text = ""
        # By line of the map: what it says, with the process's root_link() at that. Few lines change with a library.
        self._rows: dict[str, Mapping] = {}
        self._link = "/"
        self._names: dict[int, tuple[str | None, str | None]] = {}
        self._implementations: dict[int, str] = {}  # names of indirect functions, by what they stand for here
        self._troubles: list[Module] = []  # not taken yet

    @property
    def rows(self) -> list[str]:
        """The lines of the map."""
        return list(self._rows)

    @property
    def modules(self) -> list[Module]:
        """All modules of the process."""
        return list(self._modules.values())

    def refresh(self) -> list[Module]:
        """Read the map again; returns the modules that are new. A process that has ended has no modules."""
        try:
            text = read_maps(self.pid)
        except OSError:
            return []
        if text == self._text:
            return []
        link = root_link(self.pid)
        known_rows = self._rows if link == self._link else {}
        self._text, self._link = text, link
        self._rows = {line: known_rows.get(line) or mapping(line, link) for line in lines_of_maps(text)}
        found: dict[tuple[str, int], Module] = {}
        new = []
        root = root_of(self.pid)
        placed = {}
        for path, rows in _code_files(self._rows.values()):
            known = self._placed.get(path)
            if known is None or known[0] != rows:
                known = rows, _modules_of(path, rows, _file_of(self.pid, path, rows, root))
            placed[path] = known
            for module in known[1]:
                before = self._modules.get((path, module.start))
                if before is not None and before.end == module.end:
                    found[path, module.start] = before
                    continue
                found[path, module.start] = module
                if before is None:
                    new.append(module)
                if module.trouble is not None:
                    self._troubles.append(module)
        self._placed = placed
        if found != self._modules:
            self._names.clear()
            self._implementations = {
                address: name
                for address, name in self._implementations.items()
                if any(module.start <= address < module.end for module in found.values())
            }
            self.version += 1
        self._modules = found
        return new

    def forget(self) -> None:
        """The process runs another program: every module of the next :meth:`refresh` is new."""
        self._modules = {}
        self._placed = {}
        self._text, self._rows = "", {}
        self._names.clear()
        self._implementations.clear()
        self.version += 1

    def continuations(self, beginning: str) -> set[str]:
        """What the beginning of a native function's qualified name may go on to, in all modules.

        Scopes have ``::`` behind them: what is in them is told when they are there. ``::`` in front, for what is in no
        scope, stays.
        """
        name = beginning.removeprefix("::")
        outermost = beginning[: len(beginning) - len(name)]
        names: set[str] = set()
        for module in self.modules:
            # A library that was replaced since it was loaded tells nothing.
            with suppress(SymbolError):
                names |= module.library.continuations(name) if module.library is not None else set()
        return {outermost + found for found in names}

    def prepare_continuations(self) -> None:
        """Let another process make what answers :meth:`continuations` at once, and wait for it: some seconds, once for
        each version of a library."""
        prepare([module.library for module in self.modules if module.library is not None])

    def take_troubles(self) -> list[Module]:
        """The libraries that turned out to be unreadable since the last call of this method."""
        troubles, self._troubles = self._troubles, []
        return [module for module in troubles if ".so" in module.path.rpartition("/")[2]]

    def _spoilt(self, module: Module, error: SymbolError) -> None:
        """The file was overwritten while it was mapped here: from now on its contents cannot be trusted."""
        without = replace(module, library=None, trouble=error.message)
        self._modules[module.path, module.start] = without
        self.version += 1
        self._troubles.append(without)

    def is_code(self, address: int) -> bool:
        """Return whether what is mapped at an address now may be run, or whether nobody knows."""
        try:
            rows = [mapping(line, self._link) for line in lines_of_maps(read_maps(self.pid))]
        except OSError:
            return True
        return any(row.is_code and row.start <= address < row.end for row in rows)

    def module_at(self, address: int) -> Module | None:
        """The module that is mapped at ``address``, if any."""
        for module in self._modules.values():
            if module.start <= address < module.end:
                return module
        return None

    def describe(self, address: int, *, is_return: bool = False) -> tuple[str | None, str | None]:
        """The function and the file at an address. ``is_return``: it is where a call returns to.

        A call that never returns may be the last instruction of its function, so the name of a return
        address is looked up one byte before it.
        """
        key = address - 1 if is_return else address
        if key not in self._names:
            self._names[key] = self._describe(key)
        return self._names[key]

    def language_at(self, address: int, *, is_return: bool = False) -> str | None:
        """The language of the source at an address, where the function's linkage name tells; as :meth:`describe`."""
        module = self.module_at(address)
        if module is None or module.library is None:
            return None
        try:
            symbol = module.library.symbol_at(address - is_return - module.bias)
        except SymbolError:  # describe() says so
            return None
        return symbol.language if symbol is not None else None

    def _describe(self, address: int) -> tuple[str | None, str | None]:
        return self.describe_in(self.module_at(address), address)

    def describe_in(self, module: Module | None, address: int) -> tuple[str | None, str | None]:
        """As :meth:`describe`, of a module that may not be mapped any more."""
        if module is None:
            return None, None
        if module.library is None:
            return None, module.path
        at = address - module.bias
        try:
            symbol = module.library.symbol_at(at)
            code = module.library.frames.find(at) if symbol is None and self._implementations else None
        except SymbolError as error:
            self._spoilt(module, error)
            return None, module.path
        if symbol is not None:
            return symbol.short_name, module.path
        begins = address if code is None else code.start + module.bias
        return self._implementations.get(begins), module.path

    def name_implementation(self, place: LoadedFunction, address: int) -> None:
        """The code at ``address`` is what the indirect function at ``place`` stands for: its name, if it has none."""
        if address not in self._implementations:
            self._implementations[address] = place.symbol.short_name
            self._names.clear()
            self.version += 1

    def function_start(self, return_address: int) -> int | None:
        """The absolute start of the function into which ``return_address`` leads back."""
        module = self.module_at(return_address)
        if module is None or module.library is None:
            return None
        symbol = module.library.symbol_at(return_address - 1 - module.bias)
        return symbol.address + module.bias if symbol is not None else None

    def find(self, name: str, modules: list[Module] | None = None) -> list[LoadedFunction]:
        """Every function of this name in the given modules (all by default)."""
        places = []
        for module in self.modules if modules is None else modules:
            if module.library is None:
                continue
            try:
                found = module.library.find_functions(name)
            except SymbolError as error:
                self._spoilt(module, error)
                continue
            places += [LoadedFunction(symbol.address + module.bias, symbol, module) for symbol in found]
        return places


def _code_files(rows: Iterable[Mapping]) -> list[tuple[str, list[Mapping]]]:
    """Path and private rows of each file of which some can be run.

    Shared rows are data that somebody reads, not code.
    """
    files: dict[str, list[Mapping]] = {}
    for row in rows:
        if row.path.startswith("/") and row.inode != 0 and not row.mode.endswith("s"):
            files.setdefault(row.path, []).append(row)
    return [(path, rows) for path, rows in files.items() if any(row.is_code for row in rows)]


def root_of(pid: int) -> str:
    """The prefix of the paths of a process in another mount namespace (a container); empty for any other process."""
    try:
        theirs, ours = Path(f"/proc/{pid}/ns/mnt").readlink(), Path("/proc/self/ns/mnt").readlink()
        other_root = not Path(f"/proc/{pid}/root").samefile("/")
    except OSError:
        return ""
    return f"/proc/{pid}/root" if theirs != ours or other_root else ""


def _file_of(pid: int, path: str, rows: list[Mapping], root: str) -> str | None:
    """Where the mapped file can be read; None for a file that was deleted since then and is out of our reach."""
    if not path.endswith(DELETED):
        return root + path
    start, end = min(rows)[:2]
    mapped = f"/proc/{pid}/map_files/{start:x}-{end:x}"  # needs CAP_CHECKPOINT_RESTORE
    return mapped if os.access(mapped, os.R_OK) else None


def _modules_of(path: str, rows: list[Mapping], file: str | None) -> list[Module]:
    """The file, once for each time it is loaded (dlmopen)."""
    if file is None:
        return _unread(path, rows, "the file was replaced or deleted since it was loaded")
    try:
        library = Objfile.open(file)
        loads = library.elf.loads()
    except SymbolError as error:
        return _unread(path, rows, error.message)
    found = images(rows, loads, page_size.of_this_machine())
    if not found:
        return _unread(path, rows, f"{file} is not the file that was mapped: no code is loaded as it says")
    return [Module(path, image.start, image.end, image.bias, library) for image in found]


def _unread(path: str, rows: list[Mapping], trouble: str) -> list[Module]:
    """The file, where its program headers cannot tell what its rows are."""
    return [
        Module(path, run[0].start, max(row.end for row in run), run[0].start, None, trouble)
        for run in runs(rows)
        if any(row.is_code for row in run)
    ]
