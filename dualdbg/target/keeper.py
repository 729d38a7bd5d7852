"""The parent of a launched program, which ends all that descends from it when the session is over.

``python -I -S keeper.py PID``, with one of dualdbg's sockets as standard input and output. The launcher forks it, makes
it a *subreaper* (PR_SET_CHILD_SUBREAPER, prctl(2)) and forks the program from it. So every process of the program that
loses its parent becomes a child of this one, whatever group or session it has made for itself: what descends from the
program descends from here until it ends. It uses nothing of dualdbg, so that it starts quickly. One line a message:

    < waits            the program, which asked to be traced, stands before its first instruction: stopped by SIGSTOP
    < ended STATUS     the program has ended, with the status of wait(2)
    < left PID NAME    this process had outlived the program when all was ended
    < reaped PID STATUS   another process, whose parent had ended before it, has ended
    < unknown PID      the answer to how: nothing is known of it but what was told
    > kill             end all, now
    > release          the program was detached: from now on nothing is ended
    > spare PID        this process was detached: it and what descends from it are left alone
    > keep PID         no longer
    > how PID          this process has ended and is reaped: what was its status?

The end of the input, which the kernel makes whatever happens to dualdbg, means ``kill`` too. It ends itself when
nothing is left, or nothing but what was spared.
"""

from __future__ import annotations

import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # the same functions: its enums would be a third of the keeper's start

_DEADLINE = 10.0  # seconds for the kernel to end what was killed
_PAUSE = 0.02  # seconds between two looks at what is left
_CHUNK = 4096
_PTRACE_CONT, _PTRACE_DETACH = 7, 17  # sys/ptrace.h

Known = tuple[int, bytes]  # a process id, and when the process began (field 22 of /proc/PID/stat, proc(5))


class Keeper:
    """Keeps the program with this process id, which is a child of ours."""

    def __init__(self, program: int) -> None:
        self._program = program
        self._released = False
        self._program_ended = False
        self._done = False  # all has ended but what was spared
        self._spared: set[Known] = set()
        self._woken, waker = os.pipe()
        os.set_blocking(waker, False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)  # so that set_wakeup_fd is told
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)

    def run(self) -> None:
        """Until dualdbg is gone, or nothing is left that could be kept."""
        rest = b""
        while self._reap() and not self._done:
            ready, _, _ = select.select([0, self._woken], [], [])
            self._forget_waking(ready)
            if 0 in ready:
                data = _received()
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._obey(line.decode())
                if not data:
                    break
        if not self._released:
            self._end_all()

    def _obey(self, order: str) -> None:
        word, _, argument = order.partition(" ")
        if word == "kill":
            self._end_all()
        elif word == "release":
            self._released = True
        elif word == "how":
            self._reap()
            _tell(f"unknown {argument}")
        elif word in ("spare", "keep"):
            began = _stat(argument)
            if began is not None:
                change = self._spared.add if word == "spare" else self._spared.discard
                change((int(argument), began[19]))

    def _reap(self) -> bool:
        """Take note of the children that have ended. False when there are none any more."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if os.WIFSTOPPED(status):
                    _pass_on_or_hold(pid, os.WSTOPSIG(status))
                elif pid == self._program:
                    self._program_ended = True
                    _tell(f"ended {status}")
                else:
                    _tell(f"reaped {pid} {status}")
        except ChildProcessError:
            return False

    def _end_all(self) -> None:
        """A process may fork while this looks, and the child of one that has ended becomes ours: so it looks again."""
        end = time.monotonic() + _DEADLINE
        if self._reap() and self._program_ended:
            for pid, name in [(known[0], _name(known[0])) for known in self._descendants() if _lives(known)]:
                _tell(f"left {pid} {name}")
        while self._reap() and time.monotonic() < end:
            left = [known for known in self._descendants() if _end(known)]
            if not left:
                self._done = True
                return
            self._forget_waking(select.select([self._woken], [], [], _PAUSE)[0])

    def _forget_waking(self, ready: list[int]) -> None:
        if self._woken in ready:
            os.read(self._woken, _CHUNK)

    def _descendants(self) -> list[Known]:
        """All of them, without what was spared."""
        children: dict[int, list[Known]] = {}
        with os.scandir("/proc") as entries:
            names = [entry.name for entry in entries if entry.name.isdigit()]
        for name in names:
            fields = _stat(name)
            if fields is not None:
                children.setdefault(int(fields[1]), []).append((int(name), fields[19]))
        found: list[Known] = []
        parents = [os.getpid()]
        while parents:
            here = [known for known in children.get(parents.pop(), []) if known not in self._spared]
            found += here
            parents += [pid for pid, _ in here]
        return found


def _pass_on_or_hold(pid: int, number: int) -> None:
    """The program, which we trace, has stopped: for exec, or for a signal that came before it.

    We stop to trace it, and a signal stops it in our place. Until that has happened it cannot be attached to.
    """
    import ctypes  # only here: without it the keeper starts quickly

    ptrace = ctypes.CDLL(None).ptrace
    if number != signal.SIGTRAP:
        ptrace(_PTRACE_CONT, pid, None, ctypes.c_void_p(number))
        return
    ptrace(_PTRACE_DETACH, pid, None, ctypes.c_void_p(signal.SIGSTOP))
    os.waitid(
        os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT
    )  # an end is taken note of by the next look
    _tell("waits")


def _lives(known: Known) -> bool:
    fields = _stat(str(known[0]))
    return fields is not None and fields[0] not in (b"Z", b"X")


def _pidfd_open(pid: int) -> int:
    """As of dualdbg.shared.pidfds, where Python has none; ctypes takes long to import."""
    if hasattr(os, "pidfd_open"):
        return os.pidfd_open(pid)
    import ctypes

    descriptor = int(ctypes.CDLL(None, use_errno=True).syscall(434, pid, 0))
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "pidfd_open")
    return descriptor


def _end(known: Known) -> bool:
    """Whether this process can be ended: not one that has become another user's."""
    pid, began = known
    try:
        descriptor = _pidfd_open(pid)
    except OSError:  # it has ended
        return True
    try:
        fields = _stat(str(pid))
        if fields is not None and fields[19] == began:  # else another process has the number by now
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except PermissionError:
        return False
    except ProcessLookupError:
        pass  # it has ended
    finally:
        os.close(descriptor)
    return True


def _name(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return " ".join(file.read().split())
    except OSError:
        return ""


def _stat(pid: str) -> list[bytes] | None:
    """The fields of /proc/PID/stat from the third on (proc(5)); None when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return None


def _close_what_was_inherited() -> None:
    """What dualdbg was started with is not ours to hold open."""
    with os.scandir("/proc/self/fd") as entries:
        numbers = [int(entry.name) for entry in entries]
    for number in numbers:
        if number > 2:
            os.closerange(number, number + 1)  # one of them was that of the folder, and is closed already


def _received() -> bytes:
    try:
        return os.read(0, _CHUNK)
    except ConnectionError:  # dualdbg ended without having read everything
        return b""


def _tell(text: str) -> None:
    try:
        os.write(1, text.encode() + b"\n")
    except OSError:
        pass  # dualdbg is gone, which the end of the input says next


if __name__ == "__main__":
    _close_what_was_inherited()
    Keeper(int(sys.argv[1])).run()
