"""Sets the breakpoints of one step at the places that its plan wants, and takes them back."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from ...backends.native import Access
from ...errors import CommandError
from ...model import NativeFrame
from ...symbols.address_space import Module
from ...symbols.gdb_feed.policy import Load
from ..engines import NativeEngine
from ..inspect.stack_reader import StackReader
from ..ports import Halting
from .code_of_interest import CodeOfInterest
from .places import Momentary, Places


class MomentaryBreakpoints:
    """The breakpoints of steps. ``now`` are those of the step under way.

    Those of the next step are kept apart until it begins.
    """

    def __init__(
        self, native: NativeEngine, halting: Halting, reader: StackReader, code: CodeOfInterest
    ) -> None:
        self._native = native
        self._halting = halting
        self._reader = reader
        self._code = code
        self.now = Momentary()

    async def set(self, places: Places, gdb_thread: int, momentary: Momentary) -> None:
        """Set what is wanted for a thread. The numbers are added to ``momentary``.

        At a Python stop the target halts for a moment. Raises WrongState when it stops for another reason meanwhile.
        """
        code = self._code
        for caller in places.returns:
            await self._halting.interrupted(partial(self._set_return, caller, gdb_thread, momentary))
        entries = [await self._entry(address) for address in places.entries]
        inlined = [body for body in map(code.inlined_body, entries) if body is not None]
        if inlined:
            visits = await self._native.function_visits(inlined)
            for (
                visit
            ) in visits:  # at one that gdb does not take for the user's it hides what is inlined there
                number = await self._native.insert_breakpoint(visit.address, gdb_thread)
                momentary.entries[number] = visit.address
            around = {start for start, _, _ in inlined} if visits else set()
            entries = [address for address in entries if address not in around]
        momentary.entries.update(await self._at_bodies(entries, gdb_thread))
        momentary.entries.update(await self._at(places.exact, gdb_thread))
        if places.bodies is not None:
            momentary.has_bodies = True
            momentary.entries.update(await self._in_all(code.module_at(places.bodies), gdb_thread))
        for module in code.operator_modules() if places.operators else ():
            momentary.entries.update(await self._in_all(module, gdb_thread))
        if places.calls is not None:
            momentary.calls = places.calls
            momentary.callees.update(await self._at(places.calls.callees, gdb_thread))
            momentary.sites.update(await self._at(places.calls.sites, gdb_thread))
        if places.chosen is not None:
            momentary.chosen.update(await self._at_bodies([places.chosen], gdb_thread))

    async def take_back(self) -> None:
        """The step under way is over. Its breakpoints are removed."""
        momentary, self.now = self.now, Momentary()
        await self.remove(momentary)

    async def cancel(self) -> None:
        """debugpy has ended a step on which gdb still works. gdb forgets it when it is interrupted."""

        async def nothing() -> None:
            return None

        await self._halting.interrupted(nothing)

    async def remove(self, momentary: Momentary) -> None:
        """Remove the breakpoints of a step, perhaps of one that did not begin."""
        if momentary.numbers:
            await self._native.delete_breakpoints(momentary.numbers)

    async def _set_return(self, caller: NativeFrame, gdb_thread: int, momentary: Momentary) -> None:
        momentary.landings[await self._at_return(caller, gdb_thread)] = caller.sp or 0

    async def _at_return(self, caller: NativeFrame, gdb_thread: int) -> int:
        """Where the code above ``caller`` returns into it, from this very call.

        A return address is read when it is returned to, and hardly ever before. So a hardware watchpoint on its slot,
        just below the caller's stack pointer, costs nothing while deeper calls come and go. Where no watchpoint is
        free, or calls do not return by the stack, a conditional breakpoint does it.
        """
        native = self._native
        if caller.sp is not None and await native.architecture() == "x86-64":
            try:
                return await native.watch(caller.sp - 8, 8, Access.READ_WRITE)
            except CommandError:
                pass  # the breakpoint below serves as well, only slower
        number = await native.insert_breakpoint(caller.pc, gdb_thread)
        if caller.sp is not None:
            await native.require_stack_pointer(number, caller.sp)
        return number

    async def _entry(self, address: int) -> int:
        """The user's function behind an entry. gdb gets its debug info first, where that is worth having."""
        module = self._code.module_at(address)
        if module is not None and self._reader.load_of(module) is Load.WHOLE:
            await self._reader.prepare(module)
        return self._code.entry(address)

    async def _in_all(self, module: Module | None, gdb_thread: int) -> dict[int, int]:
        """Breakpoints at every function of an extension's own code."""
        functions = self._code.functions(module) if module is not None else []
        if module is None or not functions:
            return {}
        await self._reader.prepare(module)
        return await self._at_bodies(functions, gdb_thread)

    async def _at_bodies(self, functions: list[int], gdb_thread: int) -> dict[int, int]:
        """Breakpoints at functions, behind the prologue where there is debug info. Returns addresses by gdb's
        numbers.
        """
        return await self._at(await self._native.function_bodies(functions), gdb_thread) if functions else {}

    async def _at(self, addresses: Iterable[int], gdb_thread: int) -> dict[int, int]:
        """Breakpoints at these very addresses. Returns the addresses by gdb's numbers."""
        wanted = sorted(set(addresses))
        if not wanted:
            return {}
        numbers = await self._native.insert_breakpoints(gdb_thread, wanted)
        return dict(zip(numbers, wanted, strict=True))
