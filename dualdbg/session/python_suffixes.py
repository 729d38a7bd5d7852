"""Pure: what a Python breakpoint wants of debugpy beyond its place, in debugpy's own words."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from ..model import BreakpointSpec
from ..symbols.python_functions import FunctionPlace
from .log_text import split_log

# Each is a whole expression; what they import is there already.
_IN_THREAD = (
    "{thread!r} in (str(__import__('threading').get_native_id()),"
    " __import__('threading').current_thread().name)"
)
# The frame at hand is the first of its name outwards from where debugpy evaluates.
_IN_FUNCTION = (
    "(lambda code: (code.co_firstlineno, code.co_filename.rpartition('/')[2]))(next(frame.f_code for frame, _ in"
    " __import__('traceback').walk_stack(__import__('sys')._getframe()) if frame.f_code.co_name == {name!r}))"
    " == ({line}, {file!r})"
)
# debugpy's own hitCondition does not look at the condition (pydevd.py, handle_breakpoint_condition).
_HITS = "next(vars(__import__('pydevd')).setdefault('dualdbg_hits_{id}', __import__('itertools').count(1))) >= {hits}"


def suffixes(id: int, spec: BreakpointSpec, place: FunctionPlace | None) -> dict[str, Any]:
    """The condition, hitCondition and logMessage of breakpoint ``id``; ``place`` is the function that it names."""
    parts = []
    if place is not None:
        file = Path(place.file).name
        parts.append(_IN_FUNCTION.format(name=place.name, line=place.line, file=file))
    if spec.thread is not None:
        parts.append(_IN_THREAD.format(thread=spec.thread))
    if spec.condition is not None:
        parts.append(f"({spec.condition})")
    if spec.hits is not None and spec.hits > 1:
        parts.append(_HITS.format(id=id, hits=spec.hits))
    found: dict[str, Any] = {"condition": " and ".join(parts)} if parts else {}
    if spec.hit_condition is not None:
        found["hitCondition"] = spec.hit_condition
    if spec.log is not None:
        found["logMessage"] = _log_message(spec.log)
    return found


def join(rows: list[dict[str, Any]], key: str) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """One row for each value of ``key``, as debugpy keeps one breakpoint a place, and the rows that went into each.

    It stops when any of them would.
    """
    joined: dict[Any, dict[str, Any]] = {}
    sources: dict[Any, list[int]] = {}
    for index, row in enumerate(rows):
        place = row[key]
        sources.setdefault(place, []).append(index)
        if place not in joined:
            joined[place] = dict(row)
            continue
        first = joined[place]
        conditions = [first.pop("condition", None), row.get("condition")]
        if None not in conditions:
            first["condition"] = " or ".join(f"({one})" for one in conditions)
        if "logMessage" not in row:
            first.pop("logMessage", None)  # a stop shows more than a text
    return list(joined.values()), list(sources.values())


def _log_message(text: str) -> str:
    """A log text in debugpy's form, which knows neither doubled braces nor formats."""
    texts, expressions = split_log(text)
    written = ["".join(_BRACES.get(letter, letter) for letter in part) for part in texts]
    values = [*(_formatted(expression) for expression in expressions), ""]
    return "".join(part + value for part, value in zip(written, values, strict=True))


_BRACES = {"{": "{chr(123)}", "}": "{chr(125)}"}


def _formatted(expression: str) -> str:
    """``loss:.3f`` as a call of format; the colon of a lambda, a slice or a dictionary is none of a format."""
    if not _is_expression(expression):
        for at, letter in enumerate(expression):
            value = expression[:at].strip()
            if letter == ":" and _is_expression(value):
                return f"{{format({value}, {expression[at + 1 :]!r})}}"
    return f"{{{expression}}}"


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        return False
    return True
