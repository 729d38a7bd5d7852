"""What became of each node that was asked: its answer, or why there is none and what to type next. Pure."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ... import __version__
from ...errors import DualdbgError, UsageError
from ...model.stops import signal_in_words

_NOT_FOUND = (126, 127)  # of a shell, for what it cannot run (POSIX, "Exit Status for Commands")
_SIGNALLED = 128  # and more: the number of the signal that ended it


class Trouble(enum.Enum):
    """Why a node has no answer."""

    TIMEOUT = "timeout"
    INTERRUPTED = "interrupted"
    NOT_STARTED = "not-started"
    STATUS = "status"
    NOTHING = "nothing"
    TOO_LONG = "too-long"
    LEFT_OUT = "left-out"


@dataclass(frozen=True)
class Answer:
    """Of one node. ``sent`` is the file with what it sent; where there is ``trouble`` that is not used.

    ``status``: how the command ended, as a shell would tell it. ``detail``: the last lines that it wrote to stderr, or
    the system's words for why it could not be started; shown, never interpreted.
    """

    node: str
    sent: Path | None = None
    trouble: Trouble | None = None
    status: int | None = None
    detail: str = ""


@dataclass(frozen=True)
class Missing:
    """Nodes without an answer for the same reason, and what to do about it."""

    nodes: tuple[str, ...]
    reason: str
    hint: str
    details: tuple[str, ...] = field(default=())


def missing(
    answers: Iterable[Answer],
    limit: float,
    statuses: Mapping[int, str],
    by_hand: Mapping[str, str],
    dualdbg: str = "dualdbg",
) -> list[Missing]:
    """The nodes without an answer, those of the same reason together. ``statuses`` are meanings of the launcher's own;
    ``by_hand`` has the words that run a command on a node, and ``dualdbg`` those that call it there, as a user would
    type them."""
    found: dict[tuple[Trouble, int | None], list[Answer]] = {}
    for answer in answers:
        if answer.trouble is not None:
            found.setdefault((answer.trouble, answer.status), []).append(answer)
    rows = []
    for (trouble, status), those in found.items():
        prefix = by_hand.get(those[0].node, "")
        reason, hint = _words(trouble, status, limit, statuses, prefix, f"{prefix} {dualdbg}")
        hint = hint.strip()
        details = dict.fromkeys(answer.detail for answer in those if answer.detail)
        rows.append(Missing(tuple(answer.node for answer in those), reason, hint, tuple(details)))
    return rows


def _words(
    trouble: Trouble, status: int | None, limit: float, statuses: Mapping[int, str], by_hand: str, called: str
) -> tuple[str, str]:
    if trouble is Trouble.STATUS and status is not None:
        return _of_status(status, statuses, by_hand, called)
    return {
        Trouble.TIMEOUT: (
            f"no answer within {limit:g} s",
            f"--timeout {2 * limit:g}, or look yourself: {by_hand} uptime",
        ),
        Trouble.INTERRUPTED: ("not heard of when it was interrupted", ""),
        Trouble.NOT_STARTED: ("its command could not be started here", ""),
        Trouble.NOTHING: (
            "the command ended well, but sent nothing that dualdbg writes",
            f"is that dualdbg? {called} --version",
        ),
        Trouble.TOO_LONG: ("it sent more than any job needs, and was not read to the end", ""),
        Trouble.LEFT_OUT: ("it does not run", ""),
    }[trouble]  # fmt: skip


def _of_status(status: int, statuses: Mapping[int, str], by_hand: str, called: str) -> tuple[str, str]:
    if status in statuses:
        return f"{statuses[status]} (exit status {status})", f"{by_hand} true"
    if status in _NOT_FOUND:
        return (
            f"there is no dualdbg that can be run (exit status {status})",
            "install it there, or say where it is: --dualdbg PATH",
        )
    if status == DualdbgError.exit_status:
        return f"its dualdbg could read nothing (exit status {status})", f"{called} ps"
    if status == UsageError.exit_status:
        return (
            f"its dualdbg does not know what it was asked (exit status {status}): it is of another version than "
            f"{__version__}",
            f"{called} --version",
        )
    if status > _SIGNALLED:
        return f"its command was ended by {signal_in_words(status - _SIGNALLED)}", f"{called} ps"
    return f"its command failed (exit status {status})", f"{called} ps"


def names(nodes: Sequence[str], most: int = 10) -> str:
    """Nodes in a line, of many the first ones."""
    rest = f" and {len(nodes) - most} more" if len(nodes) > most else ""
    return ", ".join(nodes[:most]) + rest
