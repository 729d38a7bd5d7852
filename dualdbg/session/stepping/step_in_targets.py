"""The calls of a native line, of which a user chooses one to step into; and where a user may move a thread to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import Protocol

from ...backends.native import AskingGdb
from ...model import NativeFrame
from ...shared.requests.code import DecodedInstruction, DisassembleUntil, FindCalls
from ..ports import Mapped

_MOST = 50  # nobody chooses among more


class Debuggee(Protocol):
    """What is read of a session."""

    @property
    def native(self) -> AskingGdb:
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


def _code_of(session: Debuggee, address: int) -> tuple[int, int] | None:
    """The start and the end of the function at an address, where its file tells."""
    module = session.breakpoints.image.module_at(address)
    if module is None or module.library is None:
        return None
    code = module.library.frames.find(address - module.bias)
    return (code.start + module.bias, code.end + module.bias) if code is not None else None


async def place_of_line(
    session: Debuggee, frame: NativeFrame, file: str, line: int
) -> DecodedInstruction | None:
    """The first instruction of a line in the function of ``frame``: of that line, or the next one that has code.

    None where the function has no such line, as in other functions: a thread has none of their locals, and would
    return from them to nowhere.
    """
    code = _code_of(session, frame.pc)
    if code is None:
        return None
    rows = await session.native.ask(DisassembleUntil(*code))
    ours = [(row.line, row.address, row) for row in rows if row.line and _name(row.file) == _name(file)]
    there = [one for one in ours if one[0] >= line]
    begins_before = any(one[0] <= line for one in ours)
    return min(there, key=lambda one: one[:2])[2] if there and begins_before else None


async def calls_ahead(session: Debuggee, frame: NativeFrame) -> list[Call]:
    """The calls of the line of ``frame``, which is innermost, in the order of the instructions.

    Without debug info: the calls of the rest of its function. Calls through a pointer are left out: where they go is
    known only when they are made.
    """
    code = _code_of(session, frame.pc)
    if code is None:
        return []
    start, end = code
    rows = await session.native.ask(FindCalls(start, end))
    if frame.line is None:
        rows = [row for row in rows if row.site >= frame.pc]
    else:
        lines = await session.native.ask(DisassembleUntil(start, end))
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
