"""Traces processes that run at full speed: each stops for us at a signal that will end it, and nowhere else for long.

Every request is made in one thread, which ptrace(2) wants. The kernel stops a traced thread at each signal and each new
thread or process; those that we do not ask about go on at once. When we are killed the traced processes are too.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import struct
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from ..errors import TargetGone
from ..known.crash_signals import CRASHES, OF_MEMORY
from ..known.python_files import is_interpreter
from ..shared.proc_files import read_stat, read_status
from ..snapshot.linux.ptrace import (
    CONT,
    DETACH,
    EVENT_STOP,
    GETEVENTMSG,
    GETSIGINFO,
    INTERRUPT,
    LISTEN,
    SEIZE,
    WALL,
    read_registers,
    request,
)
from ..snapshot.linux.registers import AARCH64, X86_64, Registers
from ..system.patience import patient
from ..target.permission import check_not_fatal, refusal

_EVENT_EXEC, _EVENT_EXIT = 4, 6
# PTRACE_O_TRACEFORK, _TRACEVFORK, _TRACECLONE, _TRACEEXEC, and _EXITKILL.
_OPTIONS = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 20
_TRACE_EXIT = 1 << 6  # PTRACE_O_TRACEEXIT
# exit and exit_group: asm/unistd_64.h, asm-generic/unistd.h.
_EXIT = {X86_64.name: 60, AARCH64.name: 93}
_EXIT_GROUP = {X86_64.name: 231, AARCH64.name: 94}
_JOB_CONTROL = {signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU}
_TO_STOP = patient(5.0)  # seconds
SIGINFO_SIZE = 128
_HAS_ENDED = (os.CLD_EXITED, os.CLD_KILLED, os.CLD_DUMPED)
_SI_KERNEL = 0x80  # asm-generic/siginfo.h: sent by the kernel, without an address


@dataclass(frozen=True)
class SignalInfo:
    """What the kernel says of a signal: its number, the address of memory that could not be used, and who has sent it,
    where that is so."""

    number: int
    address: int | None = None
    sender: int | None = None

    @classmethod
    def of(cls, raw: bytes) -> SignalInfo:
        """From a ``siginfo_t``; sigaction(2)."""
        number, _, code = struct.unpack_from("<iii", raw)
        if code > 0:
            has_address = number in OF_MEMORY and code != _SI_KERNEL
            return cls(number, struct.unpack_from("<Q", raw, 16)[0] if has_address else None)
        return cls(number, sender=struct.unpack_from("<i", raw, 16)[0])


@dataclass(frozen=True)
class Dying:
    """A thread stands before a signal that ends its process. Or (``status``, as that of wait(2)) the process exits or
    was killed, and has its memory and its files still. :meth:`Tracer.let_die` lets that happen."""

    pid: int
    tid: int
    info: SignalInfo
    raw: bytes
    status: int | None = None


@dataclass(frozen=True)
class ChildKilled:
    """A traced process is told that a signal has ended its child, which was not traced; ``number`` is the signal's."""

    pid: int
    number: int


@dataclass(frozen=True)
class Ended:
    """A process that we traced has ended; ``status`` is that of wait(2)."""

    pid: int
    status: int


class Programs(Enum):
    """Which programs, run by a process that descends from one that was seized, are traced on.

    A program that is traced cannot trace, nor be traced by another: gdb, strace and LeakSanitizer do not work there.
    """

    NONE = "none"
    PYTHON = "python"
    ALL = "all"


class Tracer:
    """Processes that were seized, their threads, what they fork, and of the ``programs`` that are run then those.
    ``exits``: that a process which was seized is going to exit is told too."""

    def __init__(self, programs: Programs = Programs.NONE, exits: bool = False) -> None:
        self._programs = programs
        self._options = _OPTIONS | (_TRACE_EXIT if exits else 0)
        self._seized: set[int] = set()
        self._processes: set[int] = set()  # those that were traced and whose end is to be told
        self._process_of: dict[int, int] = {}  # thread -> process
        self._stopped: dict[int, int] = {}  # threads that stand still for us, with the status of their stop
        self._ending: set[int] = set()  # processes whose end was told before it comes

    def seize(self, pid: int) -> None:
        """Trace a process with all its threads. Raises PermissionRefused, TargetGone or TargetError."""
        self._seized.add(pid)
        self._ending.discard(pid)
        self._processes.add(pid)
        check_not_fatal(pid)
        fresh = True
        while fresh:  # a thread may start another one meanwhile
            try:
                tids = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
            except FileNotFoundError:
                raise TargetGone(f"process {pid} has ended") from None
            fresh = False
            for tid in tids:
                if tid in self._process_of:
                    continue
                problem = request(SEIZE, tid, self._options)
                if problem and tid == pid:
                    raise refusal(pid, problem)
                if not problem:
                    self._process_of[tid] = pid
                    fresh = True

    def traces(self, pid: int) -> bool:
        """Whether a process is traced by us."""
        return pid in self._process_of

    def threads(self, pid: int) -> list[int]:
        """The threads of a process that are known."""
        return [tid for tid, process in self._process_of.items() if process == pid]

    def events(self) -> Iterator[Dying | Ended | ChildKilled]:
        """What has happened until now. All else that has happened goes on without us."""
        while True:
            try:
                tid, status = os.waitpid(-1, os.WNOHANG | WALL)
            except ChildProcessError:
                return
            if tid == 0:
                return
            event = self._take(tid, status)
            if event is not None:
                yield event

    def states(self, pid: int) -> dict[int, str]:
        """The state of each thread of a process, as proc(5) has it, before it is held."""
        found = {}
        for tid in self.threads(pid):
            with contextlib.suppress(OSError):  # it has ended
                found[tid] = read_stat(f"/proc/{pid}/task/{tid}/stat").state
        return found

    def hold(self, pid: int) -> dict[int, Registers]:
        """Have every thread of a process stand still until :meth:`release`; their registers.

        A thread that does not stop in time, because it sleeps uninterruptibly, is left out.
        """
        end = time.monotonic() + _TO_STOP
        asked: set[int] = set()
        while True:
            waiting = [tid for tid in self.threads(pid) if tid not in self._stopped]
            # When all that are known stand still no more can be born, but some may have been.
            waiting = waiting or self._meet_newborn(pid)
            if not waiting or time.monotonic() > end:
                break
            for tid in waiting:
                if tid not in asked:
                    asked.add(tid)
                    request(INTERRUPT, tid)
                self._collect(tid)
            time.sleep(0.0002)
        found = {tid: read_registers(tid) for tid in self.threads(pid) if tid in self._stopped}
        return {tid: registers for tid, registers in found.items() if registers is not None}

    def release(self, pid: int) -> None:
        """The threads that :meth:`hold` stopped go on, with the signals that were on their way."""
        for tid in self.threads(pid):
            status = self._stopped.pop(tid, None)
            if status is not None:
                self._go_on(tid, status)

    def let_die(self, dying: Dying) -> None:
        """The process ends."""
        self._ending.add(dying.pid)
        self._stopped.pop(dying.tid, None)
        request(CONT, dying.tid, dying.info.number)
        self.release(dying.pid)

    def let_go(self) -> None:
        """Trace nothing more. What still runs is not ours to end."""
        for pid in set(self._process_of.values()):
            self.hold(pid)
            for tid in self.threads(pid):
                status = self._stopped.pop(tid, None)
                if status is not None:
                    request(DETACH, tid, _signal_of(status))
                del self._process_of[tid]

    def _meet_newborn(self, pid: int) -> list[int]:
        """The threads that the kernel traces for us since they began, and of whose first stop we have not heard yet."""
        try:
            tids = [int(name) for name in os.listdir(f"/proc/{pid}/task")]
        except FileNotFoundError:
            return []
        found = [tid for tid in tids if tid not in self._process_of and _is_traced_by_us(tid)]
        self._process_of.update(dict.fromkeys(found, pid))
        return found

    # -- the steps ---------------------------------------------------------------------------------

    def _collect(self, tid: int) -> None:
        """Take the stop of one thread, if it has stopped.

        A process that has ended leaves its status to :meth:`events`. A thread that has ended is taken, because the
        end of its process waits for that (ptrace(2)).
        """
        try:
            info = os.waitid(os.P_PID, tid, os.WSTOPPED | os.WEXITED | os.WNOHANG | os.WNOWAIT | WALL)
            if info is None:
                if not os.path.exists(f"/proc/{self._process_of[tid]}/task/{tid}"):
                    del self._process_of[tid]
            elif info.si_code in _HAS_ENDED:
                del self._process_of[tid]
                if tid not in self._processes:
                    os.waitpid(tid, os.WNOHANG | WALL)
            else:
                os.waitid(os.P_PID, tid, os.WSTOPPED | os.WNOHANG | WALL)
                # si_status of a stop is the signal, with the event above it (ptrace(2), PTRACE_O_*).
                self._stopped[tid] = info.si_status << 8 | 0x7F
        except ChildProcessError:
            self._process_of.pop(tid, None)

    def _take(self, tid: int, status: int) -> Dying | Ended | ChildKilled | None:
        if not os.WIFSTOPPED(status):
            self._process_of.pop(tid, None)
            self._stopped.pop(tid, None)
            if tid not in self._processes:  # a thread, or a child that was never traced
                return None
            self._processes.remove(tid)
            return Ended(tid, status)
        if tid not in self._process_of:  # new: its own first stop may come before its parent's
            try:
                self._process_of[tid] = int(read_status(f"/proc/{tid}/status")["Tgid"])
            except OSError:
                return None
            if self._process_of[tid] == tid:
                self._processes.add(tid)
        if status >> 16 == _EVENT_EXEC:
            self._new_program(tid, status)
            return None
        if status >> 16 == _EVENT_EXIT:
            return self._exits(tid, status)
        number = _signal_of(status)
        if number == signal.SIGCHLD:
            told = self._killed_child(tid)
            self._go_on(tid, status)
            return told
        if number and signal_name(number) in CRASHES and self._is_deadly(tid, number):
            raw = (ctypes.c_char * SIGINFO_SIZE)()
            if request(GETSIGINFO, tid, ctypes.addressof(raw)) == 0:
                self._stopped[tid] = status
                return Dying(self._process_of[tid], tid, SignalInfo.of(raw.raw), raw.raw)
        self._go_on(tid, status)
        return None

    def _exits(self, tid: int, status: int) -> Dying | None:
        """A thread is about to end. Whether its process does, the call and the status tell."""
        pid = self._process_of[tid]
        message, registers = ctypes.c_ulong(), read_registers(tid)
        if pid in self._seized and pid not in self._ending and registers is not None:
            request(GETEVENTMSG, tid, ctypes.addressof(message))
            machine = registers.architecture.name
            call = (registers.system_call or (-1,))[0]
            if call == _EXIT_GROUP[machine] or os.WIFSIGNALED(message.value):
                self._ending.add(pid)
                self._stopped[tid] = status
                return Dying(pid, tid, SignalInfo(0), bytes(SIGINFO_SIZE), message.value)
            if message.value and call != _EXIT[machine]:
                # Another one has called exit_group, and is about to come. By this one the files of the process can be
                # read, where it is the main thread. (At an exec too the other threads end, with status 0.)
                self._stopped[tid] = status
                return None
        self._go_on(tid, status)
        return None

    def _killed_child(self, tid: int) -> ChildKilled | None:
        raw = (ctypes.c_char * SIGINFO_SIZE)()
        if request(GETSIGINFO, tid, ctypes.addressof(raw)) != 0:
            return None
        code, child, _, number = struct.unpack_from("<ixxxxiii", raw.raw, 8)
        is_end = code in (os.CLD_KILLED, os.CLD_DUMPED) and signal_name(number) in CRASHES
        return ChildKilled(child, number) if is_end and child not in self._ending else None

    def _new_program(self, tid: int, status: int) -> None:
        """Of a process that runs another program only this thread is left, under the number of the process."""
        pid = self._process_of[tid]
        for other in self.threads(pid):
            if other != tid:
                del self._process_of[other]
        if pid in self._seized or self._goes_with(pid):
            self._go_on(tid, status)
        else:
            del self._process_of[tid]
            self._processes.discard(pid)
            request(DETACH, tid)

    def _goes_with(self, pid: int) -> bool:
        """Whether the program that a process has begun is one of those that are traced on."""
        if self._programs is not Programs.PYTHON:
            return self._programs is Programs.ALL
        try:
            return is_interpreter(os.readlink(f"/proc/{pid}/exe"))
        except OSError:
            return False

    def _is_deadly(self, tid: int, number: int) -> bool:
        """Whether the program neither handles nor ignores the signal."""
        try:
            status = read_status(f"/proc/{tid}/status")
        except OSError:
            return False
        return not (int(status["SigCgt"], 16) | int(status["SigIgn"], 16)) >> (number - 1) & 1

    def _go_on(self, tid: int, status: int) -> None:
        is_group_stop = status >> 16 == EVENT_STOP and os.WSTOPSIG(status) in _JOB_CONTROL
        request(LISTEN if is_group_stop else CONT, tid, 0 if is_group_stop else _signal_of(status))


def _is_traced_by_us(tid: int) -> bool:
    try:
        return int(read_status(f"/proc/{tid}/status")["TracerPid"]) in (
            os.getpid(),
            threading.get_native_id(),
        )
    except (OSError, KeyError):  # it has ended
        return False


def _signal_of(status: int) -> int:
    """The signal that a stopped thread is about to be given; 0 where it has stopped for another reason."""
    return 0 if status >> 16 else os.WSTOPSIG(status)


def signal_name(number: int) -> str:
    """``SIGSEGV``; ``signal 40`` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
