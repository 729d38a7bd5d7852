"""Expressions that the user wants to see at every stop, beside the variables of frames of the same language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ...errors import DualdbgError
from ...model import Frame, Language, Value
from ...session.session import Session

MARK = "(watch) "  # what their names begin with, as debugpy's values of returns begin with (return)


@dataclass(frozen=True)
class Watch:
    """An expression. It was added in a frame of this language, and is evaluated in such frames."""

    expression: str
    language: Language


class Watches:
    """The list, in the order in which they were added."""

    def __init__(self) -> None:
        self._all: list[Watch] = []

    def add(self, expression: str, language: Language) -> None:
        """Add an expression at the end; nothing if it is in the list for this language."""
        watch = Watch(expression, language)
        if watch not in self._all:
            self._all.append(watch)

    def remove(self, name: str) -> bool:
        """Remove a watch by the name of its value; False when no watch has this name."""
        kept = [watch for watch in self._all if MARK + watch.expression != name]
        gone = len(kept) < len(self._all)
        self._all = kept
        return gone

    async def values(self, session: Session, tid: int, frame: Frame) -> Sequence[Value]:
        """The values of the watches in a frame. A watch that cannot be evaluated says why."""
        return [
            await self._value(session, tid, frame, watch)
            for watch in self._all
            if watch.language is frame.language
        ]

    async def _value(self, session: Session, tid: int, frame: Frame, watch: Watch) -> Value:
        name = MARK + watch.expression
        try:
            value = await session.inspector.evaluate(watch.expression, tid, frame, watch.language)
        except DualdbgError as error:
            return Value(name, "", error.message, watch.language)
        return replace(value, name=name)
