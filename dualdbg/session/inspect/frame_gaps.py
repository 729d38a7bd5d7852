"""What gdb is given of code that has no call frame information: what is made of the code itself.

gdb guesses the way out of such code, and the stack beyond it is wrong, or ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ...model import NativeFrame
from ...snapshot.unwind.gaps import has_gap
from ...symbols.address_space import AddressSpace, Module
from ...symbols.gdb_feed.unwind_file import made_unwind_file
from ...symbols.objfile import Objfile

_MANY = 20_000  # addresses are kept


class FrameGaps:
    """Which frames of a process lie in code of which the unwind tables of its files say nothing."""

    def __init__(self, image: AddressSpace) -> None:
        self._image = image
        self._covered: set[int] = set()  # addresses of frames of which a table tells, or no file
        self._version = 0  # of the mapped files

    def modules_of(self, frames: Iterable[NativeFrame]) -> list[Module]:
        """The modules in whose gaps some of these frames lie."""
        if self._version != self._image.version or len(self._covered) > _MANY:
            self._covered.clear()
            self._version = self._image.version
        found: list[Module] = []
        for address in {frame.pc - frame.is_call for frame in frames} - self._covered:
            module = self._image.module_at(address)
            if module is None or module.library is None or not has_gap(module.library, address - module.bias):
                self._covered.add(address)
            elif module not in found:
                found.append(module)
        return found


def file_for_gaps(library: Objfile) -> Path | None:
    """What gdb is to be given for the gaps of a library; None where nothing is known of their code."""
    # It decodes machine code, which few sessions have to.
    from ...snapshot.unwind.made_frames import frames_of_gaps

    return made_unwind_file(library, frames_of_gaps)
