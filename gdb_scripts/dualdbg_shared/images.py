"""Which rows of a map are the loaded image of an ELF file, and which only show the file's bytes to who reads it.

The loader maps each loadable segment where its program header says, all moved by the same bias (ELF gABI, chapter 5).
So the bias is what tells the images of one file apart, and a file that is mapped as data has no row with the bias of an
executable segment. A row is one of /proc/PID/maps or of a core's NT_FILE, which has no mode. A row is whole pages
of the kernel that has mapped the file (page_size.py), so it may reach past the end of the file.
"""

from __future__ import annotations

from typing import List, NamedTuple, Sequence, Set, Tuple

from .elf import PF_X, Segment
from .proc_files import Mapping


class Image(NamedTuple):
    """A file as the loader has placed it: ``bias`` is added to a link-time address; ``rows`` by address."""

    bias: int
    rows: Tuple[Mapping, ...]

    @property
    def start(self) -> int:
        return self.rows[0].start

    @property
    def end(self) -> int:
        return max(row.end for row in self.rows)


def images(rows: Sequence[Mapping], loads: Sequence[Segment], page: int) -> List[Image]:
    """The images among the rows of one file, by address; ``loads`` are its loadable segments, ``page`` the bytes
    of a page of the kernel. Pure.

    None where the rows are data, or where the program headers are not those of the file that was mapped.
    """
    private = sorted(row for row in rows if not row.mode.endswith("s"))
    ends = max((_pages(one, page)[1] for one in loads), default=0)
    candidates = []
    for row in private:
        for segment in loads:
            if segment.flags & PF_X and _is_code_of(row, segment, ends, page):
                image = Image(_bias(row, segment), _placed(private, loads, _bias(row, segment), page))
                complete = sum(any(_bias(one, part) == image.bias and _overlap(one, part, page) for one in image.rows)
                               for part in loads)  # fmt: skip
                exact = sum(
                    any(_is_all_of(one, part, image.bias, page) for part in loads) for one in image.rows
                )
                candidates.append((-complete, -exact, row.start, image))
    found: List[Image] = []
    taken: Set[Mapping] = set()
    # A page of the file may be the last one of a segment and the first one of the next: the bias that explains most
    # segments, and most rows from end to end, is that of an image, and a row belongs to one image.
    for _, _, _, image in sorted(candidates, key=lambda one: one[:3]):
        if taken.isdisjoint(image.rows):
            taken.update(image.rows)
            found.append(image)
    return sorted(found, key=lambda image: image.start)


def _placed(rows: Sequence[Mapping], loads: Sequence[Segment], bias: int, page: int) -> Tuple[Mapping, ...]:
    return tuple(
        row for row in rows if any(_overlap(row, one, page) and _bias(row, one) == bias for one in loads)
    )


def runs(rows: Sequence[Mapping]) -> List[Tuple[Mapping, ...]]:
    """The rows of a file whose program headers cannot be had, where the offsets begin anew. Pure."""
    found: List[List[Mapping]] = []
    for row in sorted(row for row in rows if not row.mode.endswith("s")):
        if not found or row.offset == 0 or row.offset < found[-1][-1].offset:
            found.append([])
        found[-1].append(row)
    return [tuple(run) for run in found]


def _bias(row: Mapping, segment: Segment) -> int:
    return row.start - row.offset + segment.offset - segment.address


def _is_all_of(row: Mapping, segment: Segment, bias: int, page: int) -> bool:
    part = row.offset, row.offset + row.end - row.start
    return part == _pages(segment, page) and _bias(row, segment) == bias


def _overlap(row: Mapping, segment: Segment, page: int) -> bool:
    first, last = _pages(segment, page)
    return row.offset < last and first < row.offset + row.end - row.start


def _is_code_of(row: Mapping, segment: Segment, ends: int, page: int) -> bool:
    """Whether a row can be the segment's. Code may be one row with what lies beside it, where all that can be read
    can be run (personality(2), READ_IMPLIES_EXEC); where modes are not known, a row must be within the segment."""
    size = row.end - row.start
    if row.mode:
        return row.is_code and _overlap(row, segment, page) and row.offset + size <= ends
    first, last = _pages(segment, page)
    return first <= row.offset and row.offset + size <= last


def _pages(segment: Segment, page: int) -> Tuple[int, int]:
    """The part of the file that is mapped for a segment."""
    return segment.offset // page * page, -(-(segment.offset + segment.file_size) // page) * page
