"""The helpers for the session: their words, their printers and Python objects, read by engine.py at first need.

Runs inside gdb's own Python (3.8 and later). Nothing here calls the target or writes to it.
"""

import sys
from pathlib import Path

import gdb

import __main__ as engine

_FOLDER = str(Path(__file__).resolve().parent)
if _FOLDER not in sys.path:
    sys.path.append(_FOLDER)

from dualdbg_helpers import context, register, settings, standard_library  # noqa: E402
from dualdbg_helpers.commands.registry import COMMANDS as WORDS  # noqa: E402
from dualdbg_helpers.commands.registry import Failure, answer  # noqa: E402
from dualdbg_helpers.errors import HelperError, Implausible, OutOfTime, Unreadable  # noqa: E402
from dualdbg_helpers.limits import Limits  # noqa: E402
from dualdbg_helpers.python.layout import DICT  # noqa: E402
from dualdbg_helpers.python.objects import Objects  # noqa: E402
from dualdbg_helpers.values import Value  # noqa: E402

settings.VERB = "gdb set"  # how the prompt of dualdbg reaches gdb's settings
standard_library.register()
register.register()  # the last one is asked first: a Stack is a std::vector, too

# How much of each variable is read for a list of them, and for how long: a row of a table, not a whole object.
_ROW_LIMITS = {"max_depth": 2, "max_length": 10, "max_string": 200, "seconds": 2.0}

# What the answer of a word is, as a C++ type, where it does not say so itself.
_TYPES = {
    "dispatch-keys": "c10::DispatchKeySet",
    "ivalue": "c10::IValue",
    "jit-code": "torch::jit::Code",
    "jit-frame": "torch::jit::InterpreterStateImpl",
    "jit-graph": "torch::jit::Graph",
    "op": "c10::OperatorHandle",
    "tensor": "at::Tensor",
}
# Where torch.nn.Module keeps what its __getattr__ finds; torch/nn/modules/module.py.
_MODULE_TABLES = ("_parameters", "_buffers", "_modules")
# Members of an answer's structure that have a place of their own in the row of a value.
_MOVED = {
    "ivalue": ("text", "children", "total", "address", "layout"),
    "ivalue-stack": ("values", "size", "address", "layout", "type"),
    "pyobject": ("text", "children", "total", "address", "type"),
    "py2cpp": ("type", "address"),
    "cpp2py": ("type", "address"),
}


def load():
    """The settings, commands and printers of the helpers are known to gdb from now on."""
    return


def word(number, level, name, argument):
    """What a command of the helpers says in a frame: ``text`` for people and ``value``, or ``error`` and ``hint``."""
    if number is not None:
        engine._frame(number, level).select()
    try:
        found = answer(WORDS[name], argument)
    except Failure as error:
        return {"error": error.message, "hint": error.hint}
    data = found.data
    moved = _MOVED.get(name, ("address", "layout"))
    children = next((data[key] for key in ("children", "values") if key in moved and key in data), None)
    total = next((data[key] for key in ("total", "size") if key in moved and key in data), None)
    return {
        "text": found.text,
        "value": {
            "name": argument or name,
            "type": data.get("type", "") if "type" in moved else _TYPES.get(name, ""),
            "value": found.text,
            "address": _number(data.get("address") or data.get("impl")),
            "data": {key: value for key, value in data.items() if key not in moved},
            "children": None if children is None else [_row(child) for child in children],
            "total": total,
            "layout": data.get("layout"),
        },
    }


def _row(structure):
    """A decoded value as the session's rows are: its parts in ``children``, as far as they were read."""
    kind, type_ = structure["kind"], structure.get("type")
    children = structure.get("children")
    return {
        "name": structure.get("name", ""),
        "kind": kind,
        "type": kind if type_ is None else type_ if kind.islower() else "%s %s" % (kind, type_),
        "value": structure["text"],
        "address": _number(structure.get("address")),
        "data": structure.get("data"),
        "children": None if children is None else [_row(child) for child in children],
        "total": structure.get("total"),
        "layout": None,
    }


def _number(text):
    return int(text, 16) if text else None


def python_values(rows, whole):
    """Objects at addresses, given as ``[name, address]``: as rows, each with the number of its children.

    ``whole``: as far as the user's limits allow, else as much as a table of variables shows.
    """
    objects = _objects(whole)
    found = []
    for name, address in rows:
        try:
            value = objects.leaf(address)
        except OutOfTime as error:
            value = Value.invalid("not read: %s is over" % error, address)
        found.append(_row(dict(value.structure(), name=name, total=value.total)))
    return found


def python_children(address, offset, limit):
    """The children ``offset`` to ``offset + limit`` of the object at ``address``, and how many there are."""
    try:
        value = _objects(False).describe(address, offset, limit)
    except (HelperError, Implausible, Unreadable, OutOfTime) as error:
        raise gdb.GdbError(str(error)) from None
    rows = [_row(dict(child.structure(), name=name, total=child.total)) for name, child in value.children]
    return {"rows": rows, "total": value.total}


def python_path(address, steps):
    """The address of an attribute (``.name``) or element (``[key]``, the key as repr writes it), step by step.

    ``address`` is None, with the ``type`` that has it not in memory and what is ``missing``, where a step fails.
    """
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
            return {"address": None, "type": kind.full_name, "missing": step}
        address = found
    return {"address": address}


def _attribute(objects, kind, address, name):
    places = {key: place for key, place in objects.attributes(kind, address) if isinstance(place, int)}
    if name in places:
        return places[name]
    for table in _MODULE_TABLES:
        if table in places and objects.types.of(places[table]).has(DICT):
            found = objects.tables.get(places[table], name)
            if found is not None:
                return found
    return None


def _element(objects, kind, address, key):
    if kind.has(DICT):
        pairs = objects.tables.items(address)
        return next((value for at, value in pairs if objects.text(at) == key), None)
    groups = objects.elements(kind, address)
    if groups is None or not key.lstrip("-").isdigit():
        return None
    _, addresses, count = groups
    index = int(key) + (count if key[0] == "-" else 0)
    return next(iter(addresses(index, 1)), None) if 0 <= index < count else None


def python_rows(address, offset, limit):
    """:func:`python_children` as the rows of native values, with handles of their own; none of what is no object."""
    try:
        found = python_children(address, offset, limit)["rows"]
    except gdb.GdbError:  # an uninitialised pointer: its own text says so
        return []
    rows = []
    for row in found:
        handle = None
        if row["total"] and row["address"] is not None:
            engine._VALUES.append(row["address"])
            handle = len(engine._VALUES) - 1
        rows.append(
            {
                "name": row["name"],
                "type": row["type"],
                "value": row["value"],
                "handle": handle,
                "address": row["address"],
            }
        )
    return rows


def _objects(whole):
    target = context.current()
    if not whole:
        target.limits = Limits(python_version=target.limits.python_version, **_ROW_LIMITS)
        target.renew()
    return target.decoder(Objects)


COMMANDS = {
    "load-helpers": load,
    "python-children": python_children,
    "python-path": python_path,
    "python-rows": python_rows,
    "python-values": python_values,
    "type-name": standard_library.type_name,
    "word": word,
}
