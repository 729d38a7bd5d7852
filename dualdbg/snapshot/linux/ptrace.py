"""Holds every thread of a process still for a moment, and gives its registers: ptrace(2) by SEIZE and INTERRUPT.

No signal is sent to the target. A signal that arrives while a thread is held is delivered when it is let go, and a
process that was stopped by job control stays stopped. The kernel lets everything go by itself when we die.
Requests and layouts: linux/ptrace.h, asm/ptrace.h, asm/user_64.h.
"""

from __future__ import annotations

import ctypes
import errno
import os
import threading
import time
from collections.abc import Collection
from dataclasses import dataclass, replace

from ...errors import TargetError, TargetGone
from ...shared.proc_files import read_stat
from ...system.patience import patient
from ...target.permission import check_not_fatal, refusal
from .registers import (
    AARCH64,
    NT_ARM_PAC_MASK,
    NT_ARM_SYSTEM_CALL,
    NT_ARM_TLS,
    Registers,
    registers_from_regset,
    with_regset,
)

_POKEDATA, _GETREGSET = 5, 0x4204
CONT, DETACH, GETEVENTMSG, GETSIGINFO, SEIZE, INTERRUPT, LISTEN = (
    7,
    17,
    0x4201,
    0x4202,
    0x4206,
    0x4207,
    0x4208,
)
NT_PRSTATUS = 1
OF_ARM = (NT_ARM_TLS, NT_ARM_PAC_MASK, NT_ARM_SYSTEM_CALL)  # beside those of each processor
EVENT_STOP = 128
WALL = 0x40000000
# Seconds; a thread that sleeps uninterruptibly and does not stop by then is left out.
_TO_STOP = patient(0.25)
_TO_RUN = patient(10.0)  # seconds for one that can stop, but has to be given a processor first
# Seconds in which a thread stops that is on a processor or can be woken: meanwhile we do not sleep, for a sleep takes
# longer than it was asked to (PR_SET_TIMERSLACK).
_AT_ONCE = 0.0003
_TO_TAKE = patient(5.0)  # seconds for a thread to take a signal that is pending

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


# Threads that one of ours has seized and that did not stop in time, both by id: ours, theirs. Such a thread stops as
# soon as it can, and only the thread of ours that has seized it can let it go on.
_left: set[tuple[int, int]] = set()


class _Iovec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


@dataclass(frozen=True)
class HeldThread:
    """A thread that stands still: its registers, in DWARF order."""

    tid: int
    registers: Registers


class Hold:
    """Every thread of ``pid`` held still, from :meth:`take` until :meth:`release`. Both must run in the same thread.

    ``stubborn`` are the threads that did not stop within the deadline, because they sleep uninterruptibly (state D).
    They stop when they wake, and are let go by the next hold of the same process by the same thread, or by its end.
    ``spared``: threads that are not held.
    """

    def __init__(self, pid: int, spared: Collection[int] = ()) -> None:
        self.pid = pid
        self._spared = spared
        self.threads: list[HeldThread] = []
        self.stubborn: list[int] = []
        self.seconds = 0.0
        self._seized: set[int] = set()
        self._signals: dict[int, int] = {}  # stopped thread -> the signal that it is about to be given
        self._began = 0.0

    def take(self, deadline: float = _TO_STOP) -> None:
        """Stop every thread. Raises PermissionRefused or TargetGone; then no thread is held."""
        check_not_fatal(self.pid)
        try:
            while True:
                fresh = self._seize_new_threads()
                if not fresh:
                    break
                self._wait_for(fresh, deadline)
            self.threads = [
                HeldThread(tid, registers)
                for tid in sorted(self._signals)
                if (registers := read_registers(tid)) is not None
            ]
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let every thread go on, with the signal that was on its way to it."""
        for tid, signal in self._signals.items():
            # Before the call: a thread that it wakes may be given our processor. That of the last one ends it all.
            self.seconds = time.perf_counter() - self._began
            request(DETACH, tid, signal)  # a thread that was killed meanwhile is gone: nothing to do
        self._signals.clear()

    def swallow(self, signal: int, tid: int, deadline: float = _TO_TAKE) -> bool:
        """Let one thread run until it takes this signal, which is pending; the program does not get it.

        Whether that happened. While all are held nobody else can take it.
        """
        end = time.perf_counter() + deadline
        request(CONT, tid)
        while time.perf_counter() < end:
            known, status = os.waitpid(tid, os.WNOHANG | WALL)
            if known == 0:
                time.sleep(0.0005)
                continue
            if not os.WIFSTOPPED(status):
                return False
            if status >> 16 != EVENT_STOP and os.WSTOPSIG(status) == signal:
                self._signals[tid] = 0
                return True
            request(CONT, tid, 0 if status >> 16 == EVENT_STOP else os.WSTOPSIG(status))
        self._signals.pop(tid, None)  # it runs, and is let go of when our thread ends
        return False

    def __enter__(self) -> Hold:
        self.take()
        return self

    def __exit__(self, *error: object) -> None:
        self.release()

    # -- the steps ---------------------------------------------------------------------------------

    def _seize_new_threads(self) -> list[int]:
        """Seize the threads until no new one appears: a thread that still runs may start another."""
        try:
            tids = [int(name) for name in os.listdir(f"/proc/{self.pid}/task")]
        except FileNotFoundError:
            raise TargetGone(f"process {self.pid} has ended") from None
        fresh = []
        for tid in tids:
            if tid in self._seized or tid in self._spared:
                continue
            problem = request(SEIZE, tid)
            if problem == errno.EPERM and (threading.get_native_id(), tid) in _left:
                _left.discard((threading.get_native_id(), tid))
                problem = 0  # it is seized since an earlier hold
            if problem == errno.ESRCH or (problem == errno.EPERM and _is_ending(self.pid, tid)):
                continue
            if problem:
                raise refusal(self.pid, problem)
            self._began = self._began or time.perf_counter()
            self._seized.add(tid)
            # A thread that ends just now cannot be interrupted. It is waited for all the same, or it would stay a
            # zombie that we trace. A main thread cannot be collected before the other threads of its process.
            if request(INTERRUPT, tid) == 0 or tid != self.pid:
                fresh.append(tid)
        if not self._seized and not self._spared:
            raise TargetGone(f"process {self.pid} has ended")
        return fresh

    def _wait_for(self, tids: list[int], deadline: float) -> None:
        waiting = set(tids)
        began = time.perf_counter()
        end, latest = began + deadline, began + max(deadline, _TO_RUN)
        while waiting:
            for tid in list(waiting):
                try:
                    known, status = os.waitpid(tid, os.WNOHANG | WALL)
                except ChildProcessError:
                    waiting.discard(tid)
                    continue
                if known == 0:
                    continue
                waiting.discard(tid)
                if os.WIFSTOPPED(status):
                    is_event = status >> 16 == EVENT_STOP
                    self._signals[tid] = 0 if is_event else os.WSTOPSIG(status)
            now = time.perf_counter()
            if waiting and now > end and (now > latest or all(map(self._cannot_stop, waiting))):
                self.stubborn += sorted(waiting)
                _left.update((threading.get_native_id(), tid) for tid in waiting)
                return
            if waiting and time.perf_counter() - began < _AT_ONCE:
                os.sched_yield()
            elif waiting:
                time.sleep(0.00005)

    def _cannot_stop(self, tid: int) -> bool:
        try:
            return read_stat(f"/proc/{self.pid}/task/{tid}/stat").state == "D"
        except OSError:
            return True  # it has ended


def read_registers(tid: int) -> Registers | None:
    """Those of a thread that stands still and that we trace; None when it was killed. Raises TargetError."""
    data = regset(tid, NT_PRSTATUS, 512)
    if data is None:
        return None
    registers = registers_from_regset(data)
    if registers.architecture is AARCH64:
        registers = replace(registers, signature=0)  # a processor that signs nothing has no such set
        for kind in OF_ARM:
            more = regset(tid, kind, 512)
            registers = with_regset(registers, kind, more) if more is not None else registers
    return registers


def _is_ending(pid: int, tid: int) -> bool:
    """Whether the thread has ended and is not collected yet: the kernel then refuses with EPERM, not with ESRCH."""
    try:
        return read_stat(f"/proc/{pid}/task/{tid}/stat").has_ended and tid != pid
    except OSError:
        return True


def poke(tid: int, address: int, word: int) -> None:
    """Put eight bytes into the memory of a thread that is held, its code too. Raises TargetError."""
    if _libc.ptrace(_POKEDATA, tid, ctypes.c_void_p(address), ctypes.c_void_p(word)) == -1:
        raise TargetError(f"memory at {address:#x} cannot be written: {os.strerror(ctypes.get_errno())}")


def request(number: int, tid: int, data: int = 0) -> int:
    """The errno of a request that returns no data, or puts it where ``data`` points; 0 when it was carried out."""
    if _libc.ptrace(number, tid, None, ctypes.c_void_p(data)) == -1:
        return ctypes.get_errno()
    return 0


def regset(tid: int, kind: int, size: int) -> bytes | None:
    """A register set of a thread that stands still; None where it has none, or was killed. Raises TargetError."""
    buffer = ctypes.create_string_buffer(size)
    vector = _Iovec(ctypes.addressof(buffer), size)
    if _libc.ptrace(_GETREGSET, tid, ctypes.c_void_p(kind), ctypes.addressof(vector)) == -1:
        # Killed while it was held; or a set that this processor does not have (ptrace_regset in kernel/ptrace.c).
        if ctypes.get_errno() == errno.ESRCH or kind != NT_PRSTATUS:
            return None
        raise TargetError(f"the registers of thread {tid} cannot be read: {os.strerror(ctypes.get_errno())}")
    return buffer.raw[: vector.length]
