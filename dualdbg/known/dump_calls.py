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
_NAMED = (
    r"(?:const\s+)?(?:(?:class|struct)\s+)?(?:(?:::)?\w+\s*::\s*)*(?P<type>\w+)(?P<of>\s*<[^()]*>)?(?:\s+const)?"
    r"\s*(?P<stars>[*&][*&\s]*)"
)
# What is in memory a pointer to its argument, and the size of an object.
_SMART_POINTERS = {"shared_ptr": 16, "unique_ptr": 8, "intrusive_ptr": 8}
_POINTER = 8
_CAST = re.compile(
    rf"\(\s*{_NAMED}\)\s*|\b(?:reinterpret|static|const)_cast\s*<\s*{_NAMED.replace('P<', 'P<c_')}>\s*(?=\()"
)
_CAST_OR_ARROW = re.compile(rf"{_CAST.pattern.replace('P<', 'P<a_')}|->|::")
# What a cast of C applies to begins so: operators and further casts.
_PREFIX = re.compile(r"\s*(?:[*&~+-]|\(\s*(?:const\s+)?[\w:]+(?:\s+[\w:]+)*\s*[*&]*\s*\)(?=\s*[\w$(*&]))")
_NAME = re.compile(r"\s*[$\w:]+")
_LEFT_OUT = re.compile(r"\s*(?:\.\.\.|…)")
_INDEX = re.compile(r"\s*\[\s*(\d+)\s*\]")
_GET = re.compile(r"\s*(?:->|\.)\s*get\s*\(\s*\)")
_SUM = re.compile(r"\s*([+-])\s*(\d+)")
# A command of gdb before an expression: print, call, print/x.
_WORDS_BEFORE = re.compile(r"^(?:[a-z]+(?:/\w+)?\s+(?=[\w$*]))+")
_CLOSED = re.compile(r"\s*\)")
# An IValue as something else is the same value; what is behind the last parenthesis is only punctuation.
_REST = re.compile(r"[\s)]*(?:(?:->|\.)\s*to\w*(?:<[^>]*>)?\s*\(\s*\)[\s)]*)?")


def instead_of(expression: str, error: str | None = None) -> str:
    """What to type instead of such a call, or of a cast to such a type; empty where the text is none.

    Only types of PyTorch are known. ``error``: what gdb said to it in the frame; None where it was not asked.
    """
    method = _METHOD.fullmatch(expression.strip())
    if method is not None and method["type"] in _TYPES:
        value = method["value"].strip()
        cast = _CAST.search(value)
        if cast is not None and _type_of(cast) is not None:
            return _for_cast(value, cast)
        return _told(_TYPES[method["type"]].command, value.removeprefix("&"))
    call = _CALL.search(expression)
    before = expression[: call.start()] if call is not None else expression
    casts = [one for one in _CAST.finditer(before) if _type_of(one) is not None]
    stacks = [one for one in casts if _type_of(one) is _TYPES["Stack"]]
    if casts:  # an element of a stack that is cast once more is still that of the stack
        cast = (stacks or casts)[-1 if stacks else 0]
        type = _type_of(cast)
        assert type is not None
        return _for_cast(before, cast) or (_told(type.command, "ADDRESS") if call is not None else "")
    if call is None or _CAST.search(before) is not None:
        return ""
    return _for_variable(before.strip(), error)


def is_meant_for_a_native_frame(expression: str) -> bool:
    """Whether it is such a call or cast, and C++ by its form: ``graph.dump()`` may be meant for either language."""
    return bool(instead_of(expression)) and _CAST_OR_ARROW.search(expression) is not None


def _type_of(cast: re.Match[str]) -> _Type | None:
    name, of = (cast["type"], cast["of"]) if cast["type"] else (cast["c_type"], cast["c_of"])
    if name == "vector" and re.search(r"\bIValue\b", of or ""):
        return _TYPES["Stack"]
    if name in _SMART_POINTERS:
        return _TYPES.get(re.sub(r".*::|\W", "", of or ""))
    return _TYPES.get(name) if not of else None


class _Pointer:
    """What a cast gives: ``levels`` of pointers to an object of PyTorch, the first of them at ``text`` + ``offset``."""

    def __init__(self, cast: re.Match[str], type: _Type, text: str) -> None:
        self.type = type
        self.text = text
        self.offset = 0
        self.smart = _SMART_POINTERS.get(cast["type"] or cast["c_type"])
        self.levels = len(re.findall(r"[*&]", cast["stars"] or cast["c_stars"])) + (self.smart is not None)

    def dereference(self) -> None:
        if self.levels > 1:
            self.text, self.offset = f"*(long*){f'({self.address})' if self.offset else self.text}", 0
        self.levels -= 1

    def move(self, count: int) -> bool:
        """Go on by ``count`` objects; whether the size of what is pointed to is known."""
        smart = self.smart if self.levels == 2 else None
        size = (smart or _POINTER) if self.levels > 1 else self.type.size if self.levels == 1 else None
        self.offset += count * (size or 0)
        return size is not None or count == 0

    @property
    def address(self) -> str:
        if not self.offset:
            return self.text
        return f"(long){self.text} {'+' if self.offset > 0 else '-'} {abs(self.offset)}"


def _for_cast(text: str, cast: re.Match[str]) -> str:
    type = _type_of(cast)
    assert type is not None
    operand, right = _operand(text, cast.end())
    if not operand:
        return ""
    pointer = _Pointer(cast, type, operand)
    left, closed = text[: cast.start()].rstrip(), cast["c_type"] is not None
    while True:  # from the inside out, as C++ binds: elements, dereferences, sums, parentheses
        if type.command == "ivalue-stack" and pointer.levels <= 1:  # it shows all elements
            return _told(type.command, pointer.address)
        if closed and (index := _INDEX.match(text, right)) is not None:
            right = index.end()
            if not pointer.move(int(index[1])):
                return ""
            pointer.dereference()
        elif closed and pointer.smart is not None and (get := _GET.match(text, right)) is not None:
            right = get.end()
            while pointer.levels > 1:
                pointer.dereference()
        elif left.endswith("*"):
            left = left[:-1].rstrip()
            pointer.dereference()
        elif left.endswith("&"):
            left = left[:-1].rstrip()
            pointer.levels += 1
        elif (sum := _SUM.match(text, right)) is not None:
            right = sum.end()
            if not pointer.move(int(sum[1] + sum[2])):
                return ""
        elif left.endswith("(") and (end := _CLOSED.match(text, right)) is not None:
            left, right, closed = left[:-1].rstrip(), end.end(), True
        else:
            break
    known = pointer.levels in (0, 1) and _REST.fullmatch(text, right) is not None
    return _told(type.command, pointer.address) if known else ""


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
    left_out = _LEFT_OUT.match(text, at)
    if left_out is not None:  # as in a text that tells how
        return f"{text[start:at].strip()}EXPR", left_out.end()
    name = _NAME.match(text, at)
    return (text[start : name.end()].strip(), name.end()) if name is not None else ("", at)


def _told(command: str, value: str) -> str:
    return f"type {command} {value}: it reads memory and calls nothing"


def _for_variable(text: str, error: str | None) -> str:
    """A call on what the source has names for, which no wheel has."""
    text = _WORDS_BEFORE.sub("", text)
    if text == "this":
        return "at the entry of a method this is in $rdi ($x0 on AArch64): ivalue $rdi, tensor $rdi or jit-graph $rdi"
    if re.search(r"\bstack\b", text):
        return "type ivalue-stack: it shows the stack of the selected frame, and calls nothing"
    if "(" in text:
        return ""
    if error is None or "No symbol " in error:
        return (
            "code without debug info has no names of variables: at the entry of a function args shows its arguments, "
            "which are in $rdi, $rsi, $rdx ($x0, $x1, $x2 on AArch64): ivalue $rsi, tensor $rsi or jit-graph $rsi"
        )
    return f"an IValue: ivalue {text}; a tensor: tensor {text}; a graph: jit-graph {text}"
