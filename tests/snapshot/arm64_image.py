"""An AArch64 process made by hand: one file with code, frame information and names, and memory beside it."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from dualdbg.snapshot.linux.memory import PAGE, Memory
from dualdbg.symbols.address_space import Module
from dualdbg.symbols.elf.elf_file import EM_AARCH64, ElfFile
from dualdbg.symbols.objfile import Objfile

BASE = 0x7F0000000000  # where the file is mapped
TEXT, CODE_SIZE = 0x1000, 0x1000
_FRAMES, _SIZE = 0x2000, 0x4000
_CIE = (
    bytes([1]) + b"zR\0" + bytes([4, 0x78, 30, 1, 0x1B, 0x0C, 31, 0])
)  # factors 4 and -8, x30, pcrel sdata4


@dataclass
class Function:
    """``code`` at ``TEXT + offset``; ``frame`` are its call frame instructions, None where it has none."""

    offset: int
    code: list[int]
    frame: bytes | None = b""
    exported: str = ""


def image(*functions: Function) -> Module:
    """The file with these functions, in the order of their addresses."""
    data = bytearray(_SIZE)
    frames, rows = bytearray(struct.pack("<II", len(_CIE) + 4 + 1, 0) + _CIE + b"\0"), []
    symbols, names = bytearray(24), bytearray(b"\0")
    frame_at = _FRAMES + 0x400
    for one in functions:
        size = 4 * len(one.code)
        struct.pack_into(f"<{len(one.code)}I", data, TEXT + one.offset, *one.code)
        if one.frame is not None:
            at = frame_at + len(frames)
            start = TEXT + one.offset - (at + 8)
            body = struct.pack("<IiI", at + 4 - frame_at, start, size) + b"\0" + one.frame
            body += bytes(-len(body) % 4)
            frames += struct.pack("<I", len(body)) + body
            rows.append((TEXT + one.offset - _FRAMES, at - _FRAMES))
        if one.exported:
            symbols += struct.pack("<IBBHQQ", len(names), 0x12, 0, 1, TEXT + one.offset, size)
            names += one.exported.encode() + b"\0"
    header = struct.pack("<BBBBiI", 1, 0x1B, 3, 0x3B, frame_at - _FRAMES - 4, len(rows))
    header += b"".join(struct.pack("<ii", *row) for row in rows)
    data[_FRAMES : _FRAMES + len(header)] = header
    data[frame_at : frame_at + len(frames)] = frames
    data[0x3000 : 0x3000 + len(symbols)] = symbols
    data[0x3400 : 0x3400 + len(names)] = names
    titles = b"\0.text\0.dynsym\0.dynstr\0.shstrtab\0"
    data[0x3800 : 0x3800 + len(titles)] = titles
    sections = [
        (0, 0, 0, 0, 0, 0, 0),
        (1, 1, 6, TEXT, CODE_SIZE, 0, 0),
        (7, 11, 2, 0x3000, len(symbols), 3, 24),
        (15, 3, 2, 0x3400, len(names), 0, 0),
        (23, 3, 0, 0x3800, len(titles), 0, 0),
    ]
    for number, (name, kind, flags, at, size, link, entry) in enumerate(sections):
        row = struct.pack("<IIQQQQIIQQ", name, kind, flags, at, at, size, link, 0, 1, entry)
        data[0x3900 + 64 * number : 0x3900 + 64 * (number + 1)] = row
    for number, (kind, flags, at, size) in enumerate([(1, 5, 0, _SIZE), (0x6474E550, 4, _FRAMES, 0x400)]):
        row = struct.pack("<IIQQQQQQ", kind, flags, at, at, at, size, size, PAGE)
        data[64 + 56 * number : 64 + 56 * (number + 1)] = row
    data[:64] = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack(
        "<HHIQQQIHHHHHH", 3, EM_AARCH64, 1, 0, 64, 0x3900, 0, 64, 56, 2, 64, len(sections), 4
    )  # fmt: skip
    return Module(
        "/lib/arm.so", BASE, BASE + _SIZE, BASE, Objfile(ElfFile.from_bytes(bytes(data), "/lib/arm.so"))
    )


@dataclass
class Words(Memory):
    """Memory of 64-bit words, by address, and of one piece of code; a page that holds none of them is not mapped."""

    words: dict[int, int] = field(default_factory=dict)
    code: tuple[int, bytes] = 0, b""

    def __post_init__(self) -> None:
        super().__init__()

    def _load(self, page: int) -> bytes | None:
        there = {address: word for address, word in self.words.items() if address // PAGE == page}
        start, code = self.code
        if not there and not start <= page * PAGE < start + len(code):
            return None
        data = bytearray(code[max(page * PAGE - start, 0) :][:PAGE].ljust(PAGE, b"\0"))
        for address, word in there.items():
            struct.pack_into("<Q", data, address % PAGE, word)
        return bytes(data)
