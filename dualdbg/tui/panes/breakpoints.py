"""The breakpoints pane: state, hits and condition of each, changed in place."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding, BindingType
from textual.message import Message

from ...console.names import file_name, package_path
from ...model import Breakpoint, BreakpointState, Location
from ..model.looks import Part, fit
from ..widgets.row_view import Row, RowsView

_MARKS = {
    BreakpointState.VERIFIED: ("●", "enabled"),
    BreakpointState.UNCERTAIN: ("◐", "uncertain"),
    BreakpointState.PENDING: ("◌", "pending"),
    BreakpointState.REJECTED: ("✗", "error"),
}


def breakpoint_rows(breakpoints: Sequence[Breakpoint], opened: frozenset[int]) -> list[Row]:
    """A line for each breakpoint; below an opened one, a line for each of its places."""
    rows = []
    for one in breakpoints:
        rows.append(Row(one.id, partial(_breakpoint, one, one.id in opened), one))
        if one.id in opened:
            rows += [
                Row((one.id, index), partial(_location, location), location)
                for index, location in enumerate(one.locations)
            ]
            if one.message:
                rows.append(Row((one.id, "message"), partial(_message, one.message), one))
    return rows


def suffixes(one: Breakpoint) -> str:
    """Everything about a breakpoint but its place, in words."""
    spec = one.spec
    parts = [
        f"if {spec.condition}" if spec.condition else "",
        f"from hit {spec.hits}" if spec.hits else "",
        f"hits {spec.hit_condition}" if spec.hit_condition else "",
        f"thread {spec.thread}" if spec.thread else "",
        "outermost" if spec.outermost else "",
        f"log {spec.log}" if spec.log else "",
        "once" if spec.temporary else "",
        f"{one.hit_count} hit{'s' if one.hit_count != 1 else ''}" if one.hit_count else "",
        "off" if not one.enabled else one.state.value if one.state is not BreakpointState.VERIFIED else "",
    ]
    return ", ".join(part for part in parts if part)


def _breakpoint(one: Breakpoint, opened: bool, room: int) -> Sequence[Part]:
    mark, look = _MARKS[one.state] if one.enabled else ("○", "disabled")
    fold = " " if not one.locations and not one.message else "▾" if opened else "▸"
    start = f"{fold}{mark} {one.id:<2} "
    rest = suffixes(one)
    spec = one.spec
    place = spec.text if spec.line is None else spec.text.replace(spec.subject, package_path(spec.subject))
    text = fit(place, max(room - len(start) - min(len(rest) + 2, room // 2), 8))
    return (
        (start, look),
        (text, "" if one.enabled else "dim"),
        (f"  {fit(rest, max(room - len(start) - cell_len(text) - 2, 0))}", "dim"),
    )


def _location(location: Location, room: int) -> Sequence[Part]:
    place = f"{package_path(location.file)}:{location.line}" if location.file else file_name(location.library)
    address = f"{location.address:#x} " if location.address is not None else ""
    inlined = f"inlined in {location.inlined_in} " if location.inlined_in else ""
    return ((fit(f"     {place} {location.function or ''} {address}{inlined}", room), "dim"),)


def _message(text: str, room: int) -> Sequence[Part]:
    return ((fit(f"     {text}", room), "warning"),)


class BreakpointsView(RowsView):
    """Space switches a breakpoint on and off, delete removes it, e changes it, enter shows its places."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "wish('toggle')", "On/off", id="breakpoints.toggle"),
        Binding("delete,x", "wish('remove')", "Remove", id="breakpoints.remove"),
        Binding("e", "wish('edit')", "Change", id="breakpoints.edit"),
        Binding("plus,a", "wish('add')", "Add", id="breakpoints.add"),
    ]

    class Wished(Message):
        """The user wants to toggle, remove, edit or add; ``breakpoint`` is the one at the cursor."""

        def __init__(self, what: str, breakpoint: Breakpoint | None) -> None:
            super().__init__()
            self.what = what
            self.breakpoint = breakpoint

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("No breakpoints: a adds one, F9 sets one on a line.", id=id)
        self._breakpoints: Sequence[Breakpoint] = ()
        self._opened: frozenset[int] = frozenset()

    def show_breakpoints(self, breakpoints: Sequence[Breakpoint]) -> None:
        """Show these breakpoints; those that were opened stay open."""
        self._breakpoints = breakpoints
        self.show_rows(breakpoint_rows(breakpoints, self._opened))

    def clicked(self, line: int, x: int) -> bool:
        row = self.rows[line]
        if isinstance(row.thing, Breakpoint) and x == 1:
            self.action_wish("toggle")
            return True
        if isinstance(row.thing, Breakpoint) and x == 0:
            self.action_choose()
            return True
        return False

    def action_wish(self, what: str) -> None:
        row = self.current
        one = next((one for one in self._breakpoints if row is not None and one.id in _ids(row)), None)
        if one is not None or what == "add":
            self.post_message(self.Wished(what, one))

    def action_choose(self) -> None:
        row = self.current
        if row is not None and isinstance(row.thing, Breakpoint):
            self._opened ^= {row.thing.id}
            self.show_breakpoints(self._breakpoints)
        else:
            super().action_choose()


def _ids(row: Row) -> tuple[int, ...]:
    key = row.key[0] if isinstance(row.key, tuple) else row.key
    return (key,) if isinstance(key, int) else ()
