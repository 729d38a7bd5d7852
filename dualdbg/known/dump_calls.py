"""PyTorch's ``dump()`` and ``print()`` of a value, as people type them in gdb, and our command instead.

The wheel has no debug info: gdb knows no type to cast to, and the call would print on the program's own output.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class _Type:
    """Our command for a type of PyTorch, and the size of an object, where elements are counted in it."""

    command: str
    size: int | None = None


_TYPES = {
    "IValue": _Type("ivalue", 16),
    "Stack": _Type("ivalue-stack"),
    "Tensor": _Type("tensor", 8),
    "TensorBase": _Type("tensor", 8),
    "Graph": _Type("jit-graph"),
    "Node": _Type("jit-graph"),
    "Value": _Type("jit-graph"),
    "Block": _Type("jit-graph"),
    "Code": _Type("jit-code"),
    "DispatchKeySet": _Type("dispatch-keys"),
}
_CALL = re.compile(r"(?:->|\.)\s*(?:dump|print)\s*\(\s*\)\s*;?\s*$")
_METHOD = re.compile(
    r"(?:(?:::)?\w+\s*::\s*)*(?P<type>\w+)\s*::\s*(?:dump|print)\s*\((?P<value>.+)\)\s*;?\s*$"
)
_NAMED = r"(?:const\s+)?(?:(?:::)?\w+\s*::\s*)*(?P<type>\w+)(?P<of>\s*<[^()]*>)?(?:\s+const)?\s*[*&]+\s*"
_CAST = re.compile(
    rf"\(\s*{_NAMED}\)\s*|\b(?:reinterpret|static|const)_cast\s*<\s*{_NAMED.replace('P<', 'P<c_')}>\s*(?=\()"
)
_CAST_OR_ARROW = re.compile(rf"{_CAST.pattern.replace('P<', 'P<a_')}|->|::")
# What a cast of C applies to begins so: operators and further casts.
_PREFIX = re.compile(r"\s*(?:[*&~+-]|\(\s*(?:const\s+)?[\w:]+(?:\s+[\w:]+)*\s*[*&]*\s*\)(?=\s*[\w$(*&]))")
_NAME = re.compile(r"\s*[$\w:]+")
_ELEMENT = re.compile(r"(?P<closed>\)*)\s*(?:\[\s*(?P<index>\d+)\s*\]|(?P<sign>[+-])\s*(?P<count>\d+))")
# An IValue as something else is the same value; what is behind the last parenthesis is only punctuation.
_REST = re.compile(r"[\s)]*(?:(?:->|\.)\s*to\w*(?:<[^>]*>)?\s*\(\s*\)[\s)]*)?")


def instead_of(expression: str) -> str:
    """What to type instead of such a call, or of a cast to such a type; empty where the text is none.

    Only types of PyTorch are known.
    """
    method = _METHOD.fullmatch(expression.strip())
    if method is not None and method["type"] in _TYPES:
        value = method["value"].strip().removeprefix("&")
        cast = _CAST.match(value)
        operand = _operand(value, cast.end())[0] if cast is not None and cast["type"] else value
        return _told(_TYPES[method["type"]].command, operand)
    call = _CALL.search(expression)
    before = expression[: call.start()] if call is not None else expression
    cast = next((one for one in _CAST.finditer(before) if _type_of(one) is not None), None)
    if cast is not None:
        return _for_cast(before, cast)
    if call is None or _CAST.search(before) is not None:
        return ""
    return _for_variable(before.strip())


def is_meant_for_a_native_frame(expression: str) -> bool:
    """Whether it is such a call or cast, and C++ by its form: ``graph.dump()`` may be meant for either language."""
    return bool(instead_of(expression)) and _CAST_OR_ARROW.search(expression) is not None


def _type_of(cast: re.Match[str]) -> _Type | None:
    name, of = (cast["type"], cast["of"]) if cast["type"] else (cast["c_type"], cast["c_of"])
    if name == "vector" and re.search(r"\bIValue\b", of or ""):
        return _TYPES["Stack"]
    return _TYPES.get(name) if not of else None


def _for_cast(text: str, cast: re.Match[str]) -> str:
    type = _type_of(cast)
    assert type is not None
    operand, end = _operand(text, cast.end())
    if not operand:
        return ""
    if type.command == "ivalue-stack":  # whichever element is meant, it shows them all
        return _told(type.command, operand)
    count = 0
    while (element := _ELEMENT.match(text, end)) is not None:
        count += int(element["index"] or 0) + int(f"{element['sign'] or ''}{element['count'] or 0}")
        end = element.end()
    if _REST.fullmatch(text, end) is None or (count and type.size is None):
        return ""
    if count:
        assert type.size is not None
        operand = f"(long){operand} {'+' if count > 0 else '-'} {abs(count) * type.size}"
    return _told(type.command, operand)


def _operand(text: str, at: int) -> tuple[str, int]:
    """What a cast applies to, and where it ends; empty where that cannot be read."""
    start = at
    while (prefix := _PREFIX.match(text, at)) is not None:
        at = prefix.end()
    while at < len(text) and text[at].isspace():
        at += 1
    if at < len(text) and text[at] == "(":
        depth = 0
        for end in range(at, len(text)):
            depth += (text[end] == "(") - (text[end] == ")")
            if depth == 0:
                inner = text[at + 1 : end].strip()
                bare = at == start and re.fullmatch(r"[$\w]+|\*\s*\([\w\s]+\*\)\s*[$\w]+", inner)
                return (inner if bare else text[start : end + 1].strip()), end + 1
        return "", at
    name = _NAME.match(text, at)
    return (text[start : name.end()].strip(), name.end()) if name is not None else ("", at)


def _told(command: str, value: str) -> str:
    return f"type {command} {value}: it reads memory and calls nothing"


def _for_variable(text: str) -> str:
    """A call on what the source has names for, which no wheel has."""
    if text == "this":
        return "at the entry of a method this is in $rdi ($x0 on AArch64): ivalue $rdi, tensor $rdi or jit-graph $rdi"
    if re.search(r"\bstack\b", text):
        return "type ivalue-stack: it shows the stack of the selected frame, and calls nothing"
    if "(" in text:
        return ""
    return f"an IValue: ivalue {text}; a tensor: tensor {text}; a graph: jit-graph {text}"
