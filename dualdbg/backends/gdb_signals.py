"""Signals: which of them stop the target, which thread is to have one, and by which gdb interrupts."""

from __future__ import annotations

import contextlib
import signal

from ..errors import CommandError
from ..shared import quiet_signal
from ..shared.proc_files import read_status
from ..shared.requests.threads import ListThreads, ReadSignalCode, ReadSignalHandling, SignalHandling
from .gdb_probes import GdbProbes
from .gdb_process import GdbProcess
from .native import AskingGdb

_SI_TKILL = -6  # asm-generic/siginfo.h: sent to one thread


class GdbSignals:
    """What is asked of gdb about signals."""

    def __init__(self, gdb: AskingGdb, process: GdbProcess, probes: GdbProbes) -> None:
        self._gdb = gdb
        self._process = process
        self._probes = probes
        self.target = 0  # the process that was attached to
        self._stopping: set[str] = set()  # which the user wants to see
        # What gdb did at a signal before the user's first breakpoint on it.
        self._handling: dict[str, SignalHandling] = {}

    async def handle(self, name: str, stops: bool) -> None:
        """Have the target stop when this signal arrives, and get it; or do again what was done before."""
        before = self._handling.get(name)
        if before is None:
            before = self._handling[name] = await self._gdb.ask(ReadSignalHandling(name))
        (self._stopping.add if stops else self._stopping.discard)(name)
        pairs = zip([True, True, True] if stops else before, ("stop", "print", "pass"), strict=True)
        words = " ".join(word if wanted else f"no{word}" for wanted, word in pairs)
        await self._process.console(f"handle {name} {words}")

    def of_probes(self) -> str:
        """The name of a signal that does nothing in the target, and at which nobody wants to stop."""
        return self._probes.signal or quiet_signal.choose(self.target, self._stopping)

    def to_interrupt(self) -> str:
        """The name of another such signal, by which gdb interrupts. Raises CommandError when the target has ended."""
        try:
            return quiet_signal.choose(self.target, {*self._stopping, self._probes.signal or ""})
        except OSError as error:
            raise CommandError(f"process {self.target} has ended") from error

    async def receiver(self, taker: int, number: int) -> int:
        """gdb's number of the thread that is to have a signal which the thread ``taker`` was stopped for.

        One that was sent to the whole process goes to its main thread. The kernel prefers that one too, but gives the
        signal to another while gdb holds the main thread; what Python's main thread waits for would then wait on.
        """
        threads = await self._gdb.ask(ListThreads())
        main = next((one for one, tid in threads.items() if tid == self.target), taker)
        if main == taker or _blocks(self.target, number):
            return taker
        await self._process.console(f"thread {taker}")
        with contextlib.suppress(CommandError):  # what gdb does not know of it changes nothing
            code = await self._gdb.ask(ReadSignalCode())
            # An instruction of the thread may have caused it.
            is_own = code == _SI_TKILL or (code > 0 and number == signal.SIGTRAP)
            return taker if is_own else main
        return taker


def _blocks(tid: int, number: int) -> bool:
    """Whether the thread has this signal wait, for example for a thread that takes all signals (proc(5), SigBlk)."""
    try:
        blocked = read_status(f"/proc/{tid}/status").get("SigBlk", "0")
    except OSError:
        return False  # it has ended, and gdb will say so
    return bool(int(blocked, 16) >> (number - 1) & 1)
