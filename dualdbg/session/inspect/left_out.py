"""Files that the user's ``rules`` leave out of the stack of a Python stop, as debugpy does. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from ...known.python_files import is_of_a_library
from ...model import Frame, PythonFrame, Role


@dataclass(frozen=True)
class LeftOut:
    """``some``: the user has a rule that leaves files out. debugpy applies it, by patterns of its own.

    Without ``just_my_code`` a library is left out by such a rule alone. With it debugpy leaves all of them out, which
    is no reason to hide them here.
    """

    some: bool = False
    just_my_code: bool = True

    @classmethod
    def of(cls, debugpy: Mapping[str, Any], just_my_code: bool) -> LeftOut:
        """By the options that debugpy is given."""
        rules = debugpy.get("rules") or ()
        return cls(any(rule.get("include") is False for rule in rules), just_my_code)

    def hidden(self, frames: tuple[Frame, ...], named: Sequence[PythonFrame]) -> tuple[Frame, ...]:
        """The same frames, with those folded away whose files are left out: debugpy has ``named`` none of theirs.

        A single frame may be missing there for another reason: its line is another while an exception goes through it.
        """
        if not self.some or not named:
            return frames
        shown = {frame.file for frame in named if frame.file is not None}
        return tuple(
            replace(frame, role=Role.PLUMBING)
            if isinstance(frame, PythonFrame) and frame.file is not None and self._hides(frame.file, shown)
            else frame
            for frame in frames
        )

    def _hides(self, file: str, shown: set[str]) -> bool:
        if self.just_my_code and is_of_a_library(file):
            return False
        path = PurePath(file)
        if path.is_absolute():
            return os.path.normpath(file) not in shown
        return path.name not in {PurePath(one).name for one in shown}
