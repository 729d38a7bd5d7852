"""The source pane: a file with its gutter, or the machine code where there is no source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from textual.message import Message

from ..model.looks import Part
from ..model.machine_code import Listing, with_note
from ..model.source_text import SourceText
from ..widgets.line_view import LineView

Marks = Mapping["int | str", str]
"""What the gutter shows: line number, or address as text, to enabled, disabled or pending."""

_WIDE = 60  # columns; with as many, an instruction has its address beside its offset

_BREAKPOINT = {"enabled": "●", "disabled": "○", "pending": "◌", "uncertain": "◐"}


class SourceView(LineView):
    """Shows one file or one listing. The execution point is ``current``, a line from 1 on or an address."""

    class Toggled(Message):
        """The user wants a breakpoint at this place, or none: a line from 1 on, or an address."""

        def __init__(self, file: str | None, line: int) -> None:
            super().__init__()
            self.file = file
            self.line = line

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.source: SourceText | None = None
        self.listing: Listing | None = None
        self.message = ""
        self.current: int | None = None
        self.innermost = True  # the selected frame is the one that runs
        self._marks: Marks = {}

    # -- what is shown ----------------------------------------------------------------------------

    def show_source(self, source: SourceText, line: int | None, innermost: bool) -> None:
        """A file, at a line from 1 on."""
        self.source, self.listing, self.message = source, None, ""
        self.current, self.innermost = line, innermost
        self.lines_changed()
        if line is not None:
            self._go(line - 1)

    def show_listing(self, listing: Listing, address: int, current: int | None, innermost: bool) -> None:
        """Machine code, at an address; ``current`` is that of the execution point."""
        self.source, self.listing, self.message = None, listing, ""
        self.current, self.innermost = current, innermost
        self.lines_changed()
        for index, row in enumerate(listing.instructions):
            if row.address == address:
                self._go(index)

    def tell_above(self, text: str) -> None:
        """A text above the execution point, where that is shown in machine code: the Python line that led there."""
        if self.listing is None or self.current is None:
            return
        listing = with_note(self.listing, self.current, text)
        if listing != self.listing:
            was_there = self.place() == (None, self.current)
            at = self.cursor + len(listing.instructions) - len(self.listing.instructions)
            self.listing = listing
            self.lines_changed()
            self.cursor = at
            if was_there:  # nobody has gone elsewhere meanwhile
                self.show_line(at, centre=True)

    def show_message(self, text: str) -> None:
        """Nothing to show, and why."""
        self.source = self.listing = self.current = None
        self.message = text
        self.lines_changed()

    def recolour(self, source: SourceText) -> None:
        """The colours of the file have arrived."""
        if self.source is not None and self.source.path == source.path:
            self.source = source
            self.refresh()

    def mark(self, marks: Marks) -> None:
        """Take the breakpoints to mark."""
        if marks != self._marks:
            self._marks = marks
            self.redraw()

    def go_to(self, line: int) -> None:
        """To a line of the file, from 1 on."""
        self._go(min(max(line - 1, 0), max(self.line_count() - 1, 0)))

    def fit(self) -> None:
        self._go(self.cursor)

    def leave(self) -> None:
        """The target runs: there is no execution point."""
        self.current = None
        self.redraw()

    def _go(self, index: int) -> None:
        self.cursor = index
        margin = self.size.height // 4
        top = self.scroll_offset.y
        if not top + margin <= index < top + self.size.height - margin:
            self.show_line(index, centre=True)

    # -- lines --------------------------------------------------------------------------------------

    def line_count(self) -> int:
        if self.source is not None:
            return len(self.source.lines)
        return len(self.listing.instructions) if self.listing is not None else 0

    def content_width(self) -> int:
        if self.source is not None:
            return self.source.width + self._gutter
        if self.listing is not None:
            return max((len(row.text) for row in self.listing.instructions), default=0) + 22
        return 0

    @property
    def _gutter(self) -> int:
        return len(str(self.line_count())) + 3

    def parts(self, line: int, width: int) -> Sequence[Part]:
        if self.listing is not None:
            row = self.listing.instructions[line]
            if row.is_note:
                return (("  ", ""), (row.text, "dim"))
            here = row.address == self.current
            address = f"{row.address:#x}  " if width >= _WIDE or not row.function else ""
            return (*self._margin(f"{row.address:#x}", here), (address, "number"), (row.text, ""))
        assert self.source is not None
        number = line + 1
        margin = self._margin(number, number == self.current)
        label = f"{number:>{self._gutter - 3}} "
        return (*margin, (label, "number"), *self.source.line(line))

    def _margin(self, key: int | str, here: bool) -> tuple[Part, Part]:
        mark = self._marks.get(key, "")
        arrow = ("▶" if self.innermost else "▷") if here else " "
        return (_BREAKPOINT.get(mark, " "), mark), (arrow, "current" if here else "")

    def line_look(self, line: int) -> str:
        if self.current is None:
            return ""
        if self.listing is not None and self.listing.instructions[line].is_note:
            return ""
        key = self.listing.instructions[line].address if self.listing is not None else line + 1
        return "current" if key == self.current else ""

    def text(self, line: int) -> str:
        if self.source is not None:
            return self.source.lines[line]
        return super().text(line)

    def empty(self) -> Sequence[Part]:
        return ((self.message, "dim"),)

    def clicked(self, line: int, x: int) -> bool:
        if x < (self._gutter if self.source is not None else 2):
            self.toggle()
            return True
        return False

    def place(self) -> tuple[str | None, int] | None:
        """The file and line, or the address, at the cursor."""
        if self.source is not None and self.source.lines:
            return self.source.path, self.cursor + 1
        if self.listing is not None and self.listing.instructions:
            return None, self.listing.instructions[self.cursor].address
        return None

    def toggle(self) -> None:
        """The user wants the breakpoint at the cursor changed."""
        place = self.place()
        if place is not None:
            self.post_message(self.Toggled(*place))
