"""The one tree of exceptions: each says what was tried, why it failed, and what to type next."""

from __future__ import annotations


class DualdbgError(Exception):
    """Base of every error that a user may see.

    ``message`` says what was tried and why it failed; ``hint`` is what the user can type or
    change next (empty when nothing helps). ``exit_status`` is what the command line ends with.
    """

    exit_status = 3

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message


class UsageError(DualdbgError):
    """The user's own input cannot be read: a bad option, a bad breakpoint spec."""

    exit_status = 2


class SpecError(UsageError):
    """A breakpoint spec cannot be read, or means several things."""


class ConfigError(UsageError):
    """A configuration file cannot be read."""


class CommandError(DualdbgError):
    """A prompt command was refused; the session goes on as it was.

    ``traceback`` is that of the program's own code, where it raised: text that ends with ``message``; else empty.
    """

    traceback = ""


class WrongState(CommandError):
    """The request does not fit the state the target is in (for example: it is running)."""


class NoSuchThread(CommandError):
    """The program has no thread of this number."""


class NoSuchBreakpoint(CommandError):
    """There is no breakpoint of this number."""


class ThreadGone(CommandError):
    """debugpy has let go of a thread while it was asked about it."""


class StaleHandle(CommandError):
    """A frame, thread or variable handle belongs to an earlier stop (an older epoch)."""


class EvaluationError(CommandError):
    """An expression could not be evaluated, or to do so would be unsound."""


class TargetError(DualdbgError):
    """The target process cannot be started, found or read."""


class PermissionRefused(TargetError):
    """The kernel does not let us trace the target; the hint names the remedy."""


class TargetGone(TargetError):
    """The target process ended before the request could be carried out."""


class EngineError(DualdbgError):
    """An engine (gdb, debugpy) refused a request or cannot be started."""


class EngineUnusable(EngineError):
    """The program that was named as gdb is no gdb, or one that cannot be used."""


class EngineLost(EngineError):
    """An engine died or closed its connection."""


class EngineTimeout(EngineError):
    """An engine did not answer within the deadline of the request."""

    def __init__(self, message: str, hint: str = "on a slow machine: DUALDBG_PATIENCE=5 dualdbg …") -> None:
        super().__init__(message, hint)


class AnswerOwed(EngineTimeout):
    """An engine did not answer within the deadline of the request, and its answer is an event when it comes."""


class ProtocolError(EngineError):
    """An engine sent something that its protocol does not allow."""


class SymbolError(DualdbgError):
    """A library or symbol file cannot be read."""


class UnreadableMemory(DualdbgError):
    """Memory of the target cannot be read at an address."""
