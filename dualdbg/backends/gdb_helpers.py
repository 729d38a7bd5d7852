"""Our own commands inside gdb, one method each: what gdb_scripts/dualdbg_engine answers, as typed facts.

Those that show values are in gdb_values.py. Threads are given by gdb's numbers. Each method raises CommandError with
gdb's words when gdb or the helper refuses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple

from . import gdb_answers as shapes
from .gdb_process import GdbProcess
from .gdb_values import GdbValues
from .native import Passing, ReturnAddress, StepEndNumbers, StepResult, ThrownObject, WantedResult


class GdbHelpers(GdbValues):
    """The client of the commands in gdb."""

    def __init__(self, process: GdbProcess) -> None:
        super().__init__(process)
        self._at_functions: set[int] = set()  # breakpoints whose conditions belong to the frame that is shown

    # -- gdb and the target -------------------------------------------------------------------

    async def interrupt_by(self, name: str) -> None:
        """Stop the target by this signal, which it does not notice."""
        await self._order("interrupt-by", name)

    async def load_helpers(self) -> None:
        """gdb itself knows the settings and commands of dualdbg_helpers from now on."""
        await self._helper(shapes.nothing, "load-helpers")

    def types_compiled(self, name: str, problem: str | None) -> None:
        """The types that were wanted by this name are there, or why not: values are shown by them from now on."""
        self._tell("types-compiled", name, problem)

    # -- stacks, code, registers, memory ------------------------------------------------------

    async def insert_step_lines(
        self, gdb_thread: int, pc: int, top: int, places: Sequence[tuple[int, str | None]]
    ) -> list[int]:
        """Set internal breakpoints for a thread that stands at ``pc`` in the frame that ends at ``top``; returns gdb's
        numbers.

        ``places``: addresses in that function, with its C name where it was inlined itself. Only those are taken to
        which control may come before all others.
        """
        rows = [list(row) for row in places]
        return await self._helper(shapes.numbers, "insert-step-lines", gdb_thread, pc, top, rows)

    # -- breakpoints --------------------------------------------------------------------------

    async def insert_breakpoint(self, address: int, gdb_thread: int | None = None) -> int:
        """A breakpoint at an address, for one thread or for all; returns gdb's number."""
        return await self._helper(int, "insert-breakpoint", address, gdb_thread)

    async def insert_watchpoint(self, address: int, size: int, access: str) -> int:
        """Watch ``size`` bytes in hardware; returns gdb's number."""
        return await self._helper(int, "insert-watchpoint", address, size, access)

    async def watch_expression(
        self, gdb_thread: int | None, level: int, expression: str, access: str
    ) -> int | None:
        """Watch the value of an expression in a frame, in hardware; returns gdb's number.

        Without a thread it has to begin with a global variable; None where there is none of that name yet. Raises
        CommandError where there is no value, or the processor cannot watch it.
        """
        return await self._helper(
            shapes.number_or_none, "watch-expression", gdb_thread, level, expression, access
        )

    async def require_thread(self, number: int, gdb_thread: int) -> None:
        """Stop only in this thread."""
        await self._helper(shapes.nothing, "require-thread", number, gdb_thread)

    async def insert_cue(self, address: int, register: str, value: int) -> int:
        """An internal breakpoint that stops only where the lower half of a register is ``value``, as a signed number.

        Returns gdb's number.
        """
        return await self._helper(int, "insert-cue", address, register, value)

    async def condition_text(self, address: int, condition: str) -> str:
        """A condition of the user as gdb has to read it at an address: with the C names of Cython's variables."""
        return await self._helper(str, "condition-text", address, condition)

    async def last_breakpoint(self) -> int:
        """The number of the breakpoint that was set last; 0 if none was set."""
        return await self._helper(int, "last-breakpoint")

    async def insert_breakpoints(self, gdb_thread: int, addresses: Sequence[int]) -> list[int]:
        """Set internal breakpoints for one thread; returns gdb's numbers, in the order of the addresses."""
        return await self._helper(shapes.numbers, "insert-breakpoints", gdb_thread, list(addresses))

    async def insert_step_ends(
        self,
        gdb_thread: int,
        returns: Sequence[tuple[int, int]],
        pads: Sequence[tuple[int, int, bool]],
        catches: Sequence[tuple[int, int]],
        result: WantedResult | None = None,
    ) -> StepEndNumbers:
        """Set internal breakpoints at which a step of one thread may end; gdb's own step passes the others' turns.

        ``returns``: the address to which a call returns, and the caller's stack pointer. ``pads``: landing pads, the
        end of the frame that is to catch, and whether the unwinder may not say there that it does.
        ``catches``: addresses of ``__cxa_begin_catch``, and the stack pointer of the frame that calls it. ``result``:
        the thread stands in a function whose result is to be read when it returns; :meth:`step_result` has it then.
        """
        at_return, at_catch = ([list(row) for row in kind] for kind in (returns, catches))
        at_pad = [list(row) for row in pads]
        wanted = None if result is None else list(astuple(result))
        return await self._helper(
            shapes.step_end_numbers, "insert-step-ends", gdb_thread, at_return, at_pad, at_catch, wanted
        )

    async def step_result(self) -> StepResult | None:
        """What the function that the last step was to leave has returned; None where it has not, or returns nothing."""
        return await self._helper(shapes.step_result, "step-result")

    async def caller_at_entry(self, gdb_thread: int) -> ReturnAddress:
        """Where the function returns to at whose first instruction the thread stands."""
        return await self._helper(shapes.one(ReturnAddress), "caller-at-entry", gdb_thread)

    async def delete_breakpoints(self, numbers: Sequence[int]) -> None:
        """Delete breakpoints by gdb's number before any later request; one that is gone already is no error."""
        self._at_functions.difference_update(numbers)
        self._tell("delete-breakpoints", list(numbers))

    async def insert_at_function(
        self, address: int, inlined: str | None = None, gdb_thread: int | None = None
    ) -> int:
        """A breakpoint at which the function itself is shown, not what was inlined at its beginning.

        ``inlined`` is the function's name where it was inlined itself. Returns gdb's number; it may be below zero.
        """
        number = await self._helper(int, "insert-at-function", address, inlined, gdb_thread)
        self._at_functions.add(number)
        return number

    async def set_internal(self, number: int, attribute: str, value: object) -> None:
        """Set ``enabled``, ``ignore_count`` or ``of_frame`` (the condition) of such a breakpoint."""
        await self._helper(shapes.nothing, "set-internal", number, attribute, value)

    async def internal_hits(self, number: int) -> int:
        """How often such a breakpoint was hit."""
        return await self._helper(int, "internal-hits", number)

    async def insert_log_point(
        self,
        address: int,
        texts: Sequence[str],
        expressions: Sequence[str],
        condition: str | None,
        tid: int,
        at_function: bool = False,
        inlined: str | None = None,
    ) -> int:
        """A breakpoint that prints ``texts`` with the values of ``expressions`` between, and never stops.

        It stops all the same when its condition cannot be evaluated. ``tid`` is an OS thread id, 0 for every thread;
        ``at_function``, ``inlined`` as for :meth:`insert_at_function`. Returns gdb's number.
        """
        said, read = list(texts), list(expressions)
        return await self._helper(
            int, "insert-log-point", address, said, read, condition, tid, at_function, inlined
        )

    async def teach_arguments(self, address: int, entry: int, what: Passing) -> list[str]:
        """Conditions and log texts at an address may be about the arguments of the function without debug info there,
        which begins at ``entry``. Returns those of which ``what`` does not tell where they are.
        """
        return await self._helper(shapes.texts, "teach-arguments", address, entry, asdict(what))

    async def condition_holds(self, gdb_thread: int, condition: str) -> bool:
        """Whether a condition is true in the innermost frame. Raises CommandError when it has no value."""
        return await self._helper(bool, "condition-holds", gdb_thread, condition)

    async def log_text(self, gdb_thread: int, texts: Sequence[str], expressions: Sequence[str]) -> str:
        """What a log point with these texts and expressions would print."""
        return await self._helper(str, "log-text", gdb_thread, list(texts), list(expressions))

    async def thrown_object(self, gdb_thread: int) -> ThrownObject:
        """At the entry of ``__cxa_throw``: what is thrown."""
        return await self._helper(shapes.thrown_object, "thrown-object", gdb_thread)

    async def caught_object(self, gdb_thread: int) -> ThrownObject:
        """At the entry of ``__cxa_begin_catch``: what is caught."""
        return await self._helper(shapes.thrown_object, "caught-object", gdb_thread)

    async def panic_text(self, gdb_thread: int) -> str | None:
        """At the entry of ``rust_panic``: the message, where it can be read from memory."""
        return await self._helper(shapes.text_or_none, "panic-text", gdb_thread)

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
