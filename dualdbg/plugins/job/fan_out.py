"""Runs a command for each node, many at a time, and keeps what each wrote: bounded, with a time limit for each.

The commands write into files, not into pipes: a helper that one leaves behind, such as ssh's master connection, keeps
a pipe open for ever. So it is their end that is waited for.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...shared.pidfds import pidfd_open
from ...system.patience import patient
from .answers import Answer, Trouble

MOST_SENT = 64 << 20  # bytes of one node, packed
_MOST_STDERR = 2000  # bytes, the last ones
_PR_SET_PDEATHSIG = 1
_SIGNALLED = 128
# Seconds to tidy up: mpirun, which has a folder in $TMPDIR, gives what it has started one to end.
_GRACE = patient(3.0)

Heard = Callable[[Answer], None]


@dataclass(frozen=True)
class Asking:
    """How nodes are asked: ``limit`` in seconds for each, ``window`` so many at a time, files go to ``folder``."""

    limit: float
    window: int
    folder: Path


def fan_out(commands: Mapping[str, Sequence[str]], asking: Asking, heard: Heard) -> bool:
    """Run the command of each node; ``heard`` is called with each answer as it comes, once for each node.

    Ctrl-C ends what still runs: these nodes are then told as interrupted, and False is returned. For the main thread.
    """
    with _interrupts() as interrupted, selectors.DefaultSelector() as selector:
        selector.register(interrupted, selectors.EVENT_READ)
        waiting = deque(
            (node, command, asking.folder / str(at)) for at, (node, command) in enumerate(commands.items())
        )
        running: dict[int, _Command] = {}
        try:
            while waiting or running:
                while waiting and len(running) < asking.window:
                    try:
                        command = _Command(*waiting.popleft(), time.monotonic() + asking.limit)
                    except _NotStarted as error:
                        heard(error.answer)
                        continue
                    running[command.pidfd] = command
                    selector.register(command.pidfd, selectors.EVENT_READ)
                patience = min((each.deadline for each in running.values()), default=0.0) - time.monotonic()
                ready = {key.fd for key, _ in selector.select(max(0.0, patience))}
                if interrupted in ready:
                    return False
                for pidfd, command in [*running.items()]:
                    if pidfd in ready or command.is_over():
                        selector.unregister(pidfd)
                        heard(running.pop(pidfd).end())
            return True
        finally:
            selector.unregister(interrupted)
            for command in running.values():
                command.ask_to_end(Trouble.INTERRUPTED)
            while (
                running
                and (patience := max(each.deadline for each in running.values()) - time.monotonic()) > 0
            ):
                for key, _ in selector.select(patience):
                    selector.unregister(key.fd)
                    heard(running.pop(key.fd).end())
            for command in running.values():
                heard(command.end())
            for node, _, _ in waiting:
                heard(Answer(node, trouble=Trouble.INTERRUPTED))


@contextlib.contextmanager
def _interrupts() -> Iterator[int]:
    """A descriptor that can be read from once Ctrl-C was pressed, in place of the exception."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def note(number: int, frame: object) -> None:
        with contextlib.suppress(BlockingIOError):  # pressed thousands of times
            os.write(writer, b".")

    before = signal.signal(signal.SIGINT, note)
    try:
        yield reader
    finally:
        signal.signal(signal.SIGINT, before)
        os.close(reader)
        os.close(writer)


class _NotStarted(Exception):
    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.detail)
        self.answer = answer


class _Command:
    """A command that runs, in a session of its own: nobody asks for a password there."""

    def __init__(self, node: str, words: Sequence[str], path: Path, deadline: float) -> None:
        self.deadline = deadline
        self._trouble: Trouble | None = None
        self._node, self._path, self._errors = node, path, path.with_suffix(".stderr")
        try:
            with path.open("wb") as out, self._errors.open("wb") as errors:
                self._process = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=errors,
                    start_new_session=True,
                    preexec_fn=_in_child(os.getpid()),
                )
        except OSError as error:
            detail = f"{words[0]}: {os.strerror(error.errno or 0)}"
            raise _NotStarted(Answer(node, trouble=Trouble.NOT_STARTED, detail=detail)) from error
        self.pidfd = pidfd_open(self._process.pid)

    def is_over(self) -> bool:
        """Whether its time is over. Where that is first seen it is asked to end, and has a moment more."""
        if self.deadline > time.monotonic():
            return False
        if self._trouble is not None:
            return True
        self.ask_to_end(Trouble.TIMEOUT)
        return False

    def ask_to_end(self, trouble: Trouble) -> None:
        """Asks all that it has started, for this reason; where it was asked before, that one stays."""
        if self._trouble is None:
            self._trouble, self.deadline = trouble, time.monotonic() + _GRACE
            self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)  # before wait(): its number is not free until then

    def end(self) -> Answer:
        """The answer of the node; what still runs of the command is killed."""
        os.close(self.pidfd)
        self._signal(signal.SIGKILL)
        trouble = self._trouble
        status = self._process.wait()
        status = status if status >= 0 else _SIGNALLED - status
        if trouble is None and self._path.stat().st_size >= MOST_SENT:
            trouble = Trouble.TOO_LONG
        if trouble is not None:
            return Answer(self._node, trouble=trouble)
        return Answer(self._node, self._path, Trouble.STATUS if status else None, status, self._told())

    def _told(self) -> str:
        with self._errors.open("rb") as file:
            file.seek(max(0, self._errors.stat().st_size - _MOST_STDERR))
            return file.read().decode("utf-8", "replace").strip()


def _in_child(parent: int) -> Callable[[], None]:
    libc = ctypes.CDLL(None, use_errno=True)

    def prepare() -> None:  # between fork and exec
        resource.setrlimit(resource.RLIMIT_FSIZE, (MOST_SENT, MOST_SENT))
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(127)

    return prepare
