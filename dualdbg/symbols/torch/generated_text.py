"""Reads the texts that PyTorch's compiler writes: which kernels they define, where they call them, and for which lines
of the program. Pure."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ...known.generated_code import GRAPH, KERNEL
from ...model import ProgramLine

_HANDLES = re.compile(r"^\s*(?:#|//) \[Provenance debug handles\] (?P<handles>.+)$")
# A kernel in the source of a graph: its definition, and not the declaration before it.
_DEFINED = re.compile(r'^extern "C"\s+void\s+(?P<name>\w+)\((?P<arguments>[^)]*)\)\s*\{', re.MULTILINE)
_TRACE = re.compile(
    r'File "(?P<file>[^"]*)", line (?P<line>\d{1,9}), in (?P<function>.+)(?:\n\s*(?P<code>.*))?'
)


@dataclass(frozen=True)
class Definition:
    """How a module defines a kernel; ``calls`` are the lines of ``source`` that call it, by handle. ``is_triton``: its
    source is Python, for Triton.
    """

    source: str | None = None
    arguments: tuple[str, ...] = ()
    function: str = KERNEL
    calls: dict[str, int] = field(default_factory=dict)
    is_triton: bool = False


PYTORCHS = Definition()  # of what is called and not defined


def definitions_of(module: str) -> dict[str, Definition]:
    """The kernels that a module defines."""
    try:
        body = ast.parse(module).body
    except (SyntaxError, ValueError, RecursionError):
        return {}
    found: dict[str, Definition] = {}
    for row in body:
        if not isinstance(row, ast.Assign) or not isinstance(row.targets[0], ast.Name):
            continue
        name, graph = row.targets[0].id, _constant(row.value)
        if name == GRAPH and graph is not None:
            found.update(definitions_in(graph))
        elif isinstance(row.value, ast.Call) and (made := _alone(row.value)) is not None:
            found[name] = made
    return found


def _alone(call: ast.Call) -> Definition | None:
    """A kernel that is a library: ``NAME = async_compile.….(…)``."""
    if not (isinstance(call.func, ast.Attribute) and _is_compiler(call.func.value)):
        return None
    texts = [text for text in map(_constant, call.args) if text is not None]
    lists = [one.elts for one in call.args if isinstance(one, ast.List)]
    arguments = tuple(text for text in map(_constant, lists[0]) if text is not None) if lists else ()
    if not texts:
        return None
    return Definition(max(texts, key=len), arguments, is_triton=call.func.attr == "triton")


def definitions_in(source: str) -> dict[str, Definition]:
    """The kernels in the source of a graph, each a function of its own."""
    calls = handles_in(source)
    found = {}
    for match in _DEFINED.finditer(source):
        name = match["name"]
        arguments = tuple(map(_type_of, match["arguments"].split(","))) if match["arguments"].strip() else ()
        own = {handle: line for handle, line in calls.items() if handle.rpartition(":")[0] == name}
        found[name] = Definition(source, arguments, name, own)
    return found


def function_at(source: str, line: int) -> str | None:
    """The kernel in whose definition a line of a graph's source is."""
    rows = source.splitlines()
    for match in _DEFINED.finditer(source):
        first, opened = (source.count("\n", 0, at) + 1 for at in (match.start(), match.end()))
        closed = (at for at in range(opened, len(rows) + 1) if rows[at - 1].rstrip() == "}")
        last = opened if rows[opened - 1].rstrip().endswith("}") else next(closed, opened)
        if first <= line <= last:
            return match["name"]
    return None


def _type_of(parameter: str) -> str:
    """The type of a parameter of C++: what is before its name."""
    return re.sub(r"\s*\w+$", "", " ".join(parameter.split()))


def _is_compiler(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "async_compile"


def _constant(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _lines_of_trace(trace: object) -> Iterator[ProgramLine]:
    for match in _TRACE.finditer(trace) if isinstance(trace, str) else ():
        yield ProgramLine(match["file"], int(match["line"]), match["function"], (match["code"] or "").strip())


def handles_in(source: str) -> dict[str, int]:
    """The lines of a text that call kernels, by the handle of each call."""
    found: dict[str, int] = {}
    handles: list[str] = []
    for number, line in enumerate(source.splitlines(), 1):
        match = _HANDLES.match(line)
        if match is not None:
            handles += re.split(r",\s*", match["handles"].strip())
        elif handles and line.strip() and not line.lstrip().startswith(("#", "//")):
            found.update(dict.fromkeys(handles, number))
            handles = []
    return found


def lines_that_call(source: str, name: str) -> list[int]:
    """Where a module calls a kernel, without a handle that says which call it is."""
    call = re.compile(rf"^\s+{re.escape(name)}\(")
    return [number for number, line in enumerate(source.splitlines(), 1) if call.match(line)]


def traces_of(data: object) -> dict[str, tuple[ProgramLine, ...]]:
    """The lines of the program by the handle of each call, ``NAME:NUMBER``, of an object of JSON."""
    if not isinstance(data, dict):
        return {}
    return {
        handle: tuple(dict.fromkeys(line for trace in traces for line in _lines_of_trace(trace)))
        for handle, traces in data.items()
        if isinstance(traces, list)
    }


def traces_of_model(text: str) -> dict[str, tuple[ProgramLine, ...]]:
    """The same of the record in a package of AOTInductor. Empty where it says nothing."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    rows = data.items() if isinstance(data, dict) else ()
    return traces_of({handle: row.get("stack_traces") for handle, row in rows if isinstance(row, dict)})


def in_order(lines: Iterable[ProgramLine]) -> tuple[ProgramLine, ...]:
    """Each line once, by files and lines."""
    return tuple(sorted(set(lines), key=lambda one: (one.file, one.line, one.function)))
