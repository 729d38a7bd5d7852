"""The Python half of the breakpoint table: debugpy takes all breakpoints of a file, or all filters, at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..model import BreakpointKind, BreakpointSpec, BreakpointState, Location
from .engines import PythonEngine


@dataclass
class _Wanted:
    """A Python breakpoint of the user and what debugpy said of it."""

    id: int
    spec: BreakpointSpec
    file: str | None
    enabled: bool = True
    state: BreakpointState = BreakpointState.PENDING
    location: Location | None = None
    message: str | None = None
    debugpy_id: int | None = None


class PythonBreakpoints:
    """Line and function breakpoints and exception filters, as debugpy is to have them."""

    def __init__(self, python: PythonEngine, folders: tuple[Path, ...]) -> None:
        self._python = python
        self._folders = folders
        self._wanted: dict[int, _Wanted] = {}
        self._ready = False

    async def add(self, id: int, spec: BreakpointSpec) -> None:
        wanted = _Wanted(id, spec, None)
        if spec.kind is BreakpointKind.PYTHON_LINE:
            wanted.file = self._resolve(spec.subject)
            if wanted.file is None:
                wanted.state = BreakpointState.REJECTED
                looked = ", ".join(str(folder) for folder in self._folders)
                wanted.message = f"there is no file {spec.subject} (looked in {looked})"
        self._wanted[id] = wanted
        await self._send(wanted)

    async def remove(self, id: int) -> None:
        await self._send(self._wanted.pop(id))

    async def enable(self, id: int, enabled: bool) -> None:
        self._wanted[id].enabled = enabled
        await self._send(self._wanted[id])

    async def send_all(self) -> None:
        """Tell debugpy everything: it is initialized now, and takes breakpoints."""
        self._ready = True
        for wanted in _one_a_group(list(self._wanted.values())):
            await self._send(wanted)

    def changed(self, debugpy_id: int, verified: bool, line: int | None, message: str | None) -> int | None:
        """debugpy changed a breakpoint; returns whose it is."""
        for wanted in self._wanted.values():
            if wanted.debugpy_id == debugpy_id:
                _settle(wanted, {"verified": verified, "line": line, "message": message})
                return wanted.id
        return None

    def owners(self, debugpy_ids: tuple[int, ...]) -> list[int]:
        return [wanted.id for wanted in self._wanted.values() if wanted.debugpy_id in debugpy_ids]

    def exception_owners(self) -> list[int]:
        kinds = (BreakpointKind.RAISE, BreakpointKind.UNCAUGHT)
        return [wanted.id for wanted in self._wanted.values() if wanted.spec.kind in kinds]

    def state(self, id: int) -> tuple[BreakpointState, tuple[Location, ...], str | None]:
        wanted = self._wanted[id]
        locations = (wanted.location,) if wanted.location is not None else ()
        return wanted.state, locations, wanted.message

    def _resolve(self, name: str) -> str | None:
        for folder in self._folders:
            candidate = folder / Path(name).expanduser()
            if candidate.is_file():
                return str(candidate.resolve())
        return None

    async def _send(self, changed: _Wanted) -> None:
        if not (self._ready and self._python.connected):
            return
        await _SENDERS[changed.spec.kind](self, changed)

    async def _send_lines(self, changed: _Wanted) -> None:
        if changed.file is None:
            return
        group = [w for w in self._wanted.values() if w.file == changed.file and w.enabled]
        answer = await self._python.request(
            "setBreakpoints",
            {
                "source": {"path": changed.file, "name": Path(changed.file).name},
                "breakpoints": [{"line": wanted.spec.line, **_suffixes(wanted.spec)} for wanted in group],
            },
        )
        for wanted, row in zip(group, answer.get("breakpoints", ()), strict=False):
            _settle(wanted, row)

    async def _send_functions(self, changed: _Wanted) -> None:
        group = [
            w for w in self._wanted.values() if w.spec.kind is BreakpointKind.PYTHON_FUNCTION and w.enabled
        ]
        answer = await self._python.request(
            "setFunctionBreakpoints",
            {
                "breakpoints": [
                    {"name": wanted.spec.subject.rsplit(".", 1)[-1], **_suffixes(wanted.spec)}
                    for wanted in group
                ]
            },
        )
        for wanted, row in zip(group, answer.get("breakpoints", ()), strict=False):
            _settle(wanted, row)

    async def _send_exceptions(self, changed: _Wanted) -> None:
        enabled = [wanted for wanted in self._wanted.values() if wanted.enabled]
        raised = [w for w in enabled if w.spec.kind is BreakpointKind.RAISE]
        filters = ["uncaught"] if any(w.spec.kind is BreakpointKind.UNCAUGHT for w in enabled) else []
        named = [wanted.spec.subject for wanted in raised if wanted.spec.subject]
        options: list[dict[str, Any]] = []
        if any(not wanted.spec.subject for wanted in raised):
            filters.append("raised")
        elif named:
            options = [{"path": [{"names": ["Python Exceptions"]}, {"names": named}], "breakMode": "always"}]
        arguments: dict[str, Any] = {"filters": filters}
        if options:
            arguments["exceptionOptions"] = options
        await self._python.request("setExceptionBreakpoints", arguments)
        for wanted in [*raised, *(w for w in enabled if w.spec.kind is BreakpointKind.UNCAUGHT)]:
            wanted.state = BreakpointState.VERIFIED


_SENDERS = {
    BreakpointKind.PYTHON_LINE: PythonBreakpoints._send_lines,
    BreakpointKind.PYTHON_FUNCTION: PythonBreakpoints._send_functions,
    BreakpointKind.RAISE: PythonBreakpoints._send_exceptions,
    BreakpointKind.UNCAUGHT: PythonBreakpoints._send_exceptions,
}


def _one_a_group(wanted: list[_Wanted]) -> list[_Wanted]:
    """One breakpoint for each thing that is sent as a whole: each file, the functions, the exceptions."""
    groups = {(_SENDERS[one.spec.kind], one.file): one for one in wanted}
    return list(groups.values())


def _suffixes(spec: BreakpointSpec) -> dict[str, Any]:
    suffixes: dict[str, Any] = {}
    if spec.condition is not None:
        suffixes["condition"] = spec.condition
    if spec.hits is not None:
        suffixes["hitCondition"] = f">= {spec.hits}"
    elif spec.hit_condition is not None:
        suffixes["hitCondition"] = spec.hit_condition
    if spec.log is not None:
        suffixes["logMessage"] = spec.log
    return suffixes


def _settle(wanted: _Wanted, row: dict[str, Any]) -> None:
    if row.get("id") is not None:
        wanted.debugpy_id = int(row["id"])
    wanted.message = row.get("message")
    if row.get("verified"):
        wanted.state = BreakpointState.VERIFIED
        function = wanted.spec.subject if wanted.spec.kind is BreakpointKind.PYTHON_FUNCTION else None
        wanted.location = Location(function, None, None, wanted.file, row.get("line") or wanted.spec.line)
