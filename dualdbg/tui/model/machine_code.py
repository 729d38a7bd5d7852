"""Machine code for the source pane: offsets in the function, and names for the targets of calls and jumps. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...session.inspect.disassembly import Instruction as CodeRow


@dataclass(frozen=True)
class Instruction:
    """One instruction of a disassembly. ``is_note``: a text about the instruction that follows, with its address."""

    address: int
    text: str
    function: str = ""
    is_note: bool = False


@dataclass(frozen=True)
class Listing:
    """Machine code around an address."""

    title: str
    instructions: tuple[Instruction, ...]


def with_note(listing: Listing, address: int, text: str) -> Listing:
    """The listing with a text above the instruction at an address, and no other; as it is where it has none there."""
    rows: list[Instruction] = []
    for row in listing.instructions:
        if row.address == address and not row.is_note:
            rows.append(Instruction(address, text, is_note=True))
        if not row.is_note:
            rows.append(row)
    found = replace(listing, instructions=tuple(rows))
    return found if len(rows) > len([row for row in rows if not row.is_note]) else listing


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
