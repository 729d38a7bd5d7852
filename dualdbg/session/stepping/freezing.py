"""Keeps threads that the user froze from running while the target runs. At a stop they stand as they were.

gdb lets either every thread of a process run or one. A frozen thread is therefore *parked* while the target runs: its
registers are set to an endless ``ppoll`` with every signal blocked, at a system call instruction that the C library
has anyway. No code is written. Before anything is shown at a native stop, the registers are as they were, also those
of an interrupted system call (on x86-64 its number is in orig_rax, see arch/x86/kernel/signal.c).
"""

from __future__ import annotations

import asyncio
import re

from ...backends.native import AskingGdb
from ...errors import CommandError, WrongState
from ...shared.requests.process import Park, Unpark
from ...shared.requests.threads import ListThreads, ReadArchitecture, ReadMemory
from ...symbols.address_space import AddressSpace
from ..inspect.inspector import Inspector
from ..loop import Loop
from ..ports import Halting
from ..state import Grip

# By machine: a function of the C library that makes a system call, and the instruction that does. On AArch64 it is one
# that never waits: the kernel puts restart_syscall's number into x8 where a wait is restarted at its own instruction.
_SYSTEM_CALLS = {"x86-64": ("syscall", b"\x0f\x05"), "aarch64": ("getpid", b"\x01\x00\x00\xd4")}
_SEARCHED = 64  # bytes of the C library's function of that name
_TRIES = 40  # looks at a Python stop, where the target runs on between two of them
_PAUSE = 0.05  # seconds between two looks

# Others may wait for a thread in the middle of one of these functions. It holds a lock that they need, or owes one of
# them a wake-up, or the next user of a condition variable waits until it has left (glibc,
# nptl/pthread_cond_common.c: __condvar_quiesce_and_switch_g1).
_LOCKING = re.compile(r"_*(GI_)?_*(pthread_(mutex|cond|rwlock)|lll_|condvar)")
_INNERMOST = 8  # so many frames are looked at


class Unsafe(CommandError):
    """The thread stands where it must not be frozen."""


class Freezer:
    """The frozen threads of one session."""

    def __init__(
        self, loop: Loop, native: AskingGdb, halting: Halting, inspector: Inspector, image: AddressSpace
    ) -> None:
        self._loop = loop
        self._native = native
        self._halting = halting
        self._inspector = inspector
        self._image = image
        self.frozen: set[int] = set()  # OS thread ids; always the same set, because others hold it too
        self._instruction: int | None = None

    async def freeze(self, tids: list[int]) -> None:
        """Keep these threads from running until they are thawed.

        Raises WrongState for the thread of the stop, and CommandError for a thread that does not exist or for which
        everything else would wait.
        """
        stop = self._loop.state.require_stopped()
        if stop.thread.tid in tids:
            raise WrongState(
                f"thread {stop.thread.tid} is the one that stopped", "select another, or freeze the others"
            )

        async def hold() -> None:
            await self._find_instruction()
            for tid in tids:
                await self._check(tid)
            self.frozen.update(tids)

        tries = 1 if self._loop.native_held.is_set() else _TRIES
        for left in reversed(range(tries)):
            try:
                await self._halting.interrupted(hold)
                return
            except Unsafe:
                if not left:
                    raise
            await asyncio.sleep(_PAUSE)  # debugpy suspends it meanwhile

    def check_runs(self, tid: int) -> None:
        """Raises WrongState for a frozen thread."""
        if tid in self.frozen:
            raise WrongState(f"thread {tid} is frozen", f"thaw {tid} lets it run")

    async def thaw(self, tids: list[int]) -> None:
        """Let these threads run again with the others."""
        for tid in tids:
            if tid not in self.frozen:
                raise CommandError(f"thread {tid} is not frozen", "threads lists them")
        self.frozen.difference_update(tids)
        await self._apply()

    async def thaw_all(self) -> None:
        """Nothing is frozen any more. gdb holds the target."""
        self.frozen.clear()
        await self.release()

    def program_replaced(self) -> None:
        """The process runs another program: the frozen threads are gone, and its C library lies elsewhere."""
        self.frozen.clear()
        self._instruction = None

    async def park(self) -> None:
        """The target is about to run: frozen threads stay where they are. gdb holds the target."""
        if not self.frozen:
            return
        numbers = await self._native.ask(ListThreads())
        self.frozen &= set(numbers.values())
        parked = [number for number, tid in numbers.items() if tid in self.frozen]
        assert self._instruction is not None  # found when the first thread was frozen
        await self._native.ask(Park(parked, self._instruction))

    async def halt_over(self) -> None:
        """The work of a halt is done, and the target is about to run: unless a stop that the work has met is shown."""
        if not self._loop.state.is_over and self._loop.state.grip is not Grip.SHOWN:
            await self.park()

    async def release(self) -> None:
        """The target is about to be looked at: every thread stands as it was. gdb holds the target."""
        if self._instruction is not None:
            await self._native.ask(Unpark())

    async def _apply(self) -> None:
        """At a Python stop the target runs. A short halt parks the threads that are frozen now, and no others."""
        if not self._loop.native_held.is_set():

            async def nothing() -> None:
                return None

            await self._halting.interrupted(nothing)

    async def _check(self, tid: int) -> None:
        from ...snapshot.report.assemble import waits_for_gil  # not needed to start

        inspector = self._inspector
        if tid in inspector.thread_list.ours:
            raise CommandError(f"thread {tid} is debugpy's own: without it Python cannot be debugged")
        await inspector.gdb_thread(tid)
        python = inspector.reader.python_thread(tid)
        if python is not None and python.attachment:
            # A free-threaded interpreter, too, waits for all attached threads where the world is to stop.
            has, when = (
                ("holds the GIL", "another thread holds the GIL")
                if python.holds_gil
                else ("is attached to the interpreter", "it waits, in a system call")
            )
            raise Unsafe(
                f"thread {tid} {has}: frozen, it would stop every Python thread, debugpy's too",
                f"freeze it at a stop at which {when}",
            )
        frames = await inspector.reader.native_frames(tid, await inspector.gdb_thread(tid))
        if waits_for_gil(frames):
            raise Unsafe(
                f"thread {tid} waits for the GIL: frozen there, it would stop every Python thread",
                "freeze it at a Python stop, where it waits for debugpy",
            )
        if any(_LOCKING.match(frame.function or "") for frame in frames[:_INNERMOST]):
            raise Unsafe(
                f"thread {tid} is in the middle of a lock operation: frozen there, it could stop other threads",
                "freeze it at a later stop",
            )

    async def _find_instruction(self) -> None:
        if self._instruction is not None:
            return
        native = self._native
        architecture = await native.ask(ReadArchitecture())
        if architecture not in _SYSTEM_CALLS:
            raise CommandError(f"threads cannot be frozen on {architecture}", "")
        name, instruction = _SYSTEM_CALLS[architecture]
        for place in self._image.find(name):
            code = await native.ask(ReadMemory(place.address, _SEARCHED))
            at = code.find(instruction)
            if at >= 0:
                self._instruction = place.address + at
                return
        raise CommandError(f"the C library's function {name} was not found, so no thread can be frozen", "")
