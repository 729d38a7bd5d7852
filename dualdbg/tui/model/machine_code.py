"""Machine code for the source pane: offsets in the function, and names for the targets of calls and jumps. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...session.inspect.disassembly import Instruction as CodeRow


@dataclass(frozen=True)
class Instruction:
    """One instruction of a disassembly."""

    address: int
    text: str
    function: str = ""


@dataclass(frozen=True)
class Listing:
    """Machine code around an address."""

    title: str
    instructions: tuple[Instruction, ...]


def listing_of(rows: Sequence[CodeRow], address: int) -> Listing:
    """The title is the function that ``address`` belongs to, if it is known."""
    title = next((row.function for row in rows if row.address == address and row.function), "")
    width = max((len(str(row.offset)) for row in rows), default=1) + 3
    return Listing(
        title,
        tuple(
            Instruction(
                row.address,
                f"{f'<+{row.offset}>' if row.function else '':<{width}}  {_with_target(row)}",
                row.function or "",
            )
            for row in rows
        ),
    )


def _with_target(row: CodeRow) -> str:
    """An instruction with the name of where it goes instead of the address."""
    if not row.target:
        return row.text
    name, _, offset = row.target.rpartition("+")
    inside = name == row.function and offset.isdigit()
    return row.text.rpartition("0x")[0] + (f"<+{offset}>" if inside else row.target)
