"""Reads what ``dualdbg stacks --json`` wrote, packed or not, of anybody: bounded, each field checked."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePath
from typing import IO, Any

from ...errors import DualdbgError
from ...known.worker_processes import is_loader, is_of_multiprocessing
from ...snapshot.linux.memory import PAGE
from ...snapshot.packed import HEADING, unpack
from ...snapshot.report.standing import Standing
from .fields import checked, or_none
from .recorded_ranks import RecordedRank, recorded_rank
from .recorded_standings import recorded_standings
from .tree import Place

# torchrun and what is built on it give RANK; Open MPI OMPI_COMM_WORLD_RANK; Hydra (MPICH, Intel MPI) PMI_RANK.
_PROGRAMS = frozenset(
    {
        *("torchrun", "accelerate", "deepspeed"),
        *("mpirun", "mpiexec", "orterun", "prterun", "mpiexec.openmpi", "mpirun.openmpi", "orted", "prted"),
        *("mpiexec.hydra", "mpiexec.mpich", "mpirun.mpich", "hydra_pmi_proxy"),
    }
)
_MODULES = frozenset(
    {
        *("torch.distributed.run", "torch.distributed.launch", "torch.distributed.launcher"),
        *("accelerate.commands.launch", "deepspeed.launcher.runner", "deepspeed.launcher.launch"),
    }
)


def is_launcher(command: str) -> bool:
    """Whether a process with this command line is one: the program, or the script or module that its Python runs."""
    program, *words = command.split() or [""]
    name = PurePath(program).name
    if not name.startswith("python"):
        return name in _PROGRAMS
    rest = iter(words)
    for word in rest:
        if word == "-m":
            return next(rest, None) in _MODULES
        if word in ("-X", "-W"):
            next(rest, None)
        elif not word.startswith("-"):
            return PurePath(word).name in _PROGRAMS
    return False


LONGEST_LINE = 64 << 20  # bytes of one process, unpacked
MOST_PACKED = 256 << 20  # bytes of a file that is packed as text
MOST_BYTES = 32 << 30  # of a file, unpacked
MOST_SENT = 1 << 30  # of what a node has sent, unpacked
MOST_PROCESSES = 1_000_000  # of a file
MOST_FRAMES = 20_000  # of one thread
_MOST_RANKS = 10_000_000
_PAGE_DIGITS = 3  # hexadecimal, of an offset in a page of 4096 bytes
_GZIP = b"\x1f\x8b"


class BadRecord(DualdbgError):
    """A file that is not what ``dualdbg stacks --json`` writes, or that cannot be read."""


@dataclass(frozen=True, eq=False)
class RecordedStack:
    """A stack, its outermost place first. Equal ones of one job are the same object: thousands of ranks share few."""

    places: tuple[Place, ...]


Known = dict[tuple[object, ...], RecordedStack]
"""The stacks of a job that were met, by what the files have of their frames."""


@dataclass(frozen=True)
class RecordedProcess:
    """The stacks of one process. ``rank`` is None where the file has none. ``is_launcher``: it starts ranks.

    ``is_loader``: it is a DataLoader's worker. ``is_started``: multiprocessing has started it.
    """

    rank: int | None
    pid: int
    parent: int
    stacks: tuple[RecordedStack, ...]
    is_python: bool = False
    is_launcher: bool = False
    is_loader: bool = False
    is_started: bool = False


@dataclass(frozen=True)
class Remark:
    """What a file says besides stacks: a process that was not read, or something that was seen, with the threads that
    wait, as they stood at that ``time``, in seconds since 1970. ``hint``: what to type next, of what was not read."""

    is_failure: bool
    text: str
    kind: str = ""
    waiting: tuple[Standing, ...] = ()
    time: float = 0.0
    hint: str = ""


@dataclass(frozen=True)
class Source:
    """A file, and how people are told of it. ``is_sent``: a node has sent it, packed, and nobody has looked at it."""

    name: str
    path: Path
    is_sent: bool = False


def recorded(
    source: Source, known: Known, all_threads: bool = True
) -> Iterator[RecordedProcess | RecordedRank | Remark]:
    """The processes of a file, one at a time, and what it says besides. The path ``-`` is standard input.

    Without ``all_threads`` the main thread of each is all. Raises :class:`BadRecord`, which has name and line.
    """
    name, most = source.name, MOST_SENT if source.is_sent else MOST_BYTES
    number = size = processes = 0
    shared: list[RecordedStack] = []
    try:
        with _opened(source) as file:
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                size += len(line)
                if len(line) > LONGEST_LINE or size > most or processes > MOST_PROCESSES:
                    raise ValueError("longer than any that it writes")
                found = checked(dict, json.loads(line), "the line")
                event = found.get("event")
                if event == "process":
                    processes += 1
                    yield _process(found, known, shared, all_threads)
                elif event == "stacks":
                    stacks = checked(list, found.get("stacks"), "stacks")
                    shared = [_stack(checked(list, frames, "a stack"), known) for frames in stacks]
                elif event == "rank":
                    yield recorded_rank(found)
                elif event == "error":
                    text = checked(str, found.get("message"), "message")
                    hint = or_none(str, found, "hint") or ""
                    yield Remark(True, f"process {found.get('pid')}: {text}", hint=hint)
                elif event == "finding":
                    text, kind = (checked(str, found.get(each), each) for each in ("text", "kind"))
                    yield Remark(False, text, kind, *recorded_standings(found))
    except (OSError, EOFError, zlib.error) as error:
        raise BadRecord(f"{name} cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise BadRecord(
            f"{name}, line {number or 1}: not what dualdbg stacks --json writes: {error}",
            "take it again with: dualdbg stacks --json PID > FILE",
        ) from error


@contextmanager
def _opened(source: Source) -> Iterator[IO[bytes]]:
    """The file, unpacked as it is read."""
    is_input = str(source.path) == "-"
    with open(0, "rb", closefd=False) if is_input else source.path.open("rb") as raw:
        begin = raw.peek(len(HEADING))
        if begin.startswith(_GZIP) and not source.is_sent:
            yield gzip.GzipFile(fileobj=raw)  # type: ignore[misc]
        elif source.is_sent or begin.startswith(HEADING):
            found = unpack(raw.read(MOST_PACKED))
            if found is None:
                raise EOFError("its end is missing")
            yield gzip.GzipFile(fileobj=BytesIO(found[0]))  # type: ignore[misc]
        else:
            yield raw


def _process(
    found: dict[str, Any], known: Known, shared: Sequence[RecordedStack], all_threads: bool
) -> RecordedProcess:
    threads = checked(list, found.get("threads"), "threads")
    stacks = tuple(
        _stack_of(checked(dict, thread, "a thread"), known, shared)
        for thread in (threads if all_threads else threads[:1])
    )
    pid, parent = (checked(int, found.get(name), name) for name in ("pid", "parent"))
    rank = _rank(found.get("label"))
    if rank is None:  # the launcher has told none: the program did, to torch.distributed
        rank = or_none(int, found, "rank")
        rank = rank if rank is not None and 0 <= rank < _MOST_RANKS else None
    is_python = or_none(str, found, "python") is not None
    functions = [(place.function, place.file) for stack in stacks[:1] for place in stack.places]
    return RecordedProcess(
        rank,
        pid,
        parent,
        stacks,
        is_python,
        is_launcher(or_none(str, found, "command") or ""),
        is_loader(functions),
        is_of_multiprocessing(functions),
    )


def _rank(label: object) -> int | None:
    word, _, digits = label.partition(" ") if isinstance(label, str) else ("", "", "")
    if word != "rank" or not (digits.isascii() and digits.isdecimal() and len(digits) <= 8):
        return None
    return int(digits) if int(digits) < _MOST_RANKS else None


def _stack_of(thread: dict[str, Any], known: Known, shared: Sequence[RecordedStack]) -> RecordedStack:
    number = or_none(int, thread, "stack")
    if number is None:
        return _stack(checked(list, thread.get("frames"), "frames"), known)
    if not 0 <= number < len(shared):
        raise ValueError("a thread has a stack that is not there")
    found: RecordedStack = shared[number]
    return found


def _stack(frames: list[Any], known: Known) -> RecordedStack:
    if len(frames) > MOST_FRAMES:
        raise ValueError(f"a thread of more than {MOST_FRAMES} frames")
    shown = [frame for frame in reversed(frames) if checked(dict, frame, "a frame").get("number") is not None]
    key = tuple(map(_key, shown))
    try:
        stack = known.get(key)
    except TypeError as error:  # a list where a text should be
        raise ValueError("a frame is garbled") from error
    if stack is None:
        stack = known[key] = RecordedStack(tuple(map(_place, shown)))
    return stack


def _key(frame: dict[str, Any]) -> tuple[object, ...]:
    """What of a frame tells its place, as the file has it: :func:`_place` checks it, once for each place."""
    get = frame.get
    function = get("function")
    if get("kind") == "python":
        return "python", function, get("file"), get("line")
    address = get("address") if function is None else None
    return (
        get("kind"),
        function,
        get("library"),
        address[-_PAGE_DIGITS:] if isinstance(address, str) else address,
    )


def _place(frame: dict[str, Any]) -> Place:
    kind = checked(str, frame.get("kind"), "kind")
    function, file, library = (or_none(str, frame, name) for name in ("function", "file", "library"))
    if kind == "python":
        return Place(kind, function, file, or_none(int, frame, "line"))
    address = or_none(str, frame, "address")
    offset = int(address, 16) % PAGE if function is None and address else None
    return Place(kind, function, library=library, offset=offset)
