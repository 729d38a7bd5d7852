"""Signals: which of them stop the target, which thread is to have one, and by which gdb interrupts."""

from __future__ import annotations

import asyncio
import contextlib
import signal

from ..errors import CommandError
from ..shared import quiet_signal
from ..shared.proc_files import read_status
from ..shared.requests.threads import ListThreads, ReadSignalCode, ReadSignalHandling, SignalHandling
from .gdb_probes import GdbProbes
from .gdb_process import GdbProcess, Late

_SI_TKILL = -6  # asm-generic/siginfo.h: sent to one thread


class GdbSignals(GdbProbes):
    """What is asked of gdb about signals."""

    def __init__(self, process: GdbProcess) -> None:
        super().__init__(process)
        self._target = 0  # the process that was attached to
        # Gets what gdb says when it has not said in time whether the target runs.
        self._late: Late | None = None
        self._letting_run = asyncio.Lock()  # held until gdb has been told to let the target run
        self._taker: int | None = None  # gdb's number of the thread that was stopped by a signal
        self._interrupted_by: str | None = None  # the signal of an interrupt that no stop has followed yet
        self._stopping_signals: set[str] = set()  # which the user wants to see
        # What gdb did at a signal before the user's first breakpoint on it.
        self._handling: dict[str, SignalHandling] = {}

    async def resume_with_signal(self, name: str) -> None:
        """Let every thread run, with the signal that the target was stopped for.

        One that was sent to the whole process goes to its main thread. The kernel prefers that one too, but gives the
        signal to another while gdb holds the main thread; what Python's main thread waits for would then wait on.
        """
        async with self._letting_run:
            await self.arm_probes()
            taker = self._taker
            if taker is not None:
                await self._process.console(f"thread {await self._receiver(taker, signal.Signals[name])}")
            # Without & gdb takes no command, such as an interrupt, before the next stop.
            await self._process.console(f"signal {name} &", late=self._late)

    async def _receiver(self, taker: int, number: int) -> int:
        """gdb's number of the thread that is to have a signal which the thread ``taker`` was stopped for."""
        threads = await self.ask(ListThreads())
        main = next((one for one, tid in threads.items() if tid == self._target), taker)
        if main == taker or _blocks(self._target, number):
            return taker
        await self._process.console(f"thread {taker}")
        with contextlib.suppress(CommandError):  # what gdb does not know of it changes nothing
            code = await self.ask(ReadSignalCode())
            is_own = code == _SI_TKILL or (
                code > 0 and number == signal.SIGTRAP
            )  # an instruction of the thread
            return taker if is_own else main
        return taker

    async def interrupt(self) -> None:
        """Ask for a stop of every thread; it arrives as an event. Not by -exec-interrupt: see quiet_signal.py.

        Where the target is being let run, it is asked for behind that: one of a target that stands would be lost.
        """
        async with self._letting_run:
            try:
                taken = {*self._stopping_signals, self._probe_signal or ""}
                name = quiet_signal.choose(self._target, taken)
            except OSError as error:
                raise CommandError(f"process {self._target} has ended") from error
            self._interrupted_by = name
            await self.interrupt_by(name)

    def signal_of_probes(self) -> str:
        """The name of a signal that does nothing in the target, and at which nobody wants to stop."""
        return self._probe_signal or quiet_signal.choose(self._target, self._stopping_signals)

    async def handle_signal(self, name: str, stops: bool) -> None:
        """Have the target stop when this signal arrives, and get it; or do again what was done before."""
        before = self._handling.get(name)
        if before is None:
            before = self._handling[name] = await self.ask(ReadSignalHandling(name))
        (self._stopping_signals.add if stops else self._stopping_signals.discard)(name)
        pairs = zip([True, True, True] if stops else before, ("stop", "print", "pass"), strict=True)
        words = " ".join(word if wanted else f"no{word}" for wanted, word in pairs)
        await self._process.console(f"handle {name} {words}")


def _blocks(tid: int, number: int) -> bool:
    """Whether the thread has this signal wait, for example for a thread that takes all signals (proc(5), SigBlk)."""
    try:
        blocked = read_status(f"/proc/{tid}/status").get("SigBlk", "0")
    except OSError:
        return False  # it has ended, and gdb will say so
    return bool(int(blocked, 16) >> (number - 1) & 1)
