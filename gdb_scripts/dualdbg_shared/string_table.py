"""The strings of a symbol table, searched in place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from .elf import ElfFile, Section

_PAGE = 4096
_SAMPLED = 32  # one page in so many is sampled, to see whether a byte string is rare or frequent
# With more hits than this, the regex engine's cheap hits outweigh memmem's faster scan.
_MANY = 20_000
# What follows a C name in its string: nothing, a compiler's suffix, a symbol version.
_AFTER_NAME = (b"\0", b".", b"@")


class StringTable:
    """Zero-terminated strings, one after the other; offsets are file offsets.

    The linker stores a name that is the tail of another one only once, so a symbol's name may start
    anywhere in a string.
    """

    def __init__(self, elf: ElfFile, section: Section) -> None:
        self._elf = elf
        self.start = section.offset
        self.end = section.end
        self._view = elf.view(section)

    @property
    def view(self) -> memoryview:
        """All of them, for searches by patterns; its first byte is at :attr:`start`."""
        return self._view

    def at(self, offset: int) -> bytes:
        """The string at a file offset."""
        return self._elf.raw_string_at(offset, self.end)

    def rarest(self, needles: list[bytes]) -> bytes:
        """The rarest of ``needles``, by a sample; of equally rare ones the longest."""
        if len(needles) == 1:
            return needles[0]
        return min(needles, key=lambda needle: (self._sample.count(needle), -len(needle), needle))

    def holding(self, needle: bytes) -> Iterator[tuple[int, bytes]]:
        """(offset, string) of every string with ``needle`` in it, ascending."""
        find, back = self._elf.find, self._elf.find_back
        after = self.start
        for hit in self._hits(needle):
            if hit >= after:
                begin = back(b"\0", self.start, hit) + 1
                after = find(b"\0", hit, self.end)
                if after < 0:
                    raise self._elf.garbled("a string of the symbol table has no end")
                yield begin, bytes(self._view[begin - self.start : after - self.start])

    def names(self, name: bytes) -> Iterator[tuple[int, bytes]]:
        """(offset, string) of every place where ``name``, alone or with a suffix or version, ends a string."""
        for after in _AFTER_NAME:
            for hit in self._elf.find_all(name + after, self.start, self.end):
                yield hit, self.at(hit)

    def exact(self, name: bytes) -> Iterator[int]:
        """The offset of every place where ``name`` alone ends a string."""
        return self._elf.find_all(name + b"\0", self.start, self.end)

    def starting(self, prefix: bytes) -> Iterator[tuple[int, bytes]]:
        """(offset, string) of every string that begins with ``prefix``."""
        return ((hit + 1, self.at(hit + 1)) for hit in self._hits(b"\0" + prefix))

    def ending(self, suffix: bytes) -> Iterator[tuple[int, bytes]]:
        """(offset, string) of every string that ends with ``suffix``."""
        for hit in self._hits(suffix + b"\0"):
            begin = self._elf.find_back(b"\0", self.start, hit) + 1
            yield begin, bytes(self._view[begin - self.start : hit + len(suffix) - self.start])

    def holding_any_case(self, word: bytes) -> Iterator[bytes]:
        """Every string that holds ``word``, capitals or not."""
        for match in re.finditer(re.escape(word), self._view, re.IGNORECASE):
            yield self.at(self._elf.find_back(b"\0", self.start, self.start + match.start()) + 1)

    def is_frequent(self, needle: bytes) -> bool:
        """True when, by a sample, so many strings hold ``needle`` that it is slow to look at all of them."""
        return self._estimate(needle) >= _MANY

    def _hits(self, needle: bytes) -> Iterator[int]:
        if not self.is_frequent(needle):
            return self._elf.find_all(needle, self.start, self.end)
        return (self.start + match.start() for match in re.finditer(re.escape(needle), self._view))

    def _estimate(self, needle: bytes) -> int:
        scale = max(1, (self.end - self.start) // max(1, len(self._sample)))
        return self._sample.count(needle) * scale

    @cached_property
    def _sample(self) -> bytes:
        step = _PAGE * _SAMPLED if len(self._view) > 64 * _PAGE else _PAGE
        return b"".join(bytes(self._view[at : at + _PAGE]) for at in range(0, len(self._view), step))
