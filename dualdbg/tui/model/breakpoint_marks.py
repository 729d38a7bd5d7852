"""Which lines and addresses of what is shown have breakpoints. Pure but for looking at paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...model import Breakpoint, BreakpointKind, BreakpointSpec, BreakpointState
from ...system.source_files import means_file, same_file

_LINES = (BreakpointKind.PYTHON_LINE, BreakpointKind.NATIVE_LINE)
_PYTHON_FILES = (".py", ".pyw", ".pyi")
_LOOKS = {BreakpointState.VERIFIED: "enabled", BreakpointState.UNCERTAIN: "uncertain"}


def line_spec(file: str, line: int, python: bool) -> BreakpointSpec:
    """A breakpoint on a line of a file that is shown. ``python`` decides when the file's name does not tell."""
    kind = (
        BreakpointKind.PYTHON_LINE if python or file.endswith(_PYTHON_FILES) else BreakpointKind.NATIVE_LINE
    )
    return BreakpointSpec(f"{file}:{line}", kind, file, line)


def address_spec(address: int) -> BreakpointSpec:
    """The spec of a breakpoint at an address."""
    return BreakpointSpec(f"*{address:#x}", BreakpointKind.ADDRESS, f"{address:#x}")


def marks_of(breakpoints: Iterable[Breakpoint], file: str | None) -> dict[int | str, str]:
    """For the gutter: line or address (as text) to enabled, disabled, pending or uncertain."""
    marks: dict[int | str, str] = {}
    for one in breakpoints:
        look = _look(one)
        for place in places(one, file):
            if marks.get(place) != "enabled":
                marks[place] = look
    return marks


def at(breakpoints: Iterable[Breakpoint], file: str | None, line: int) -> list[Breakpoint]:
    """The breakpoints at a line of a file, or, without a file, at an address."""
    wanted = line if file is not None else f"{line:#x}"
    return [one for one in breakpoints if wanted in set(places(one, file))]


def places(one: Breakpoint, file: str | None) -> Iterator[int | str]:
    """The lines of ``file`` with breakpoints; without a file the addresses, as text."""
    if file is None:
        yield from (f"{location.address:#x}" for location in one.locations if location.address is not None)
        return
    found = [
        location.line
        for location in one.locations
        if location.file is not None and location.line is not None and same_file(location.file, file)
    ]
    yield from found
    if (
        not found
        and one.spec.kind in _LINES
        and one.spec.line is not None
        and means_file(one.spec.subject, file)
    ):
        yield one.spec.line


def _look(one: Breakpoint) -> str:
    if not one.enabled:
        return "disabled"
    return _LOOKS.get(one.state, "pending")
