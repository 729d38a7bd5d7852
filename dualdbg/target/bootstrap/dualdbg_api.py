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
HIGH_DESCRIPTOR = 500  # the program's own descriptors keep the low numbers that they have without us
ATTACHED = "dualdbg_breakpointhook"  # pydevd has it in a process that was attached to (dualdbg_attach.py)


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


def install(debugpy: Any, pydevd: Any, earlier: Any, load_beside: Any, follows: bool) -> None:
    """``debugpy`` is the one that we have imported; ``earlier`` what :func:`set_aside` has found, or None.

    ``load_beside`` is that of sitecustomize.py; ``follows``: children of the program are debugged too.
    """
    public: Any = sys.modules["debugpy.public_api"]
    ours = {
        "listen": listening(debugpy.listen, pydevd),
        "connect": connecting(debugpy.connect, pydevd),
        "get_cli_options": options_of(debugpy.get_cli_options, pydevd, public, load_beside, follows),
    }
    debugpy.__dict__.update(ours)
    public.__dict__.update(ours)
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


def connecting(usual: Any, pydevd: Any) -> Any:
    """What takes the place of ``debugpy.connect``, which is ``usual``.

    It is what ``python -m debugpy --connect`` does in a child that is followed, and so is connected. Even then debugpy
    would have children of that one started by its own means, which lead nowhere.
    """
    import functools

    @functools.wraps(usual)
    def connect(endpoint: Any, *args: Any, **named: Any) -> Any:
        if not pydevd._is_attached():
            return usual(endpoint, *args, **named)
        address_of(endpoint)
        return None

    return connect


def options_of(usual: Any, pydevd: Any, public: Any, load_beside: Any, follows: bool) -> Any:
    """What takes the place of ``debugpy.get_cli_options``, which is ``usual``.

    A program asks for them to start a child by ``python -m debugpy --connect``, with the address and the token.
    """
    import functools

    made: Any = []

    @functools.wraps(usual)
    def get_cli_options() -> Any:
        given = usual()
        if given is not None or not pydevd._is_attached() or hasattr(pydevd, ATTACHED):
            return given
        what = what_runs(load_beside)
        if what is None:
            return None
        if not made:
            made.append(ReservedPort())
        return public.CliOptions(
            mode="connect",
            target_kind=what[0],
            target=what[1],
            address=(LOOPBACK, made[0].port),
            adapter_access_token=made[0].token,
            config={"qt": "none", "subProcess": follows},
        )

    return get_cli_options


class ReservedPort:
    """A port of loopback at which nobody listens, and nobody else can as long as the program lives; and a token.

    A child that is followed has its debugger already, and connects nowhere. Any other is refused there at once.
    """

    def __init__(self) -> None:
        import binascii
        import fcntl
        import os
        import socket

        with socket.socket() as one:
            one.bind((LOOPBACK, 0))
            self.port = int(one.getsockname()[1])
            try:
                self.held = fcntl.fcntl(one.fileno(), fcntl.F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR)
            except OSError:  # the limit of open files is lower than that
                self.held = one.detach()
        self.token = binascii.hexlify(os.urandom(32)).decode()


def what_runs(load_beside: Any) -> Any:
    """What the interpreter was told to run, by debugpy's word for its kind; None where that cannot be told."""
    try:
        with open("/proc/self/cmdline", "rb") as file:
            words = file.read().decode("utf-8", "surrogateescape").split("\0")[:-1]
        rest = load_beside("../../shared/python_command").read(words).rest
    except OSError:  # the program is in a root of its own
        return None
    if rest[:1] in (["-m"], ["-c"]):
        return ("module" if rest[0] == "-m" else "code", rest[1]) if len(rest) > 1 else None
    # A program with an interpreter in it, and one that reads its code from a terminal, run no file of Python.
    return ("file", rest[0]) if rest and hasattr(sys.modules.get("__main__"), "__file__") else None


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
