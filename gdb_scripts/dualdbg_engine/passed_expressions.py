"""Conditions and log texts about the arguments of a function without debug info, at its entry.

gdb has no names there. An expression is read here, as far as it compares and computes with arguments, their elements
(``size[0]``) and facts about tensors (``self.sizes``, ``self.dtype``); nothing is called.
"""

from __future__ import annotations

import ast
import operator
import re
from typing import Any, Callable, Dict, Optional, Tuple

import gdb
from dualdbg_helpers import context, passed, placing
from dualdbg_helpers.expressions import COMPARISONS, Evaluator, names_in, parse
from dualdbg_helpers.torch.ivalue import IValues
from dualdbg_helpers.torch.tensor import Tensors

from .entries import machine_of
from .passed import passed_text
from .taught import Known

_OPERATORS: Dict[str, Callable[[Any, Any], Any]] = {
    **COMPARISONS, "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "&": operator.and_, "|": operator.or_,
    "in": lambda one, many: one in many, "not in": lambda one, many: one not in many,
    "is": operator.is_, "is not": operator.is_not,
}  # fmt: skip
_OF_ANY = {*COMPARISONS, "in", "not in", "is", "is not"}
_UNARY: Dict[str, Callable[[Any], Any]] = {
    "!": operator.not_, "-": operator.neg, "+": operator.pos, "~": operator.invert,
}  # fmt: skip
_CONSTANTS = {
    "true": True, "True": True, "false": False, "False": False,
    **dict.fromkeys(("null", "nullptr", "nullopt", "NULL", "None")),
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
    tree = parse(expression.strip(), True)
    names = names_in(tree) if tree is not None else set()
    if not names or not names <= known.names:
        return None
    reader = _Reader(known, frame)
    try:
        value = reader.value(tree)
    except (TypeError, ValueError, ArithmeticError, IndexError, RecursionError) as error:
        raise gdb.GdbError("%s: %s" % (expression, error)) from None
    return value, _text(value)


class _Reader(Evaluator):
    """Its values are Python's, and tensors with their facts. Nothing is asked of gdb."""

    def __init__(self, known: Known, frame: gdb.Frame) -> None:
        super().__init__(False)
        self._known = known
        self._frame = frame

    def truth(self, value: Any) -> bool:
        return bool(value)

    _flag = truth

    def _name(self, word: str) -> Any:
        return _CONSTANTS[word] if word in _CONSTANTS else self._argument(word)

    def _number(self, word: str) -> Any:
        return int(word, 16) if word[:2] in ("0x", "0X") else _number(word.rstrip("uUlL"))

    def _text(self, word: str) -> Any:
        return ast.literal_eval(word)

    def _list(self, *nodes: Any) -> Any:
        return [self.value(one) for one in nodes]

    def _member(self, sign: str, node: Any, name: str) -> Any:
        whole = self.value(node)
        if isinstance(whole, (_Tensor, _Holder)):
            return whole.fact(name)
        raise gdb.GdbError("%s has no %s here" % (_text(whole), name))

    def _index(self, node: Any, index: Any) -> Any:
        whole, number = self.value(node), self.value(index)
        if not isinstance(whole, list) or type(number) is not int:
            raise gdb.GdbError("%s has no elements here" % _text(whole))
        return whole[number]

    def _unary(self, sign: str, node: Any) -> Any:
        if sign not in _UNARY:
            raise gdb.GdbError("what an address leads to is not known here")
        return _UNARY[sign](self.value(node))

    def _binary(self, sign: str, left: Any, right: Any) -> Any:
        if sign in ("&&", "||"):
            return super()._binary(sign, left, right)
        if (
            sign in COMPARISONS and left[:1] == ("binary",) and left[1] in COMPARISONS
        ):  # 1 < a < 3, as in Python
            return self._binary(*left[1:]) and self._binary(sign, left[3], right)
        return self._operation(sign, self.value(left), self.value(right))

    def _operation(self, sign: str, left: Any, right: Any) -> Any:
        if sign not in _OPERATORS:
            raise gdb.GdbError("arguments are not computed with by %s" % sign)
        for value in () if sign in _OF_ANY else (left, right):
            if not isinstance(
                value, (int, float)
            ):  # a list times a number of the program could be of any length
                raise gdb.GdbError("%s is no number" % _text(value))
        return _OPERATORS[sign](left, right)

    def _gdb(self, *parts: Any) -> Any:
        raise gdb.GdbError(
            "an argument can be compared and computed with, its elements and facts too; not this"
        )

    _call = _cast = _get = _gdb

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
