"""Expressions such as ``*layers["conv"][1].weight`` step by step: where gdb would call the program, or does not know.

A chain is a name with members, indices and calls behind it, and perhaps ``*`` or ``&`` before it. Each step that a
container's layout answers is taken by :mod:`.containers`, the rest by gdb. Everything else gdb evaluates as a whole.
"""

import re
from typing import Any

import gdb

from . import containers, language, sequences
from .actual import actual

_NAME = re.compile(r"(?:::)?[A-Za-z_$]\w*(?:::~?[A-Za-z_]\w*)*")
_MEMBER = re.compile(r"(\.|->)\s*([A-Za-z_]\w*)")
_GET = re.compile(r"std::get<\s*([^()]+?)\s*>\s*(?=\()")
_CLOSING = {"(": ")", "[": "]"}
_PART = "dualdbg_part"  # the value so far, as a convenience variable

_MAP = re.compile(r"^std::(?:__\w+::)?(?:unordered_)?map<")
_OPTIONAL = re.compile(r"^std::optional<")
_EIGEN = re.compile(r"^Eigen::(?:Matrix|Array)<")
# In ATen, or where PyTorch has moved them to.
_ACCESSOR = re.compile(
    r"^(?:at|torch::headeronly(?:::detail)?)::(?:TensorAccessor|GenericPackedTensorAccessor)<"
)
MEMBER, INDEX, CALL = "member", "index", "call"


class Step:
    """One step: ``sign`` is "." or "->" for a member, else empty; ``text`` its name, or what is in the brackets."""

    def __init__(self, kind, text, sign=""):
        self.kind, self.text, self.sign = kind, text, sign


def evaluate(expression):
    """The value of an expression in the selected frame."""
    chain = _parse(expression.strip()) if language.is_like_ours() else None
    if chain is None:
        return _as_a_whole(expression)
    signs, first, steps = chain
    try:
        value = _first(first)
    except gdb.error:
        return _as_a_whole(expression)  # it may have a meaning as a whole: a type, a template
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_FUNC:
        return _as_a_whole(expression)
    at = 0
    while at < len(steps):
        value, at = _step(_referred(value), steps, at)
    for sign in reversed(signs):
        value = _dereferenced(_referred(value)) if sign == "*" else _by_gdb(_referred(value), "&", "")
    return value


def _as_a_whole(expression):
    sequences.refused.clear()
    try:
        return language.evaluate_for_user(expression)
    except gdb.error:
        if not sequences.refused:
            raise
        raise gdb.GdbError(sequences.refused[-1]) from None


# -- parsing ---------------------------------------------------------------------------------------


def _parse(text):
    """``(signs before it, name or (type, chain) of std::get, steps)``; None for what is no chain, or a bare name."""
    at = len(text) - len(text.lstrip("*& "))
    signs = text[:at]
    first: Any
    getter = _GET.match(text, at)
    if getter:
        end = _end_of_bracket(text, getter.end())
        if end is None:
            return None
        first, at = (getter.group(1), text[getter.end() + 1 : end - 1]), end
    elif text[at : at + 1] == "(":
        end = _end_of_bracket(text, at)
        if end is None:
            return None
        first, at = text[at:end], end
    else:
        name = _NAME.match(text, at)
        if name is None:
            return None
        first, at = name.group(), name.end()
    steps = _steps(text, at)
    signs = signs.replace(" ", "")
    if steps is None or (isinstance(first, str) and not steps and not signs):
        return None
    return signs, first, steps


def _steps(text, at):
    steps = []
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        member = _MEMBER.match(text, at)
        if member:
            steps.append(Step(MEMBER, member.group(2), member.group(1)))
            at = member.end()
            continue
        end = _end_of_bracket(text, at) if text[at] in _CLOSING else None
        if end is None:
            return None
        steps.append(Step(INDEX if text[at] == "[" else CALL, text[at + 1 : end - 1].strip()))
        at = end
    return steps


def _end_of_bracket(text, at):
    """Where the bracket that opens at ``at`` is closed, behind it; None when it is not."""
    open_, quote = [], ""
    while at < len(text):
        sign = text[at]
        if quote:
            at += sign == "\\"
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in _CLOSING:
            open_.append(_CLOSING[sign])
        elif open_ and sign == open_[-1]:
            open_.pop()
            if not open_:
                return at + 1
        at += 1
    return None


# -- steps -----------------------------------------------------------------------------------------


def _first(first):
    if isinstance(first, tuple):
        what, inner = first
        return containers.part(_referred(evaluate(inner)), what)
    return evaluate(first[1:-1]) if first.startswith("(") else language.evaluate_for_user(first)


def _step(value, steps, at):
    """``(the value after the step at ``at``, the number of the next step)``."""
    step, name = steps[at], sequences.name_of(value)
    if step.kind == INDEX:
        return _indexed(value, name, steps, at)
    if step.kind == CALL:
        if _EIGEN.match(name):
            return containers.coefficient(value, _numbers(step.text)), at + 1
        return _by_gdb(value, "", f"({step.text})"), at + 1
    if step.sign == "->" and _OPTIONAL.match(name):
        value, step = containers.content(value), Step(MEMBER, step.text, ".")
        name = sequences.name_of(value)
    if at + 1 < len(steps) and steps[at + 1].kind == CALL:
        return _method(value, name, step, steps[at + 1].text), at + 2
    return _member(value, step), at + 1


def _indexed(value, name, steps, at):
    text = steps[at].text
    if _MAP.match(name):
        return containers.entry(value, text), at + 1
    sequence = sequences.of(value)
    if sequence is not None:
        return sequence.element(_number(text)), at + 1
    if containers.is_string(value):
        return containers.character(value, _number(text)), at + 1
    if _EIGEN.match(name):
        return containers.coefficient(value, [_number(text)]), at + 1
    if _ACCESSOR.match(name):
        count = containers.dimensions(value)
        given = [step.text for step in steps[at : at + count] if step.kind == INDEX]
        if len(given) < count:
            raise gdb.GdbError(f"this accessor has {count} dimensions: give as many indices")
        return containers.accessed(value, [_number(one) for one in given]), at + count
    return _by_gdb(value, "", f"[{text}]"), at + 1


def _method(value, name, step, arguments):
    if step.sign == "." and _MAP.match(name) and step.text == "at":
        return containers.entry(value, arguments)
    sequence = sequences.of(value) if step.sign == "." and step.text in ("at", "front", "back") else None
    if sequence is not None:
        first_or_last = 0 if step.text == "front" else sequence.size - 1
        return sequence.element(_number(arguments) if arguments else first_or_last)
    if step.sign == "." and step.text in ("size", "length") and containers.is_string(value):
        return containers.length(value)
    if step.sign == "." and _OPTIONAL.match(name) and not arguments:
        if step.text == "value":
            return containers.content(value)
        if step.text == "has_value":
            return value["_M_payload"]["_M_engaged"]
    return _by_gdb(value, "", f"{step.sign}{step.text}({arguments})")


def _member(value, step):
    """A member. Where the declared class has none of that name, the class that the object really has is looked at."""
    try:
        return _by_gdb(value, "", step.sign + step.text)
    except gdb.error:
        declared = _referred(_dereferenced(value)) if step.sign == "->" else value
        found, _ = actual(declared)
        if found.type == declared.type:
            raise
        return _by_gdb(found, "", "." + step.text)


def _dereferenced(value):
    if _OPTIONAL.match(sequences.name_of(value)):
        return containers.content(value)
    if value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR:
        return value.dereference()
    return _by_gdb(value, "*", "")


def _referred(value):
    is_reference = value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
    return value.referenced_value() if is_reference else value


def _by_gdb(value, before, behind):
    """What gdb says of a value with this text before and behind it."""
    if value.address is None:
        gdb.set_convenience_variable(_PART, value)
        return language.evaluate_for_user(f"{before}${_PART}{behind}")
    gdb.set_convenience_variable(_PART, value.address)
    return language.evaluate_for_user(f"{before}(*${_PART}){behind}")


def _numbers(text):
    return [_number(part) for part in text.split(",")]


def _number(text):
    return int(language.evaluate_for_user(text))
