"""Runs in the target: debugpy's functions for programs, where dualdbg is the debugger that a program would wait for.

A program that calls ``debugpy.listen`` wants to be debugged, and is. debugpy would start an adapter all the same, to
which nobody can connect usefully, and which outlives the call. All other functions (``wait_for_client``,
``breakpoint``, ``debug_this_thread``) find pydevd connected, and do as under debugpy's own adapter. CPython 3.8 and
later.
"""

from __future__ import annotations

import operator
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOOPBACK = "127.0.0.1"
PORTS = 1 << 16


def set_aside() -> Any:
    """Takes a debugpy of the program's own, which it has not used yet, out of ``sys.modules``; None without one.

    With its parts left there, a debugpy of another version would be made of both.
    """
    earlier = sys.modules.get("debugpy")
    if earlier is not None and "pydevd" not in sys.modules:
        for name in list(sys.modules):
            if name == "debugpy" or name.startswith("debugpy."):
                del sys.modules[name]
        return earlier
    return None


def install(debugpy: Any, pydevd: Any, earlier: Any) -> None:
    """``debugpy`` is the one that we have imported; ``earlier`` what :func:`set_aside` has found, or None."""
    debugpy.listen = listening(debugpy.listen, pydevd)
    sys.modules["debugpy.public_api"].listen = debugpy.listen  # type: ignore[attr-defined]
    if earlier is not None:  # the program knows it by this module, and has to get all of one version
        earlier.__dict__.update({name: getattr(debugpy, name) for name in debugpy.__all__})


def listening(usual: Any, pydevd: Any) -> Any:
    """What takes the place of ``debugpy.listen``, which is ``usual``."""
    import functools

    called: Any = []

    @functools.wraps(usual)
    def listen(*args: Any, **named: Any) -> Any:
        if not pydevd._is_attached():  # dualdbg has let go of the program
            return usual(*args, **named)
        return listen_to_us(*args, **named)

    def listen_to_us(endpoint: Any, *, in_process_debug_adapter: bool = False) -> Any:
        address = address_of(endpoint)
        if called:
            raise RuntimeError("debugpy.listen() has already been called on this process")
        called.append(address)
        tell(
            pydevd,
            "debugpy.listen() does nothing here: dualdbg debugs the program, nobody else can connect\n",
        )
        return address

    return listen


def address_of(endpoint: Any) -> Any:
    """Host and port. Raises what debugpy raises for what is none; port 0 becomes one that is free."""
    try:
        host, port = endpoint
    except (TypeError, ValueError):
        host, port = LOOPBACK, endpoint
    try:
        port = operator.index(port)
    except TypeError:
        raise ValueError("expected port or (host, port)") from None
    if not 0 <= port < PORTS:
        raise ValueError("invalid port number")
    return host, port or free_port()


def free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind((LOOPBACK, 0))
        return int(one.getsockname()[1])


def tell(pydevd: Any, text: str) -> None:
    """Say it to the user of the debugger, not on the program's streams."""
    debugger = pydevd.get_global_debugger()
    debugger.writer.add_command(debugger.cmd_factory.make_console_message(text))


class BreakpointHook:
    """What ``breakpoint()`` does in a process that was attached to: ours while we are there, then its own again."""

    def __init__(self, own: Any) -> None:
        self.own = own
        self.ours: Any = sys.breakpointhook

    def begin(self) -> None:
        """We are there."""
        if sys.breakpointhook is not self.ours:
            self.own, sys.breakpointhook = sys.breakpointhook, self.ours

    def end(self) -> None:
        """We are gone. A hook that the program has set meanwhile stays."""
        if sys.breakpointhook is self.ours:
            sys.breakpointhook = self.own
