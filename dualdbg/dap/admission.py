"""Who may debug through a port: a program of the same user, or a client that knows the secret or a child's token."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Container
from typing import Any

from ..errors import CommandError
from ..protocol import dap
from ..target.peers import is_ours, user_of_client

FIELD = "secret"  # the argument of launch and attach that holds the secret
CHILD = "childToken"
_HINT = "dualdbg dap --listen PORT --secret-file FILE"
_BEFORE = ("initialize", "cancel", "disconnect")  # what may come before the secret: it starts nothing


class NotAdmitted(CommandError):
    """The client has not shown that it may debug. The connection ends."""


class ChildIsGone(NotAdmitted):
    """The child process of a session has ended, or nobody waits with it any more. That is no mistake of the user."""

    def __init__(self, why: str = "the child process that this session was for is gone") -> None:
        super().__init__(why, "start its program again")


class Gate:
    """Lets one client's messages through: few at first, all of them once the client has shown that it may debug.

    ``secret`` is what the client has to know, if anything. ``children`` are tokens; each of them admits a client to
    one child process. ``only_children``: a client may come for nothing else.
    """

    def __init__(
        self, secret: str | None = None, children: Container[str] = (), *, only_children: bool = False
    ) -> None:
        self._secret = secret
        self._children = children
        self.is_open = secret is None and not only_children

    def admit(self, message: dap.Message) -> dap.Message:
        """The message without the secret. Raises NotAdmitted when the message may not pass."""
        arguments = message.get("arguments")
        shown: Any = None
        if isinstance(arguments, dict) and FIELD in arguments:
            shown = arguments[FIELD]
            message = {**message, "arguments": {k: v for k, v in arguments.items() if k != FIELD}}
        if self.is_open or message.get("command") in _BEFORE:
            return message
        if message.get("command") not in ("launch", "attach"):
            raise NotAdmitted("this port serves nobody who has not shown its secret", _hint_for_client())
        if not self._knows(shown) and not self._has_child(arguments):
            raise self._refusal(shown, arguments)
        self.is_open = True
        return message

    def _knows(self, shown: Any) -> bool:
        if self._secret is None or not isinstance(shown, str):
            return False
        return secrets.compare_digest(shown.encode(errors="replace"), self._secret.encode())

    def _has_child(self, arguments: Any) -> bool:
        word = arguments.get(CHILD) if isinstance(arguments, dict) else None
        return isinstance(word, str) and word in self._children

    def _refusal(self, shown: Any, arguments: Any) -> NotAdmitted:
        if isinstance(arguments, dict) and CHILD in arguments:
            return ChildIsGone()
        if self._secret is None:
            return NotAdmitted(
                "only child processes of a program that is debugged are to be had here",
                'start a session of your own: "request": "launch"',
            )
        if shown is None:
            return NotAdmitted("this port wants a secret, and the configuration has none", _hint_for_client())
        return NotAdmitted("the secret of the configuration is not that of this port", _hint_for_client())


def _hint_for_client() -> str:
    return f'"{FIELD}" of launch and attach is the first line of the file that --secret-file names'


def trouble_with_peer(connection: socket.socket) -> str:
    """Why a client that shows no secret may not debug; empty when it belongs to this user or to root, and may.

    Raises PeerGone when the client has gone and its user cannot be found any more.
    """
    uid = user_of_client(connection)
    if uid is None:
        return f"the kernel does not say whose it is; who knows a secret may come: {_HINT}"
    return "" if is_ours(uid) else f"it is user {uid}'s; who knows a secret may come: {_HINT}"
