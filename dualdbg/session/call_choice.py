"""The calls of a native line, of which a user chooses the one to step into."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from ..model import NativeFrame

if TYPE_CHECKING:
    from .session import Session

_MOST = 50  # more is no choice any more


@dataclass(frozen=True)
class Call:
    """A call of a function that has a name: where its instruction is, and where the function begins."""

    site: int
    address: int
    function: str


async def calls_ahead(session: Session, frame: NativeFrame) -> list[Call]:
    """What the line of ``frame``, which is innermost, calls; without lines, what the rest of its function does.

    In the order of the instructions. Calls through a pointer are left out: where they go is known when they are made.
    """
    module = session.breakpoints.image.module_at(frame.pc)
    if module is None or module.library is None:
        return []
    code = module.library.frames.find(frame.pc - module.bias)
    if code is None:
        return []
    start, end = code.start + module.bias, code.end + module.bias
    rows = [row for row in await session.native.helper("calls", start, end) if row["target"] is not None]
    if frame.line is None:
        rows = [row for row in rows if row["site"] >= frame.pc]
    else:
        lines = await session.native.helper("disassemble-until", start, end)
        ours = {
            row["address"]
            for row in lines
            if (_name(row["file"]), row["line"]) == (_name(frame.file), frame.line)
        }
        rows = [row for row in rows if row["site"] in ours]
    calls: dict[int, Call] = {}
    for row in rows:
        name, _ = session.breakpoints.image.describe(row["target"])
        if name is not None:
            calls.setdefault(row["target"], Call(row["site"], row["target"], name))
    return list(calls.values())[:_MOST]


def _name(file: str | None) -> str:
    """Frames and instructions may spell the folders of one file differently."""
    return PurePath(file or "").name
