"""What gdb's side is told of functions without debug info, so that conditions and log texts may use their arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ...model import BreakpointSpec
from ...shared.requests.arguments import Passing, TeachArguments
from ...symbols.names.signature import Signature
from ..engines import NativeEngine
from ..log_text import split_log
from ..native_expressions import names_in


class TaughtArguments:
    """What is told of the function at whose entry a breakpoint stops; and at a stop, of the call that led there."""

    def __init__(self, native: NativeEngine) -> None:
        self._native = native
        # Where a function without debug info begins, and what is passed to it, by an address in it.
        self.signature_at: Callable[[int, bool], tuple[int, Signature] | None] = lambda pc, is_return: None
        # How the function at an entry is called, by its signature and by its code; and for the call at hand.
        self.passing: Callable[[int, Signature], Awaitable[Passing]]
        self.at_call: Callable[[int, int, Passing], Awaitable[Passing]]
        # By address: the entry, what is known of every call, and the arguments of which only the caller may tell.
        self._open: dict[int, tuple[int, Passing, frozenset[str]]] = {}

    def program_replaced(self) -> None:
        """The process runs another program (exec)."""
        self._open.clear()

    async def teach(self, spec: BreakpointSpec, address: int) -> bool:
        """Tell gdb's side what is passed there. Returns whether the session has to look at each arrival: the condition
        is about arguments, for which gdb itself has no names, or it takes a look at the caller to know them.
        """
        self._open.pop(address, None)
        if spec.condition is None and spec.log is None:
            return False
        found = self.signature_at(address, False)
        if found is None:
            return False
        entry, signature = found
        what = await self.passing(entry, signature)
        not_known = frozenset(await self._native.ask(TeachArguments(address, entry, what)))
        if not_known:
            self._open[address] = entry, what, not_known
        names = names_in(spec.condition or "")
        own = {"this"} if what.this is not None else set()
        is_about = bool(names) and names <= own | {name for name, _ in what.parameters}
        return is_about or self._needs_caller(spec, address)

    async def at_stop(self, spec: BreakpointSpec, address: int, gdb_thread: int) -> None:
        """A thread has come to the address: tell what its caller shows, where the breakpoint is about that."""
        if self._needs_caller(spec, address):
            entry, what, _ = self._open[address]
            if address == entry:
                await self._native.ask(
                    TeachArguments(address, entry, await self.at_call(gdb_thread, entry, what))
                )

    def _needs_caller(self, spec: BreakpointSpec, address: int) -> bool:
        expressions = [spec.condition or "", *(split_log(spec.log)[1] if spec.log is not None else [])]
        used = set().union(*map(names_in, expressions))
        return address in self._open and not used.isdisjoint(self._open[address][2])
