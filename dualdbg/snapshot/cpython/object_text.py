"""Python objects as text: the decoders that also run inside gdb, given the memory of a snapshot."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from itertools import takewhile
from typing import Any

from ...errors import TargetError, UnreadableMemory
from ...model import PythonFrame
from ...symbols.address_space import root_of
from ...symbols.names.demangle import demangle
from ...system.patience import patient
from ...system.resources import resource_directory
from ..linux.memory import Memory
from ..linux.procfs import MemoryMap
from .reader import PythonReader, PythonThreadState
from .slots import PythonSlots

_PACKAGE = "dualdbg_helpers"
Variables = tuple[tuple[str, str], ...]  # name and text

_STR, _DICT = 1 << 28, 1 << 29  # Py_TPFLAGS_UNICODE_SUBCLASS, Py_TPFLAGS_DICT_SUBCLASS; Include/object.h
_SPECIAL = re.compile(r"__\w+__|__pydevd_\w+")
_SECONDS = patient(2.0)  # for all the text of one process
_STARTS = ("_bootstrap", "Thread._bootstrap")  # the outermost function of a thread that `threading` started
_THREADING = "/threading.py"


class ObjectText:
    """Made before the process is stopped, so that nothing is imported or opened while it stands still.

    Raises TargetError for an interpreter whose objects are not known.
    """

    def __init__(self, memory: Memory, mapping: MemoryMap, with_values: bool) -> None:
        folder = str(resource_directory("gdb_scripts"))
        if folder not in sys.path:
            sys.path.append(folder)
        self._errors = errors = _module("errors")
        self._caught: tuple[type[Exception], ...] = (
            UnreadableMemory,
            IndexError,
            StopIteration,
            errors.HelperError,
            errors.Implausible,
            errors.Unreadable,
            errors.OutOfTime,
        )
        rows = [row for row in mapping.rows if row.path.startswith("/")]
        root = root_of(mapping.pid) if mapping.pid else ""
        files = _module("mappings").deleted_files(mapping.pid, rows) if mapping.pid else {}
        self._mappings = _module("mappings").Mappings(rows, mapping.page, [root] if root else [], files)
        self._read = memory.read
        self._model = _module("layout.model")
        self._objects_class = _module("python.objects").Objects
        self._types_class = _module("python.names").Types
        self._tables_class = _module("python.tables").Tables
        self._attributes_class = _module("python.attributes").Attributes
        self._installation = _module("layout.installation").find(self._mappings)
        self._table = self._checked_table() if with_values else None
        try:
            self._target([]).decoder(self._types_class)  # looks up what it needs in the files
        except errors.HelperError as error:
            raise TargetError(f"values and thread names cannot be read: {error.message}") from error

    def use(self, memory: Memory) -> None:
        """Read from ``memory`` from now on."""
        self._read = memory.read

    def thread_names(self, reader: PythonReader, states: Mapping[int, PythonThreadState]) -> dict[int, str]:
        """The names of the ``threading.Thread`` objects whose code the threads run; other threads have no name."""
        return {tid: reader.string(name) for tid, name in self._of_threads(reader, states, "_name").items()}

    def daemons(self, reader: PythonReader, states: Mapping[int, PythonThreadState]) -> dict[int, bool]:
        """Whether each of these threads is a daemon."""
        value = reader.layout.head + 8  # of a bool, an int: its only digit
        found = self._of_threads(reader, states, "_daemonic")
        return {tid: reader.memory.u32(flag + value) == 1 for tid, flag in found.items()}

    def _of_threads(
        self, reader: PythonReader, states: Mapping[int, PythonThreadState], attribute: str
    ) -> dict[int, int]:
        """An attribute of the ``threading.Thread`` objects whose code the threads run."""
        types, tables, _ = self.decoders()
        slots = PythonSlots(reader)
        found = {}
        for key, state in states.items():
            try:
                thread = self._thread_object(slots, state)
                if thread is None:
                    continue
                for name, value in tables.instance_items(types.of(thread), thread):
                    if reader.string(name) == attribute:
                        found[key] = value
                        break
            except self._caught:
                continue
        return found

    def joins(self, reader: PythonReader, states: Mapping[int, PythonThreadState]) -> dict[int, int]:
        """The threads that are in ``threading.Thread.join``, each with the thread whose end it waits for."""
        slots = PythonSlots(reader)
        objects: dict[int, int] = {}
        joined: dict[int, int] = {}
        for key, state in states.items():
            try:
                thread = self._thread_object(slots, state)
                if thread is not None:
                    objects[thread] = key
                calls = takewhile(lambda frame: (frame.file or "").endswith(_THREADING), state.frames)
                join = next((one for one in calls if one.function.rpartition(".")[2] == "join"), None)
                if join is not None and join.address is not None:
                    joined[key] = slots.variables(join.address)[0][1]  # self
            except self._caught:
                continue
        return {key: objects[thread] for key, thread in joined.items() if thread in objects}

    def _thread_object(self, slots: PythonSlots, state: PythonThreadState) -> int | None:
        """The address of the ``threading.Thread`` whose code a thread runs."""
        # A debugger may have put its own start function below it.
        start = next((frame for frame in reversed(state.frames[-2:]) if frame.function in _STARTS), None)
        if start is None or start.address is None:
            return None
        return slots.variables(start.address)[0][1]  # self

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        """What reading an object raises where memory does not hold what it should, or the time is used up."""
        return self._caught

    def decoders(self) -> tuple[Any, Any, Any]:
        """``Types``, ``Tables`` and ``Attributes`` of the helpers, with the time of one process."""
        target = self._target([])
        kinds = self._types_class, self._tables_class, self._attributes_class
        types, tables, attributes = map(target.decoder, kinds)
        return types, tables, attributes

    def torch_target(self) -> Any:
        """The helpers' ``Target`` with the layout table of the PyTorch that is loaded, if it has one that fits."""
        return self._target([self._table] if self._table is not None else [])

    def variables(self, reader: PythonReader, frame: int) -> list[tuple[str, int]]:
        """Name and object address of what is set in the frame at ``frame``; a module's names such as ``__file__`` are
        left out. Raises TargetError where the frame cannot be read.
        """
        slots = PythonSlots(reader)
        try:
            namespace = slots.namespace(frame)
            entries = self._entries(reader, namespace) if namespace is not None else []
            rows = slots.variables(frame) + entries
            return [row for row in rows if not _SPECIAL.fullmatch(row[0])]
        except self._caught as error:
            raise TargetError(f"the variables of the frame at {frame:#x} cannot be read: {error}") from error

    def globals(self, reader: PythonReader, frame: int) -> list[tuple[str, int]]:
        """Name and object address of the variables of the module that the frame's code belongs to."""
        try:
            return self._entries(reader, PythonSlots(reader).globals(frame))
        except self._caught as error:
            raise TargetError(f"the globals of the frame at {frame:#x} cannot be read: {error}") from error

    def _entries(self, reader: PythonReader, address: int) -> list[tuple[str, int]]:
        """The entries of a dict whose keys are text; nothing for a mapping of another kind."""
        types, tables, _ = self.decoders()
        if not types.of(address).has(_DICT):
            return []
        return [
            (reader.string(key), value) for key, value in tables.items(address) if types.of(key).has(_STR)
        ]

    def locals_of(self, reader: PythonReader, frames: list[PythonFrame]) -> dict[int, Variables]:
        """Frame address -> (name, text) of its arguments and locals."""
        target = self.torch_target()
        objects = target.decoder(self._objects_class)
        result = {}
        for frame in frames:
            assert frame.address is not None
            try:
                variables = self.variables(reader, frame.address)
            except TargetError:
                continue
            rows = []
            for name, address in variables:
                rows.append((name, self._text(objects, address)))
            result[frame.address] = tuple(rows)
        return result

    def _text(self, objects: Any, address: int) -> str:
        try:
            return " ".join(str(objects.text(address)).split())
        except self._caught as error:
            return f"<{error}>"

    def _target(self, layouts: list[Any]) -> Any:
        limits = _module("limits").Limits(max_depth=2, max_length=10, max_string=200, seconds=_SECONDS)
        chain = self._model.Chain(layouts, " This process has not loaded PyTorch.")
        memory = _module("memory").Memory(self._read_for_helpers)
        kind = _module("target").Target
        return kind(memory, self._mappings, chain, _demangled, self._installation, limits)

    def _read_for_helpers(self, address: int, size: int) -> bytes:
        try:
            return self._read(address, size)
        except UnreadableMemory:
            raise self._errors.Unreadable(address) from None

    def _checked_table(self) -> Any:
        """The layout table of the PyTorch that is loaded, when it fits the process; else None."""
        if self._installation is None or self._installation.version is None:
            return None
        minor = ".".join(self._installation.version.split(".")[:2])
        folder = resource_directory("gdb_scripts") / _PACKAGE / "layout" / "tables"
        for path in sorted(folder.glob(f"torch-{minor}.*.json")):
            found = json.loads(path.read_text(encoding="utf-8"))
            layout = self._model.Layout(f"table for torch {found['torch']}", found["records"], found["enums"])
            problem = _module("layout.selfcheck").problem_of(
                layout, [], lambda chain: self._target(chain.layouts)
            )
            if problem is None:
                return layout
        return None


def _module(name: str) -> Any:
    return import_module(f"{_PACKAGE}.{name}")


def _demangled(symbol: str) -> str:
    text = demangle(symbol)
    for prefix in ("typeinfo name for ", "vtable for "):
        text = text.removeprefix(prefix)
    return text
