"""Names that Python and native code may both have: which halves of the table such a breakpoint belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...errors import UsageError
from ...model import Breakpoint, BreakpointKind, BreakpointSpec, BreakpointState, Notice
from ...system.in_thread import in_thread
from ..loop import Loop
from .native import NativeBreakpoints
from .python import PythonBreakpoints
from .spec_reader import SpecReader, python_namesake


class Namesakes:
    """Looks for the other meaning of a name. ``rows`` is the table, in which a row may vanish at each ``await``."""

    def __init__(
        self,
        loop: Loop,
        specs: SpecReader,
        native: NativeBreakpoints,
        python: PythonBreakpoints,
        rows: Mapping[int, Breakpoint],
        settle: Callable[[int, bool], None],
    ) -> None:
        self._loop = loop
        self._specs = specs
        self._native = native
        self._python = python
        self._rows = rows
        self._settle = settle  # with the number of a breakpoint, and whether what is new is announced

    async def add(self, id: int, spec: BreakpointSpec) -> bool:
        """Stop in the Python function of the same name too. Returns whether there is one, or may be."""
        namesake = python_namesake(spec)
        if namesake is None or id not in self._rows:
            return False
        wait_for_it = spec.kind is BreakpointKind.FUNCTION and self._native.has(id)
        try:
            added = await self._python.add_namesake(id, namesake, also_unseen=wait_for_it)
        except UsageError as error:  # the interpreter cannot be asked where its modules are
            text = f"breakpoint {id}: {spec.subject} is looked for in native code alone: {error.message}"
            self._loop.tell(Notice("info", text, error.hint))
            return False
        if id not in self._rows:
            if added:
                await self._python.remove(id)
            return False
        await self.forget_unseen(id)
        return self._python.has(id)

    async def forget_unseen(self, id: int) -> None:
        """A name of which Python knows nothing, and which is found natively by now, meant that."""
        if self._native.has(id) and self._python.is_unseen(id):
            state, _, message = self._native.state(id)
            if state is BreakpointState.VERIFIED or message is not None:
                await self._python.remove(id, wait=False)

    async def look_behind(self, id: int, name: str) -> None:
        """The name has no Python code of its own. Perhaps it is another name of a function, or that of a native one.

        The breakpoint goes to the function; of a native one the user is told.
        """
        found = await in_thread(self._specs.resolve, name)
        if id not in self._rows:
            return
        if found.python is not None and found.python.name != name:
            await self._python.place_again(id, found.python.name)
            if id not in self._rows:
                return
        elif found.entries:
            self._python.reject(id, f"{name} is built in: it has no Python code")
            spec = found.operator.removeprefix("aten::") if found.operator else found.entries[0].spec
            hint = f"to stop in its native code: break {spec}"
            self._loop.tell(Notice("warning", f"{name} is built in: no Python code runs there", hint))
        self._settle(id, True)
