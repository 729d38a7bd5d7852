"""Python objects of the inferior, decoded from its memory by the helpers: values, children, attributes and elements.

Nothing here calls the target or writes to it.
"""

from __future__ import annotations

from typing import Any, Sequence

import gdb
from dualdbg_helpers import context
from dualdbg_helpers.errors import HelperError, Implausible, OutOfTime, Unreadable
from dualdbg_helpers.limits import Limits
from dualdbg_helpers.python.objects import Objects
from dualdbg_helpers.values import Value
from dualdbg_shared.cpython import DICT
from dualdbg_shared.requests.values import (
    FollowPythonPath,
    ObjectPage,
    ObjectPath,
    ObjectRow,
    ReadPythonChildren,
    ReadPythonObjects,
)

from . import helpers
from .object_rows import object_row
from .registry import answers

# How much of each variable is read for a list of variables, and for how long: a row of a table, not all of it.
_ROW_LIMITS = {"max_depth": 2, "max_length": 10, "max_string": 200, "seconds": 2.0}

# Where torch.nn.Module keeps what its __getattr__ finds; torch/nn/modules/module.py.
_MODULE_TABLES = ("_parameters", "_buffers", "_modules")


@answers(ReadPythonObjects)
def python_values(named: Sequence[tuple[str, int]], whole: bool) -> list[ObjectRow]:
    objects = _objects(whole)
    found = []
    for name, address in named:
        try:
            value = objects.leaf(address)
        except OutOfTime as error:
            value = Value.invalid("not read: %s is over" % error, address)
        found.append(object_row(dict(value.structure(), name=name, total=value.total)))
    return found


@answers(ReadPythonChildren)
def python_children(address: int, offset: int, limit: int) -> ObjectPage:
    """The children ``offset`` to ``offset + limit`` of the object at ``address``, and how many there are."""
    try:
        value = _objects(False).describe(address, offset, limit)
    except (HelperError, Implausible, Unreadable, OutOfTime) as error:
        raise gdb.GdbError(str(error)) from None
    rows = [
        object_row(dict(child.structure(), name=name, total=child.total)) for name, child in value.children
    ]
    return ObjectPage(rows, value.total)


@answers(FollowPythonPath)
def python_path(address: int, steps: Sequence[str]) -> ObjectPath:
    objects = _objects(True)
    for step in steps:
        try:
            kind = objects.types.of(address)
            found = _attribute(objects, kind, address, step[1:]) if step[0] == "." else None
            if step[0] == "[":
                found = _element(objects, kind, address, step[1:-1])
        except (HelperError, Implausible, Unreadable, OutOfTime) as error:
            raise gdb.GdbError(str(error)) from None
        if found is None:
            return ObjectPath(None, kind.full_name, step)
        address = found
    return ObjectPath(address)


def _attribute(objects: Any, kind: Any, address: int, name: str) -> int | None:
    places: dict[str, int] = {
        key: place for key, place in objects.attributes(kind, address) if isinstance(place, int)
    }
    if name in places:
        return places[name]
    for table in _MODULE_TABLES:
        if table in places and objects.types.of(places[table]).has(DICT):
            found: int | None = objects.tables.get(places[table], name)
            if found is not None:
                return found
    return None


def _element(objects: Any, kind: Any, address: int, key: str) -> int | None:
    if kind.has(DICT):
        pairs = objects.tables.items(address)
        return next((value for at, value in pairs if objects.text(at) == key), None)
    groups = objects.elements(kind, address)
    if groups is None or not key.lstrip("-").isdigit():
        return None
    _, addresses, count = groups
    index = int(key) + (count if key[0] == "-" else 0)
    return next(iter(addresses(index, 1)), None) if 0 <= index < count else None


def _objects(whole: bool) -> Any:
    helpers.load()
    target = context.current()
    if not whole:
        target.limits = Limits(python_version=target.limits.python_version, **_ROW_LIMITS)
        target.renew()
    return target.decoder(Objects)
