"""What a Python breakpoint wants of debugpy besides its place, in debugpy's words. Pure."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...model import BreakpointKind, BreakpointSpec
from ...symbols.callables.python_functions import FunctionDefinition
from ...symbols.locspec.outermost import function_and_files
from ..log_text import split_log

# Each is a whole expression. pydevd is always to be had; what the program finds by another name may be its own.
_IN_THREAD = (
    "{thread!r} in (str(__import__('pydevd').threading.get_native_id()),"
    " __import__('pydevd').threading.current_thread().name)"
)
# From where debugpy evaluates outwards, the first frame of this name is the one of the breakpoint.
_IN_FUNCTION = (
    "(lambda code: (code.co_firstlineno, code.co_filename.rpartition('/')[2]))(next(frame.f_code for frame, _ in"
    " __import__('pydevd').traceback.walk_stack(__import__('sys')._getframe()) if frame.f_code.co_name == {name!r}))"
    " == ({line}, {file!r})"
)
# No two calls of the function are on the stack.
_OUTERMOST = (
    "sum(frame.f_code.co_name == {name!r} and frame.f_code.co_filename.endswith({files!r}) for frame, _ in"
    " __import__('pydevd').traceback.walk_stack(__import__('sys')._getframe())) < 2"
)
# Of a coroutine or generator: whether it has begun just now. Its first line may be run again, from another instruction,
# where it is not that of `def`.
_BEGUN = (
    "(lambda frame: frame is not None and (frame.f_code.co_firstlineno, frame.f_code.co_filename.rpartition('/')[2]) =="
    " ({line}, {file!r}) and ({line} == frame.f_lineno or frame.f_lasti == min(offset for offset, line in"
    " __import__('pydevd').dis.findlinestarts(frame.f_code) if line == frame.f_lineno)))(next((frame for frame, _ in"
    " __import__('pydevd').traceback.walk_stack(__import__('sys')._getframe()) if frame.f_code.co_name == {name!r}),"
    " None))"
)
# debugpy counts for its own hitCondition whether the condition holds or not (pydevd.py, handle_breakpoint_condition).
_COUNT = "next(vars(__import__('pydevd')).setdefault('dualdbg_hits_{count}', __import__('pydevd').itertools.count(1)))"
# By thread: which of several breakpoints at one place hold. It is noted before debugpy hears whether any of them does.
_JOINED = (
    "(lambda held: (vars(__import__('pydevd')).setdefault('dualdbg_held', {{}})"
    ".__setitem__(__import__('pydevd').threading.get_ident(), held), any(held.values()))[1])({{{parts}}})"
)
HELD = (
    "vars(__import__('pydevd')).get('dualdbg_held', {}).pop(__import__('pydevd').threading.get_ident(), None)"
)
# debugpy would print what goes wrong in a log text as if that were the text, and would look at the expressions of one
# whose condition does not hold. So we write it ourselves (dualdbg_log.py), as a part of the condition.
_LOG = "__import__('pydevd').dualdbg_presentation.log({id}, {texts}, {expressions}, globals(), locals())"


def suffixes(count: str, spec: BreakpointSpec, place: FunctionDefinition | None) -> dict[str, Any]:
    """The condition and hitCondition of a breakpoint, the counter of whose hits is named ``count``.

    ``place`` is its function, where it names one.
    """
    parts = []
    if place is not None:
        file = Path(place.file).name
        which = _IN_FUNCTION if place.entry is None else _BEGUN
        parts.append(which.format(name=place.name, line=place.line, file=file))
    if spec.thread is not None:
        parts.append(_IN_THREAD.format(thread=spec.thread))
    if spec.outermost is not None:
        name, files = function_and_files(spec.outermost)
        parts.append(_OUTERMOST.format(name=name, files=files))
    if spec.condition is not None:
        parts.append(f"({spec.condition})")
    if spec.hits is not None and spec.hits > 1:
        parts.append(f"{_COUNT.format(count=count)} >= {spec.hits}")
    by_debugpy = spec.hit_condition is not None and spec.kind is not BreakpointKind.PYTHON_FUNCTION
    if spec.hit_condition is not None and not by_debugpy:  # debugpy counts lines alone
        parts.append(_count_holds(count, spec.hit_condition))
    found: dict[str, Any] = {"condition": " and ".join(parts)} if parts else {}
    if by_debugpy:
        found["hitCondition"] = spec.hit_condition
    return found


def _count_holds(count: str, hit_condition: str) -> str:
    zero = " == 0" if "%" in hit_condition else ""
    return f"{_COUNT.format(count=count)} {hit_condition}{zero}"


def join(
    rows: Sequence[dict[str, Any]], key: str, breakpoints: Sequence[tuple[int, str, BreakpointSpec]]
) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """One row for each value of ``key``, and the breakpoints that went into each: debugpy keeps one breakpoint a
    place.

    ``key`` is line or name (of a function). ``breakpoints`` are the number, the counter and the spec of each row. A
    joined row stops when any of its breakpoints would, and notes which; :data:`HELD` tells. One with a log text never
    would.
    """
    sources: dict[Any, list[int]] = {}
    for index, row in enumerate(rows):
        sources.setdefault(row[key], []).append(index)
    joined = []
    for place, indices in sources.items():
        parts = ", ".join(f"{breakpoints[i][0]}: bool({_holds(rows[i], *breakpoints[i])})" for i in indices)
        first = rows[indices[0]]
        alone = len(indices) == 1 and breakpoints[indices[0]][2].log is None
        joined.append(first if alone else {key: place, "condition": _JOINED.format(parts=parts)})
    return joined, list(sources.values())


def _holds(row: dict[str, Any], id: int, count: str, spec: BreakpointSpec) -> str:
    """An expression that tells whether a breakpoint stops here. One with a log text prints it, and never stops."""
    parts = [f"({row['condition']})"] if "condition" in row else []
    if "hitCondition" in row:
        parts.append(_count_holds(count, row["hitCondition"]))
    if spec.log is not None:
        parts.append(log_call(id, spec.log))
    return " and ".join(parts) or "True"


def log_call(id: int, text: str) -> str:
    """An expression that writes a log text when it is evaluated in a frame; its value is False."""
    texts, expressions = split_log(text)
    pairs = [(expression, _value_of(expression)) for expression in expressions]
    return _LOG.format(id=id, texts=texts, expressions=pairs)


def _value_of(expression: str) -> str:
    """An expression of a log text with its format or conversion (``loss:.3f``, ``name!r``), written as a call.

    The colon of a lambda, a slice or a dictionary begins no format, and ``!=`` is no conversion.
    """
    if _is_expression(expression):
        return expression
    for at, letter in enumerate(expression):
        value = expression[:at].strip()
        if letter == ":" and _is_expression(value):
            return f"format({value}, {expression[at + 1 :]!r})"
        if letter == "!" and expression[at + 1 : at + 2] in _CONVERSIONS and _is_expression(value):
            converted = f"{_CONVERSIONS[expression[at + 1]]}({value})"
            rest = expression[at + 2 :].strip()
            return f"format({converted}, {rest[1:]!r})" if rest.startswith(":") else converted
    return expression


_CONVERSIONS = {"r": "repr", "s": "str", "a": "ascii"}


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        return False
    return True
