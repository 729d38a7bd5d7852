"""The part of a client's connection that the other parts of the adapter use."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol

from ...protocol.dap_types import Sender


class ClientPort(Sender, Protocol):
    """Sends events and requests of the protocol, each with the body that DAP gives it, and text for the user."""

    def output(self, category: str, text: str) -> None:
        """Text for the user; may be left out while the client does not read."""

    def room(self) -> Coroutine[Any, Any, None] | None:
        """What to await before more text is sent; None where there is room."""
