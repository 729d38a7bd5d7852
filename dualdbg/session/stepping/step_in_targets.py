"""The calls of a native line. A user chooses one of them to step into."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Protocol

from ...model import NativeFrame
from ..engines import CodeReading
from ..ports import Mapped

_MOST = 50  # nobody chooses among more


class Debuggee(Protocol):
    """What is read of a session."""

    @property
    def native(self) -> CodeReading:
        """Reads calls and instructions."""

    @property
    def breakpoints(self) -> Mapped:
        """The files that are mapped into the process."""


@dataclass(frozen=True)
class Call:
    """A call of a function that has a name: the address of its instruction, and that of the function."""

    site: int
    address: int
    function: str


async def calls_ahead(session: Debuggee, frame: NativeFrame) -> list[Call]:
    """The calls of the line of ``frame``, which is innermost, in the order of the instructions.

    Without debug info: the calls of the rest of its function. Calls through a pointer are left out: where they go is
    known only when they are made.
    """
    module = session.breakpoints.image.module_at(frame.pc)
    if module is None or module.library is None:
        return []
    code = module.library.frames.find(frame.pc - module.bias)
    if code is None:
        return []
    start, end = code.start + module.bias, code.end + module.bias
    rows = await session.native.calls(start, end)
    if frame.line is None:
        rows = [row for row in rows if row.site >= frame.pc]
    else:
        lines = await session.native.disassemble_until(start, end)
        ours = {
            row.address for row in lines if (_name(row.file), row.line) == (_name(frame.file), frame.line)
        }
        rows = [row for row in rows if row.site in ours]
    calls: dict[int, Call] = {}
    for row in rows:
        name = session.breakpoints.image.describe(row.target)[0] if row.target is not None else None
        if row.target is not None and name is not None:
            calls.setdefault(row.target, Call(row.site, row.target, name))
    return list(calls.values())[:_MOST]


def _name(file: str | None) -> str:
    """Frames and instructions may spell the folders of one file differently."""
    return PurePath(file or "").name
