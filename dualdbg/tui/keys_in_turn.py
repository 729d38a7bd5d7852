"""Keys that come together: each goes to the pane that has the focus once those before it have done what they do.

Textual gives a key at once to the widget that has the focus, and leads it from there up to the bindings of the app. Of
keys that a terminal sends in one piece all would go to the same widget, also those behind one that moves the focus.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable

from textual.events import Event
from textual.message import Message
from textual.message_pump import MessagePump

_ROUNDS = 2  # what a widget tells itself when it gets a key comes behind the first


class KeyDone(Message):
    """Follows a key from the widget up to the app, behind everything that is done with the key on its way."""


class KeysInTurn:
    """``give`` gives a key to what ``target`` says, or has it done by itself."""

    def __init__(self, give: Callable[[Event], Awaitable[None]], target: Callable[[], MessagePump]) -> None:
        self._give = give
        self._target = target
        self._waiting: deque[Event] = deque()
        self._busy: MessagePump | None = None
        self._rounds = 0

    async def add(self, event: Event) -> None:
        """A key, or a text that was pasted, has come."""
        self._waiting.append(event)
        await self._go_on()

    async def done(self) -> None:
        """A :class:`KeyDone` has arrived at the app."""
        self._follow(self._busy)
        await self._go_on()

    async def _go_on(self) -> None:
        while self._waiting and (self._busy is None or not self._busy.is_running):
            event, target = self._waiting.popleft(), self._target()
            await self._give(event)
            self._rounds = _ROUNDS
            self._follow(target if event.is_forwarded else None)

    def _follow(self, target: MessagePump | None) -> None:
        """The next round behind the key, if there is one."""
        again = target is not None and self._rounds > 0 and target.post_message(KeyDone())
        self._busy = target if again else None
        self._rounds -= 1
