"""Conditions and log texts about the arguments of a function without debug info, at its entry.

gdb has no names there. An expression is read here, as far as it compares and computes with arguments, their elements
(``size[0]``) and facts about tensors (``self.sizes``, ``self.dtype``); nothing is called.
"""

from __future__ import annotations

import ast
import operator
import re
from typing import Any, Callable, Dict, Optional, Tuple, Type

import gdb
from dualdbg_helpers import context, passed, placing
from dualdbg_helpers.torch.ivalue import IValues
from dualdbg_helpers.torch.tensor import Tensors

from .entries import machine_of
from .passed import passed_text
from .taught import Known

_QUOTED = re.compile(r"(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')")
_WORDS = (
    (re.compile(r"&&"), " and "),
    (re.compile(r"\|\|"), " or "),
    (re.compile(r"!(?!=)"), " not "),
    (re.compile(r"->"), "."),
    (re.compile(r"\btrue\b"), "True"),
    (re.compile(r"\bfalse\b"), "False"),
    (re.compile(r"\b(?:null|nullptr|nullopt|NULL)\b"), "None"),
)
_OPERATORS: Dict[Type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_, ast.In: lambda one, many: one in many, ast.NotIn: lambda one, many: one not in many,
    ast.Is: operator.is_, ast.IsNot: operator.is_not,
}  # fmt: skip
_UNARY: Dict[Type[ast.AST], Callable[[Any], Any]] = {
    ast.Not: operator.not_, ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert,
}  # fmt: skip
# Facts about a tensor: PyTorch's names for them, and those of what is read.
_FACTS = {
    "sizes": "sizes", "shape": "sizes", "strides": "strides", "ndim": "dim", "numel": "numel", "device": "device",
    "defined": "defined", "storage_offset": "offset",
}  # fmt: skip


class _Tensor:
    """A tensor that was passed, with facts about it."""

    def __init__(self, address: int, text: str) -> None:
        self.found = context.shared().decoder(Tensors).read(address)
        self.text = text

    def __bool__(self) -> bool:
        raise gdb.GdbError("a tensor is neither true nor false here")

    def fact(self, name: str) -> Any:
        if name == "dtype":
            return self.found.dtype.name if self.found.dtype else None
        if name == "requires_grad":
            return bool(self.found.autograd and self.found.autograd.requires_grad)
        if name == "layout":
            return str(self.found.layout).replace("torch.", "")
        if name not in _FACTS:
            raise gdb.GdbError(
                "a tensor has no %s here; it has %s"
                % (name, ", ".join(sorted((*_FACTS, "dtype", "layout", "requires_grad"))))
            )
        found = getattr(self.found, _FACTS[name])
        return list(found) if isinstance(found, tuple) else found


class _Holder:
    """A generator or a storage that was passed, with facts about it."""

    def __init__(self, text: str, facts: "Dict[str, Any]") -> None:
        self.text = text
        self._facts = facts

    def fact(self, name: str) -> Any:
        if name not in self._facts:
            raise gdb.GdbError("%s has no %s here; it has %s" % (self.text, name, ", ".join(self._facts)))
        return self._facts[name]


class _Pointer(int):
    """An address that was passed. The null pointer is what 0, ``nullptr`` and ``null`` are."""

    def __eq__(self, other: object) -> bool:
        return int(self) == (0 if other is None else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(int(self))


def evaluate(expression: str, known: Known, frame: gdb.Frame) -> "Optional[Tuple[Any, str]]":
    """The value of an expression about arguments, and its text; None where it is none.

    Raises GdbError where it has no value.
    """
    try:
        tree = ast.parse(_as_python(expression), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if not names or not names <= known.names:
        return None
    reader = _Reader(known, frame)
    try:
        value = reader.value(tree)
    except (TypeError, ValueError, ArithmeticError, IndexError, RecursionError) as error:
        raise gdb.GdbError("%s: %s" % (expression, error)) from None
    return value, _text(value)


def _as_python(expression: str) -> str:
    parts = _QUOTED.split(expression)
    for at in range(0, len(parts), 2):
        for pattern, word in _WORDS:
            parts[at] = pattern.sub(word, parts[at])
    return "".join(parts).strip()


class _Reader:
    def __init__(self, known: Known, frame: gdb.Frame) -> None:
        self._known = known
        self._frame = frame

    def value(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str, type(None))):
            return node.value
        if isinstance(node, ast.Name):
            return self._argument(node.id)
        if isinstance(node, ast.Attribute):
            whole = self.value(node.value)
            if isinstance(whole, (_Tensor, _Holder)):
                return whole.fact(node.attr)
            raise gdb.GdbError("%s has no %s here" % (_text(whole), node.attr))
        if isinstance(node, ast.Subscript):
            inner: Any = node.slice
            if type(inner).__name__ == "Index":  # Python 3.8
                inner = inner.value
            whole, index = self.value(node.value), self.value(inner)
            if not isinstance(whole, list) or type(index) is not int:
                raise gdb.GdbError("%s has no elements here" % _text(whole))
            return whole[index]
        if isinstance(node, ast.BoolOp):
            every = isinstance(node.op, ast.And)
            return all(map(self.value, node.values)) if every else any(map(self.value, node.values))
        if isinstance(node, ast.UnaryOp):
            return _UNARY[type(node.op)](self.value(node.operand))
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](self._number(node.left), self._number(node.right))
        if isinstance(node, ast.Compare):
            left = self.value(node.left)
            for how, right in zip(node.ops, map(self.value, node.comparators)):
                if not _OPERATORS[type(how)](left, right):
                    return False
                left = right
            return True
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self.value(one) for one in node.elts]
        raise gdb.GdbError(
            "an argument can be compared and computed with, its elements and facts too; not this"
        )

    def _number(self, node: ast.AST) -> Any:
        value = self.value(node)
        if not isinstance(value, (int, float)):  # a list times a number of the program could be of any length
            raise gdb.GdbError("%s is no number" % _text(value))
        return value

    def _argument(self, name: str) -> Any:
        known = self._known
        kind, text, data = passed_text(
            self._frame, known.entry, placing.passing(known.what, machine_of(self._frame)), name
        )
        return _structured(kind, text, data)


def _structured(kind: str, text: str, data: bytes) -> Any:
    """The value that a text of :mod:`dualdbg_helpers.passed` means."""
    if kind.endswith(("*", "*)")) and re.match(r"0x[0-9a-f]+$|null$", text):
        return _Pointer(0 if text == "null" else int(text, 16))
    if text == "nullopt" or text == "null":
        return None
    plain = re.sub(r"^std::optional<(.*)>$", r"\1", re.sub(r"(?: const)?&$", "", kind)).strip()
    if plain in ("at::Tensor", "at::TensorBase"):
        target = context.shared()
        return _Tensor(target.memory.pointer(int.from_bytes(data[:8], "little")), text)
    if plain in _HOLDERS:
        return _Holder(text, _HOLDERS[plain](int.from_bytes(data[:8], "little")))
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"'):
        if not text.endswith('"'):
            raise gdb.GdbError("the text is too long to be compared")
        return text[1:-1]
    if text.startswith("["):
        if "..." in text:
            raise gdb.GdbError("the list is too long: its first %d elements are read" % passed.MOST_ELEMENTS)
        parts = [part.strip() for part in text[1:-1].split(",")] if text != "[]" else []
        return [_number(part) for part in parts]
    return _number(text)


def _generator(address: int) -> "Dict[str, Any]":
    return dict(context.shared().decoder(IValues).payload("Generator", address).data)


def _storage(address: int) -> "Dict[str, Any]":
    target = context.shared()
    found = target.decoder(Tensors).read_storage(target.memory.pointer(address))
    return {"nbytes": found.nbytes, "device": found.device}


_HOLDERS: "Dict[str, Callable[[int], Dict[str, Any]]]" = {
    "at::Generator": _generator,
    "c10::Storage": _storage,
}


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(text, text)


def _text(value: Any) -> str:
    if isinstance(value, (_Tensor, _Holder)):
        return value.text
    if isinstance(value, _Pointer):
        return "0x%x" % value if value else "null"
    if isinstance(value, list):
        return "[%s]" % ", ".join(map(_text, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return "nullopt" if value is None else str(value)
