"""torch.distributed in a process: its process groups, and the operations that have begun and are not done.

Three places are read: the module ``torch.distributed.distributed_c10d`` knows the groups, the frames of its functions
have the arguments in their variables, and c10d's objects have ranks, sequence numbers and gloo's queue.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import PurePath
from typing import Any

from ...errors import TargetError
from ...known.torch_operations import FRAMES, IN_PLACE_OF, OPERATIONS, PEERS, TENSORS
from ...model import PythonFrame
from ..facts import Collective, Distributed, ProcessGroup
from .fields import Fields
from .flight_recorder import Recorded, read_recorder, with_recorded
from .object_text import ObjectText
from .reader import PythonReader, PythonState, PythonThreadState

_MODULE = "torch.distributed.distributed_c10d"
_FILES = ("/torch/distributed/distributed_c10d.py", "/torch/distributed/rendezvous.py")
_GROUP_CLASS, _GLOO_CLASS = "N4c10d12ProcessGroupE", "N4c10d16ProcessGroupGlooE"
_WORK_CLASS = "N4c10d4WorkE"
_MOST_GROUPS, _MOST_WORKS, _MOST_TENSORS = 10_000, 1000, 1000
_MOST_RANKS = 1 << 24
_DEQUE_BLOCK = 512  # bytes of a block of libstdc++'s std::deque


def read_distributed(
    reader: PythonReader,
    texts: ObjectText,
    python: PythonState,
    states: Mapping[int, PythonThreadState],
    recorders: Sequence[int] = (),
) -> Distributed | None:
    """What the process does in torch.distributed; None where it does nothing there. The process must not run meanwhile.
    ``recorders``: see :func:`.flight_recorder.recorders`.

    What cannot be read is None, and a note says why.
    """
    fields = Fields(reader, texts)
    try:
        namespace = _namespace(reader, fields, python)
    except texts.errors as error:
        return Distributed(notes=(f"torch.distributed cannot be read: {error}",))
    if not namespace:
        return None
    return _Reading(reader, texts, fields, namespace).read(states, recorders)


def _namespace(reader: PythonReader, fields: Fields, python: PythonState) -> int:
    modules = reader.memory.u64(python.main + reader.layout.modules) if python.main else 0
    module = fields.entry(modules, _MODULE) if modules else 0
    return fields.member(module, 0) if module else 0


def _is_torchs(frame: PythonFrame) -> bool:
    return (frame.file or "").endswith(_FILES)


@dataclass
class _Group:
    """A group while it is read: the address of its Python object, and what it has begun in the backend."""

    python: int
    facts: ProcessGroup
    works: list[Collective]
    ranks: tuple[int, ...]


class _Reading:
    def __init__(self, reader: PythonReader, texts: ObjectText, fields: Fields, namespace: int) -> None:
        self._reader = reader
        self._memory = reader.memory
        self._texts = texts
        self._fields = fields
        self._namespace = namespace
        self._target = texts.torch_target()
        self._notes: list[str] = []

    def read(self, states: Mapping[int, PythonThreadState], recorders: Sequence[int]) -> Distributed | None:
        groups: dict[int, _Group] = {}
        default = 0
        try:
            default = self._default()
            for address, name in self._named_groups():
                groups[address] = self._group(address, name)
        except self._texts.errors as error:
            self._notes.append(f"the process groups cannot be read: {error}")
        if groups:
            self._add_recorded(groups.values(), recorders)
        calls = []
        for tid, state in states.items():
            call = self._call(tid, state, groups, default)
            if call is not None:
                calls.append(call)
        if not groups and not calls and not self._notes:
            return None
        world = groups[default].facts if default in groups else None
        return Distributed(
            rank=world.rank if world else None,
            world_size=world.size if world else None,
            groups=tuple(group.facts for group in groups.values()),
            collectives=tuple(_merged(calls, groups.values())),
            notes=tuple(dict.fromkeys(self._notes)),
        )

    # -- groups ------------------------------------------------------------------------------------

    def _default(self) -> int:
        """The Python object of the default group; 0 before init_process_group has made it."""
        world = self._fields.entry(self._namespace, "_world")
        group = self._fields.attribute(world, "_default_pg") if world else None
        return group if group and self._fields.kind(group).tp_name != "NoneType" else 0

    def _named_groups(self) -> Iterator[tuple[int, str]]:
        names = self._fields.entry(self._namespace, "_pg_names")
        if not names:
            return
        for number, (group, name) in enumerate(self._fields.items(names)):
            if number == _MOST_GROUPS:
                self._notes.append(f"only the first {_MOST_GROUPS} process groups were read")
                return
            yield group, self._fields.text(name) or "?"

    def _group(self, address: int, name: str) -> _Group:
        unknown = _Group(address, ProcessGroup(name, -1, 0), [], ())
        try:
            # pybind11's instance of one class: the pointer comes first. Its registry would take 40 ms to find.
            native = self._fields.member(address, 0)
            if not self._target.rtti.is_a(native, _GROUP_CLASS):
                self._notes.append(f"the process group {name} has no c10d::ProcessGroup that is known")
                return unknown
            record = self._target.layout.record("c10d::ProcessGroup")
            rank = self._memory.i32(native + record["rank_"])
            size = self._memory.i32(native + record["size_"])
            if not 0 <= rank < size <= _MOST_RANKS:
                self._notes.append(f"the layout of the process group {name} is not the known one")
                return unknown
            group = _Group(address, ProcessGroup(name, rank, size), [], self._ranks(address, size))
        except self._texts.errors as error:
            self._notes.append(f"the process group {name} cannot be read: {error}")
            return unknown
        try:  # without it rank and size are known all the same
            return self._with_backend(group, native + record["deviceTypeToBackend_"])
        except self._texts.errors as error:
            self._notes.append(f"the backend of the process group {name} cannot be read: {error}")
            return group

    def _ranks(self, address: int, size: int) -> tuple[int, ...]:
        """The ranks of the world by their rank in a group: ``_pg_group_ranks`` maps the other way."""
        table = self._fields.entry(self._namespace, "_pg_group_ranks")
        found = dict(self._fields.items(table)).get(address) if table else None
        if not found:
            return ()
        pairs = [
            (self._fields.integer(value), self._fields.integer(key))
            for key, value in self._fields.items(found)
        ]
        by_group = {there: world for there, world in pairs if there is not None and world is not None}
        return tuple(by_group[each] for each in range(size)) if len(by_group) == size else ()

    def _with_backend(self, group: _Group, table: int) -> _Group:
        for node in self._target.cxx.hash_nodes(table, 8):
            backend = self._memory.u64(node + 8)
            if not self._target.rtti.is_a(backend, _GLOO_CLASS):
                group.facts = replace(group.facts, backend=_backend_name(self._target.rtti.mangled(backend)))
                continue
            record = self._target.layout.record("c10d::ProcessGroupGloo")
            if self._memory.i32(backend + record["rank_"]) != group.facts.rank:
                self._notes.append("the layout of ProcessGroupGloo is not the known one")
                continue
            sequence = self._memory.u64(backend + record["seq_"])
            group.facts = replace(group.facts, backend="gloo", sequence=sequence)
            first, count = self._target.cxx.vector(backend + record["workInProgress_"], 8)
            running = [self._memory.u64(first + 8 * at) for at in range(min(count, _MOST_WORKS))]
            for work in running:
                self._add_work(group, work, "running")
            for work in self._deque(backend + record["workQueue_"]):
                self._add_work(group, work, "queued")
            break
        return group

    def _deque(self, address: int) -> Iterator[int]:
        """The pointers in a ``std::deque`` (libstdc++: map, its size, then begin and end of four words each)."""
        words = self._target.memory.words(address, 10)
        at, _, last, node = words[2:6]
        end = words[6]
        for _ in range(_MOST_WORKS):
            if at == end:
                return
            yield self._memory.u64(at)
            at += 8
            if at == last:
                node += 8
                at = self._memory.u64(node)
                last = at + _DEQUE_BLOCK

    def _add_work(self, group: _Group, address: int, state: str) -> None:
        if not address or not self._target.rtti.is_a(address, _WORK_CLASS):
            return
        record = self._target.layout.record("c10d::ProcessGroupGloo::AsyncWork")
        if self._memory.u8(address + record["completed_"]):
            return
        number = self._memory.u8(address + record["opType_"])
        name = self._target.layout.enum("c10d::OpType").get(number)
        tensors = []
        outer, count = self._target.cxx.vector(address + record["outputTensors_"], 24)
        for at in range(min(count, _MOST_TENSORS)):
            first, inner = self._target.cxx.vector(outer + 24 * at, 8)
            tensors += [self._memory.u64(first + 8 * each) for each in range(min(inner, _MOST_TENSORS))]
        call = Collective(
            OPERATIONS.get(name, name or f"operation {number}"),
            group.facts.name,
            self._memory.u64(address + record["seq_"]),
            state,
        )
        group.works.append(self._with_tensors(call, tensors))

    def _add_recorded(self, groups: Collection[_Group], recorders: Sequence[int]) -> None:
        """What c10d's Flight Recorder knows of the groups."""
        found: dict[str, list[Recorded]] = {}
        try:
            for pointer in recorders:
                for row in read_recorder(self._target, pointer, self._place_of_code):
                    found.setdefault(row.group, []).append(row)
        except self._texts.errors as error:
            self._notes.append(f"the Flight Recorder cannot be read: {error}")
        now = time.time()
        for group in groups:
            if rows := [_in_the_world(row, group.ranks) for row in found.get(group.facts.name, ())]:
                group.facts, group.works = with_recorded(group.facts, group.works, rows, now)

    def _place_of_code(self, code: int, offset: int) -> tuple[str | None, str]:
        frame = self._reader.line_of_code(code, offset)
        return frame.file, f"{frame.function} ({PurePath(frame.file or '?').name}:{frame.line})"

    # -- calls -------------------------------------------------------------------------------------

    def _call(
        self, tid: int, state: PythonThreadState, groups: Mapping[int, _Group], default: int
    ) -> Collective | None:
        """The operation that a thread is in by its Python frames: the innermost function of torch.distributed."""
        for frame in state.frames:
            name = FRAMES.get(frame.function.rsplit(".", 1)[-1]) if _is_torchs(frame) else None
            if name is None or frame.address is None:
                continue
            call = Collective(name, thread=tid)
            try:
                return self._with_arguments(
                    call, dict(self._texts.variables(self._reader, frame.address)), groups, default
                )
            except TargetError as error:
                self._notes.append(error.message)
            except self._texts.errors as error:
                self._notes.append(f"the arguments of {name} cannot be read: {error}")
            return call
        return None

    def _with_arguments(
        self, call: Collective, variables: Mapping[str, int], groups: Mapping[int, _Group], default: int
    ) -> Collective:
        if call.operation in ("init_process_group", "new_group"):
            return call
        group = groups.get(variables.get("group", 0)) or groups.get(default)
        if group is None:
            return call
        call = replace(call, group=group.facts.name, peer=self._peer(call.operation, variables, group))
        tensors = [variables[name] for name in TENSORS if name in variables][:1]
        module = import_module("dualdbg_helpers.python.foreign")
        found = []
        for tensor in tensors:
            try:
                found.append(module.tensor_of(self._target, tensor, self._reader.layout.head))
            except self._texts.errors:
                continue  # a list of tensors, or an object of another kind: its sizes stay unknown
        return self._with_tensors(call, found)

    def _peer(self, operation: str, variables: Mapping[str, int], group: _Group) -> int | None:
        world, inside = PEERS.get(operation, ("", ""))
        for name, ranks in ((world, None), (inside, group.ranks)):
            number = self._fields.integer(variables[name]) if name in variables else None
            if number is not None and ranks is None:
                return number
            if number is not None and ranks and number < len(ranks):
                return ranks[number]
        return None

    def _with_tensors(self, call: Collective, addresses: list[int]) -> Collective:
        decoder = self._target.decoder(import_module("dualdbg_helpers.torch.tensor").Tensors)
        try:
            tensors = [decoder.read(address) for address in addresses]
        except self._texts.errors as error:
            self._notes.append(f"the tensors of {call.operation} cannot be read: {error}")
            return call
        known = [tensor for tensor in tensors if tensor.dtype is not None and isinstance(tensor.numel, int)]
        if not known or len(known) != len(tensors):
            return call
        sizes = tuple(known[0].sizes)
        return replace(
            call,
            sizes=sizes if all(isinstance(size, int) for size in sizes) else None,
            dtype=known[0].dtype.name,
            bytes=sum(tensor.numel * tensor.dtype.size for tensor in known),
        )


def _backend_name(mangled: str) -> str:
    """``nccl`` of ``N4c10d16ProcessGroupNCCLE``."""
    name = mangled.removesuffix("E").rsplit("ProcessGroup", 1)[-1]
    return name.lower() or mangled


def _in_the_world(row: Recorded, ranks: tuple[int, ...]) -> Recorded:
    """With the other rank by its number in the world, where there is one."""
    known = row.peer is not None and row.peer < len(ranks)
    return replace(row, peer=ranks[row.peer] if known and row.peer is not None else None)


def _merged(calls: list[Collective], groups: Any) -> Iterator[Collective]:
    """What the backends have begun, with the Python frame that waits for the newest of each group; then the rest."""
    left = list(calls)
    for group in groups:
        works = sorted(group.works, key=lambda work: work.sequence or 0)
        newest = {work.peer: work for work in works}  # None: the collectives
        for work in works:
            same = (c for c in left if (c.group, c.peer) == (work.group, work.peer))
            waits = next((c for c in same if work.operation in _done_by(c.operation)), None)
            if waits is not None and work is newest[work.peer]:
                left.remove(waits)
                work = replace(
                    work,
                    thread=waits.thread,
                    sizes=work.sizes or waits.sizes,
                    dtype=work.dtype or waits.dtype,
                    bytes=work.bytes if work.bytes is not None else waits.bytes,
                    within=waits.operation if waits.operation != work.operation else None,
                )
            yield work
    yield from left


def _done_by(operation: str) -> tuple[str, ...]:
    return operation, IN_PLACE_OF.get(operation, operation)
