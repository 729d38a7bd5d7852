"""The breakpoints of gdb's that one step has set: where it may end, and by what number gdb knows each."""

from __future__ import annotations

from dataclasses import dataclass, field

from .call_entries import CallEntries


@dataclass
class Momentary:
    """``landings``: where native code is returned to, with the lowest stack pointer that counts. ``entries``: native
    code that the Python line may enter, with its address; ``bodies``: the functions of the extension are among them.
    ``calls``: of a function without debug info. ``chosen``: the native call that the user chose.
    """

    landings: dict[int, int] = field(default_factory=dict)
    entries: dict[int, int] = field(default_factory=dict)
    bodies: bool = False
    calls: CallEntries | None = None
    chosen: list[int] = field(default_factory=list)

    @property
    def numbers(self) -> list[int]:
        """gdb's numbers of them all."""
        calls = self.calls.numbers if self.calls is not None else ()
        return [*self.landings, *self.entries, *self.chosen, *calls]
