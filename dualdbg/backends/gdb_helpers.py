"""Our own commands inside gdb, one method each: what gdb_scripts/dualdbg_engine answers, as typed facts.

Those that show values are in gdb_values.py. Threads are given by gdb's numbers. Each method raises CommandError with
gdb's words when gdb or the helper refuses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import gdb_answers as shapes
from .gdb_process import GdbProcess
from .gdb_values import GdbValues


class GdbHelpers(GdbValues):
    """The client of the commands in gdb."""

    def __init__(self, process: GdbProcess) -> None:
        super().__init__(process)
        self._at_functions: set[int] = set()  # breakpoints whose conditions belong to the frame that is shown

    # -- gdb and the target -------------------------------------------------------------------

    async def interrupt_by(self, name: str) -> None:
        """Stop the target by this signal, which it does not notice."""
        await self._order("interrupt-by", name)

    # -- stacks, code, registers, memory ------------------------------------------------------

    # -- breakpoints --------------------------------------------------------------------------

    # -- code that runs in the target ---------------------------------------------------------

    async def call_probe(
        self, gdb_thread: int, functions: Mapping[str, int], method: str, argument: str, mailbox: int
    ) -> int:
        """Call a method of the probe in a thread that holds the GIL; returns the number that it returns, 0 if it fails.

        ``functions`` has the addresses of the functions in :data:`~dualdbg.backends.native.PROBE_FUNCTIONS`,
        ``mailbox`` is where the probe has its mailbox, 0 where that is not known.
        """
        return await self._helper(int, "call-probe", gdb_thread, dict(functions), method, argument, mailbox)

    async def probe_text(
        self, gdb_thread: int, functions: Mapping[str, int], method: str, argument: str, deadline: float
    ) -> str:
        """As :meth:`call_probe`; returns the text that the method returns."""
        known = dict(functions)
        return await self._helper(str, "probe-text", gdb_thread, known, method, argument, deadline=deadline)

    async def run_text(
        self, gdb_thread: int, ensure: int, run: int, release: int, text: int, deadline: float
    ) -> None:
        """Run the Python code that lies at ``text``, in a thread that sleeps without the GIL.

        The first three are the addresses of PyGILState_Ensure, PyRun_SimpleString and PyGILState_Release. It is one
        request, so that the GIL is given back even when dualdbg ends meanwhile.
        """
        await self._helper(
            shapes.nothing, "run-text", gdb_thread, ensure, run, release, text, deadline=deadline
        )

    async def leave_on_signals(self) -> None:
        """SIGTERM and SIGHUP no longer end gdb in the middle of what it does with the target."""
        await self._helper(shapes.nothing, "leave-on-signals")

    async def let_go(self) -> None:
        """Detach from the process, which is stopped, and it gets no signal by that."""
        await self._helper(shapes.nothing, "let-go")

    async def may_let_go(self) -> bool:
        """Whether no thread has a stop of gdb's to take first, for which the target has to run for a moment."""
        return await self._helper(bool, "may-let-go")

    def take_pending(self) -> None:
        """Let the target run for that moment. gdb's answer to such a command comes before the command has ended."""
        self._tell("take-pending")

    async def park(self, gdb_threads: Sequence[int], instruction: int) -> None:
        """Let these threads wait at the system call instruction at this address while the target runs."""
        await self._helper(shapes.nothing, "park", list(gdb_threads), instruction)

    async def unpark(self) -> None:
        """Every parked thread has its own registers again."""
        await self._helper(shapes.nothing, "unpark")

    # -- at the beginning of another program -----------------------------------------------------

    async def forget_program(self) -> None:
        """The target has replaced itself with another program: nothing that was set in the earlier one is left."""
        self._at_functions.clear()
        self.forget()
        await self._helper(shapes.nothing, "forget-program")

    async def environment_variable(self, name: str) -> str | None:
        """The value of a variable of the environment, while the new program stands before its first instruction."""
        return await self._helper(shapes.text_or_none, "environment-variable", name)

    async def set_environment(self, values: Mapping[str, str]) -> None:
        """Set variables of its environment there. /proc/PID/environ stays as it was."""
        await self._helper(shapes.nothing, "set-environment", dict(values))
