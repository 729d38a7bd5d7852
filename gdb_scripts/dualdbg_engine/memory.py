"""Memory of the inferior: read exactly, read as far as it goes, written."""

from __future__ import annotations

import gdb
from dualdbg_shared.requests.threads import ReadMemory, ReadReadableMemory, WriteMemory

from .registry import answers

_PAGE = 4096


@answers(ReadMemory)
def read(address: int, length: int) -> bytes:
    """``length`` bytes at ``address``. Raises gdb.error (MemoryError) where some of them cannot be read."""
    data: bytes = gdb.selected_inferior().read_memory(address, length).tobytes()
    return data


@answers(ReadReadableMemory)
def readable_memory(address: int, length: int) -> bytes:
    try:
        return read(address, length)
    except gdb.error:
        pass
    pieces = []
    while length > 0:
        piece = min(length, _PAGE - address % _PAGE)
        try:
            pieces.append(read(address, piece))
        except gdb.error:
            break
        address += piece
        length -= piece
    return b"".join(pieces)


@answers(WriteMemory)
def write_memory(address: int, data: bytes) -> int:
    gdb.selected_inferior().write_memory(address, data)
    return len(data)


def word_at(address: int | None) -> int | None:
    """The eight bytes at an address as a number; None where nothing can be read."""
    if not address:
        return None
    try:
        return int.from_bytes(read(address, 8), "little")
    except gdb.error:
        return None


def string_at(address: int | None, longest: int = 4096) -> str | None:
    """The zero-terminated text at an address, cut after ``longest`` bytes; None where nothing can be read."""
    if not address:
        return None
    data = b""
    while len(data) < longest:
        at = address + len(data)
        try:
            data += read(at, _PAGE - at % _PAGE)
        except gdb.error:
            return None
        if b"\0" in data:
            break
    return data.partition(b"\0")[0][:longest].decode("utf-8", "replace")
