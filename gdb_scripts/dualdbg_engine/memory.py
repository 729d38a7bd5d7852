"""Memory of the inferior, as hexadecimal text: read exactly, read as far as it goes, written."""

from __future__ import annotations

import gdb

_PAGE = 4096


def read_memory(address: int, length: int) -> str:
    """``length`` bytes at ``address``."""
    return read(address, length).hex()


def read(address: int, length: int) -> bytes:
    """``length`` bytes at ``address``. Raises gdb.error (MemoryError) where some of them cannot be read."""
    data: bytes = gdb.selected_inferior().read_memory(address, length).tobytes()
    return data


def readable_memory(address: int, length: int) -> str:
    """As much of [``address``, ``address + length``) as can be read from its beginning."""
    try:
        return read_memory(address, length)
    except gdb.error:
        pass
    pieces = []
    while length > 0:
        piece = min(length, _PAGE - address % _PAGE)
        try:
            pieces.append(read_memory(address, piece))
        except gdb.error:
            break
        address += piece
        length -= piece
    return "".join(pieces)


def write_memory(address: int, data: str) -> int:
    """Write all of ``data``; returns the number of bytes."""
    content = bytes.fromhex(data)
    gdb.selected_inferior().write_memory(address, content)
    return len(content)


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
