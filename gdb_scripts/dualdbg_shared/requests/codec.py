"""Requests and answers as JSON. Each type is written as it is, and read by its annotations.

Named tuples and requests are lists of their fields, bytes are hexadecimal text, an enum is its value. What is not as
the annotations have it raises TypeError or ValueError.
"""

from __future__ import annotations

import collections.abc
import enum
import json
from typing import Any, Callable, Dict, List, Type, TypeVar, get_args, get_origin, get_type_hints

from .base import Request

Answer = TypeVar("Answer")
Reader = Callable[[Any], Any]

_readers: Dict[Any, Reader] = {}  # by type, made when it is first read


def encoded(value: object) -> str:
    """Return a value as one line of ASCII."""
    return json.dumps(value, default=_plain)


def line_of(request: Request[Any]) -> str:
    """Return the line that gdb's command takes: the request's name, with the module that answers, and its fields."""
    return encoded(["%s.%s" % (request.module, type(request).__name__), *request])


def fields_of(kind: Type[Request[Any]], raw: List[Any]) -> List[Any]:
    """Return the fields of a request of this class from what :func:`line_of` has written."""
    return list(reader_of(kind)(raw))


def answer_of(request: Request[Answer], raw: Any) -> Answer:
    """Return the answer to a request from the JSON that gdb has sent."""
    answer: Answer = reader_of(request.answer_type)(raw)
    return answer


def _plain(value: object) -> object:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, enum.Enum):
        return value.value
    raise TypeError("%r is not written as JSON" % (value,))


def reader_of(kind: Any) -> Reader:
    """Return what reads values of a type: of a request, an answer, or a part of one."""
    if kind not in _readers:
        _readers[kind] = lambda raw: _readers[kind](raw)  # for a type that contains itself
        _readers[kind] = _made(kind)
    return _readers[kind]


def _made(kind: Any) -> Reader:
    if kind is Any:
        return lambda raw: raw
    if kind is bytes:
        return bytes.fromhex
    if kind is None:
        return _scalar(type(None))
    if isinstance(kind, type):
        if issubclass(kind, enum.Enum):
            return kind
        return _record(kind) if hasattr(kind, "_fields") else _scalar(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if type(None) in arguments:  # Optional
        (inner,) = (reader_of(one) for one in arguments if one is not type(None))
        return lambda raw: None if raw is None else inner(raw)
    if origin in (dict, collections.abc.Mapping):
        return _mapping(*arguments)
    if origin is tuple and arguments[-1] is not ...:
        return _row([reader_of(one) for one in arguments], tuple)
    return _rows(reader_of(arguments[0]), tuple if origin is tuple else list)


def _scalar(kind: Any) -> Reader:
    kinds = (int, float) if kind is float else kind

    def read(raw: Any) -> Any:
        if not isinstance(raw, kinds):
            raise TypeError("%r is not of type %s" % (raw, kind.__name__))
        return raw

    return read


def _record(kind: Any) -> Reader:
    hints = get_type_hints(kind)
    return _row([reader_of(hints[name]) for name in kind._fields], lambda values: kind(*values))


def _row(readers: List[Reader], made: Reader) -> Reader:
    def read(raw: Any) -> Any:
        if not isinstance(raw, list) or len(raw) != len(readers):
            raise TypeError("%r is not a list of %d" % (raw, len(readers)))
        return made([reader(value) for reader, value in zip(readers, raw)])

    return read


def _rows(reader: Reader, made: Reader) -> Reader:
    def read(raw: Any) -> Any:
        if not isinstance(raw, list):
            raise TypeError("%r is not a list" % (raw,))
        return made([reader(value) for value in raw])

    return read


def _mapping(key: Any, value: Any) -> Reader:
    reader, is_number = reader_of(value), key is int  # JSON's keys are texts

    def read(raw: Any) -> Any:
        return {int(name) if is_number else name: reader(one) for name, one in raw.items()}

    return read
