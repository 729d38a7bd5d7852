"""Puts probes into functions of this very process, without gdb: the machine code alone is tried."""

from __future__ import annotations

import ctypes
import mmap
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from dualdbg.probes import placement, thunk
from dualdbg.probes.bytecode import Operation

SIGNAL = signal.SIGURG
_SIZE = 3 * 4096  # bytes that a probe has
_ROOM = 1000 * _SIZE
_SOURCE = f"\n__attribute__((aligned(4096))) char room_for_probes[{_ROOM}];\n"
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
# The places of each library that no probe has had, by the address of the first.
_rooms_of: dict[int, Iterator[int]] = {}


def compiled(source: str, folder: Path, *options: str) -> ctypes.CDLL:
    """A shared library of C or assembler, which brings the room for probes in it: there may be none left beside it."""
    folder.mkdir(exist_ok=True)
    text, file = folder / "code.c", folder / "code.so"
    text.write_text(source + _SOURCE)
    subprocess.run(["gcc", "-shared", "-fPIC", *options, "-o", file, text], check=True)
    library = ctypes.CDLL(str(file))
    start = ctypes.addressof(ctypes.c_char.in_dll(library, "room_for_probes"))
    if _libc.mprotect(start, _ROOM, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC):
        raise OSError(ctypes.get_errno(), "mprotect")
    _rooms_of[start] = iter(range(start, start + _ROOM - _SIZE, _SIZE))
    return library


def address_of(library: ctypes.CDLL, name: str) -> int:
    """Where a function begins."""
    address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    assert address is not None
    return address


def size_of(library: ctypes.CDLL, name: str) -> int:
    """How many bytes a function has."""
    rows = subprocess.run(
        ["nm", "-S", library._name], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return next(int(row.split()[1], 16) for row in rows if row.split()[-1] == name)


def write(address: int, data: bytes) -> None:
    """Write to code of this process, whatever its pages allow."""
    with open("/proc/self/mem", "r+b", buffering=0) as memory:
        memory.seek(address)
        memory.write(data)


def read(address: int, size: int) -> bytes:
    """Bytes of this process."""
    return ctypes.string_at(address, size)


class Room:
    """Memory near a function: two pages of code, then one of data."""

    def __init__(self, near: int) -> None:
        rooms = _rooms_of[min(_rooms_of, key=lambda start: abs(start - near))]
        self.start = next(one for one in rooms if all(thunk.can_lead(near + at, one) for at in range(16)))
        self.counter = self.start + 2 * 4096


class Patched:
    """While it is entered, a function of ``size`` bytes has a probe."""

    def __init__(self, address: int, size: int, wish: thunk.Wish, room: Room | None = None) -> None:
        room = room or Room(address)
        place = placement.place(address, placement.Function(address, read(address, size)))
        for at in range(room.start, room.start + 1024, 16):
            try:
                self.probe = thunk.build(place, wish, at, room.counter, SIGNAL)
                break
            except placement.CannotPlace as error:
                assert "no address fits" in str(error)
        self.counter = room.counter
        write(room.counter, bytes(8) + (wish.hits or 0).to_bytes(8, "little"))
        write(self.probe.thunk, self.probe.code)

    def __enter__(self) -> Patched:
        write(self.probe.site, self.probe.jump)
        return self

    def __exit__(self, *exception: object) -> None:
        write(self.probe.site, self.probe.original)

    @property
    def counted(self) -> int:
        """How many hits were counted."""
        return int.from_bytes(read(self.counter, 8), "little")


class Told:
    """While it is entered, hits are noted: the signal of a hit has a handler."""

    def __enter__(self) -> Told:
        self._told = False
        self._before = signal.signal(SIGNAL, self._tell)
        return self

    def _tell(self, *arguments: object) -> None:
        self._told = True

    def __exit__(self, *exception: object) -> None:
        signal.signal(SIGNAL, self._before)

    def was_hit(self) -> bool:
        """Whether a hit was told since this was asked last."""
        told, self._told = self._told, False
        return told


def operations(*rows: tuple[str, int] | str) -> tuple[Operation, ...]:
    """Operations one after the other, without jumps."""
    made: list[Operation] = []
    for label, row in enumerate([*rows, "end"]):
        made.append(Operation(label, row) if isinstance(row, str) else Operation(label, *row))
    return tuple(made)


def constant(number: int) -> Sequence[tuple[str, int]]:
    """A signed number, as gdb writes it."""
    return [("const64", number & (1 << 64) - 1)]
