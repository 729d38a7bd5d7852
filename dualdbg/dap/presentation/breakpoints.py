"""The client's lists of breakpoints against the session's one table: what was added, what stays, what goes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Union

from ...errors import CommandError, DualdbgError
from ...known.file_endings import NATIVE_ENDINGS, PYTHON_ENDINGS
from ...model import Breakpoint, BreakpointKind, BreakpointSpec
from ...protocol import dap_types as dap
from ...symbols.locspec.breakpoint_spec import same_place
from ...symbols.locspec.hit_conditions import check_hit_condition
from ..client.arguments import Arguments
from ..client.conventions import Client
from ..client.port import ClientPort
from ..client.wording import for_an_editor
from ..debuggee import Debuggee
from . import bodies
from .sources import SourceBook

Wanted = Union[BreakpointSpec, DualdbgError]
"""A row of a list, or why it could not be understood."""

_WAITS = {
    BreakpointKind.PYTHON_LINE: "waits until debugpy has read the file",
    BreakpointKind.NATIVE_LINE: "waits for a library that has this file, with debug information",
}
_WAITS_FOR_FUNCTION = "waits for a library that has it"


@dataclass
class _Row:
    """One breakpoint of the client. ``session_id`` is its number in the session's table."""

    spec: BreakpointSpec
    session_id: int
    told: dap.Breakpoint | None = None


class BreakpointBook:
    """Which breakpoint of the session belongs to which list of the client.

    A list is a file, or one word for each of the other kinds; the client sends a whole list, never a change. The
    client's numbers stay when the program is started again; the session's table is then a new one.
    """

    def __init__(
        self, connection: ClientPort, client: Client, debuggee: Debuggee, sources: SourceBook
    ) -> None:
        self._connection = connection
        self._client = client
        self._debuggee = debuggee
        self._sources = sources
        self._lists: dict[str, list[int]] = {}
        self._rows: dict[int, _Row] = {}
        self._last_id = 0
        self._adding = 0
        self._python_filters: tuple[tuple[str, ...], tuple[dict[str, Any], ...]] = ((), ())

    # -- what the client wants --------------------------------------------------------------------

    async def replace_list(self, name: str, wanted: Sequence[Wanted]) -> list[dap.Breakpoint]:
        """Make the list ``name`` what the client wants; one answer for each row, in their order.

        Raises WrongState for a program that runs without a debugger.
        """
        if wanted:
            _ = self._debuggee.session
        self._adding += 1
        try:
            return await self._replace_list(name, wanted)
        finally:
            self._adding -= 1

    async def _replace_list(self, name: str, wanted: Sequence[Wanted]) -> list[dap.Breakpoint]:
        # Equal rows of one list are one breakpoint here: the client sees its number several times.
        old = dict.fromkeys(self._lists.get(name, ()))
        kept: list[int | DualdbgError | None] = []
        for spec in wanted:
            if isinstance(spec, DualdbgError):
                kept.append(spec)
            else:
                kept.append(next((id for id in old if _same(self._rows[id].spec, spec)), None))
        for id in old:
            if id not in kept:
                await self._remove(id)
        answers: list[int | DualdbgError] = []
        for spec, known in zip(wanted, kept, strict=True):
            if known is None:
                assert isinstance(spec, BreakpointSpec)
                known = await self._add(spec)
            answers.append(known)
        self._lists[name] = [id for id in answers if isinstance(id, int)]
        return [self._tell(id) if isinstance(id, int) else _refused(id) for id in answers]

    async def _add(self, spec: BreakpointSpec) -> int | DualdbgError:
        """Set a breakpoint, or adopt an equal one that the user set in another way."""
        listed = {id for ids in self._lists.values() for id in ids}
        for id, row in self._rows.items():
            if id not in listed and _same(row.spec, spec):
                return id
        try:
            added = await self._debuggee.session.breakpoints.add_spec(spec)
        except DualdbgError as error:  # the other rows are none the worse for it
            return error
        return self._number(added)

    async def _remove(self, id: int) -> None:
        row = self._rows.pop(id, None)
        if row is None:
            return  # removed by sweep meanwhile: it was gone
        try:
            await self._debuggee.session.breakpoints.remove(row.session_id)
        except CommandError:
            return  # a temporary one that was hit, or deleted in the console

    async def set_python_filters(self, filters: tuple[str, ...], options: tuple[dict[str, Any], ...]) -> None:
        """Set the filters of Python exceptions, in debugpy's words."""
        self._python_filters = filters, options
        await self._debuggee.session.breakpoints.set_python_filters(filters, options)

    async def set_again(self) -> None:
        """The program was started again: the client's breakpoints are set in the new session's table."""
        self._adding += 1
        try:
            listed = {id for ids in self._lists.values() for id in ids}
            self._rows = {id: row for id, row in self._rows.items() if id in listed}
            for row in self._rows.values():
                row.session_id = (await self._debuggee.session.breakpoints.add_spec(row.spec)).id
        finally:
            self._adding -= 1
        await self._debuggee.session.breakpoints.set_python_filters(*self._python_filters)
        for now in self._debuggee.session.breakpoints.all():
            self.changed(now)

    # -- what the session tells -------------------------------------------------------------------

    def changed(self, now: Breakpoint) -> None:
        """The session's table changed: tell the client that the breakpoint changed, or is new to it."""
        table = {row.id: row for row in self._debuggee.session.breakpoints.all()}
        known = self._id_of(now.id)
        untold = known is None or self._rows[known].told is None
        if now.id not in table or (untold and self._adding):
            return  # gone by now, or the answer to the request under way will tell the client
        id = self._number(now) if known is None else known
        before = self._rows[id].told
        body = self._tell(id)
        if body != before:
            reason = "new" if before is None else "changed"
            self._connection.event("breakpoint", {"reason": reason, "breakpoint": body})

    def sweep(self) -> None:
        """Tell of breakpoints that went by themselves: temporary ones that were hit, those deleted in the console."""
        table = {row.id for row in self._debuggee.session.breakpoints.all()}
        for id in [id for id, row in self._rows.items() if row.session_id not in table]:
            del self._rows[id]
            for ids in self._lists.values():
                if id in ids:
                    ids.remove(id)
            body: dap.Breakpoint = {"id": id, "verified": False}
            self._connection.event("breakpoint", {"reason": "removed", "breakpoint": body})

    def ids(self, session_ids: Sequence[int]) -> list[int]:
        """The client's numbers of breakpoints of the session's table."""
        return [id for id in map(self._id_of, session_ids) if id is not None]

    def _id_of(self, session_id: int) -> int | None:
        return next((id for id, row in self._rows.items() if row.session_id == session_id), None)

    def _number(self, row: Breakpoint) -> int:
        """A number for a breakpoint of the session: the session's own, unless another breakpoint has it already."""
        id = self._id_of(row.id)
        if id is None:
            id = row.id if row.id > self._last_id else self._last_id + 1
            self._last_id = max(self._last_id, id)
            self._rows[id] = _Row(row.spec, row.id)
        return id

    def _tell(self, id: int) -> dap.Breakpoint:
        row = self._rows[id]
        # The breakpoint as it is now, not as it was when the event came.
        now = self._debuggee.session.breakpoints.get(row.session_id)
        waits = _WAITS.get(row.spec.kind, _WAITS_FOR_FUNCTION)
        row.told = told = bodies.breakpoint(
            replace(now, id=id), self._client, self._sources.of_file, pending=waits
        )
        return told


def line_spec(
    path: str, row: Arguments, our_line: Callable[[int], int], templates: bool = False
) -> BreakpointSpec:
    """A row of ``setBreakpoints`` for the target's file ``path``. ``templates``: it may be one."""
    line = our_line(row.number("line"))
    ending = PurePath(path).suffix[1:]
    python = is_python(path) or (templates and ending not in NATIVE_ENDINGS)
    kind = BreakpointKind.PYTHON_LINE if python else BreakpointKind.NATIVE_LINE
    return with_suffixes(BreakpointSpec(f"{path}:{line}", kind, path, line=line), row)


def is_python(path: str) -> bool:
    """Whether an editor's file is Python: by its ending, and without one as a script."""
    ending = PurePath(path).suffix.lower()[1:]
    return not ending or ending in PYTHON_ENDINGS


def with_suffixes(spec: BreakpointSpec, row: Arguments) -> BreakpointSpec:
    """``spec`` with the condition, hit condition and log message of the client's row."""
    hits = row.text("hitCondition", "").strip()
    return replace(
        spec,
        condition=row.text("condition", "").strip() or spec.condition,
        hit_condition=check_hit_condition(hits) if hits else spec.hit_condition,
        log=row.text("logMessage", "") or spec.log,
    )


def _same(one: BreakpointSpec, other: BreakpointSpec) -> bool:
    def suffixes(spec: BreakpointSpec) -> tuple[object, ...]:
        how = spec.temporary, spec.thread, spec.outermost, spec.fast, spec.counts
        return spec.condition, spec.hits, spec.hit_condition, spec.log, *how

    return same_place(one, other) and suffixes(one) == suffixes(other)


def _refused(error: DualdbgError) -> dap.Breakpoint:
    text = f"{error.message} ({for_an_editor(error.hint)})" if error.hint else error.message
    return {"verified": False, "message": text, "reason": "failed"}
