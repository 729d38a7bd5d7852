"""Runs in the target: what is inside of a value, in rows, and paths to it, without running the program's code.

What only code of the program can tell is a row that runs it when it is opened. CPython 3.8 and later.
"""

from __future__ import annotations

import ast
import builtins
import collections
import types
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple, Union

    # Name, value, and what to put behind the parent's expression, or what makes the row's expression of it.
    Entry = Tuple[str, Any, Union[str, Callable[[str], str], None]]

FIRST = 100  # elements of a container that are shown at once
BUCKET = 1000  # elements of each row that stands for more of them
CONTAINERS: Any = (list, tuple, dict, set, frozenset, collections.deque)


class Rest:
    """The elements of a container from ``start`` to ``stop`` as one row; ``in_parts`` as rows of BUCKET elements."""

    def __init__(self, container: Any, start: int, stop: int, in_parts: bool) -> None:
        self.container, self.start, self.stop, self.in_parts = container, start, stop, in_parts

    @property
    def text(self) -> str:
        """How the row is called."""
        return "..." if self.in_parts else "[%d:%d]" % (self.start, self.stop)


class Deferred:
    """What only code of the program can tell, ``what`` in a few words: it is run when the row is opened."""

    def __init__(self, what: str, run: Callable[[], Any]) -> None:
        self.what, self.run = what, run


class NeedsCode(Exception):
    """What a path names can be told by code alone, or is not there."""


# -- children ---------------------------------------------------------------------------------------


def is_leaf(reader: Any, value: Any) -> bool:
    """Whether there is nothing to look into."""
    return type(value) is range or reader.is_leaf(value) or reader.is_function(value)


def children(reader: Any, value: Any, run: Any, methods: bool = False) -> List[Entry]:
    """Attributes, elements and the length. ``run`` has ``deferred_repr`` and ``attribute_of`` for what runs code.

    With ``methods`` those of classes in C are there too, as debugpy has them.
    """
    if type(value) is Deferred:
        return [(value.what, value.run(), None)]
    if type(value) is Rest:
        return _of_rest(reader, value)
    kind = reader.kind(value)
    found = _attributes(reader, kind, value, run, methods)
    base = _container(kind)
    if base is not None:
        total = base.__len__(value)
        found += elements(reader, value, 0, min(total, FIRST), total)
        if total > FIRST:
            found.append(("more", Rest(value, FIRST, total, total - FIRST > BUCKET), None))
        found.append(("len()", total, "len({})".format))
    if reader.own_repr(value):
        found.append(("repr()", run.deferred_repr(value), None))
    return found


def page(reader: Any, value: Any, run: Any, start: int, count: int) -> List[Entry]:
    """``count`` of the children from number ``start`` on, of a container's elements any. Its length is no child."""
    kind = reader.kind(value)
    base = _container(kind)
    if base is None:
        return children(reader, value, run)[start : start + count]
    total, stop = base.__len__(value), start + count
    before = _attributes(reader, kind, value, run, False)
    after = [("repr()", run.deferred_repr(value), None)] if reader.own_repr(value) else []
    found: List[Entry] = before[start:stop]
    first, last = max(start - len(before), 0), min(stop - len(before), total)
    if first < last:
        found += elements(reader, value, first, last, total)
    behind = len(before) + total
    return found + after[max(start - behind, 0) : max(stop - behind, 0)]


def length(reader: Any, value: Any) -> Optional[int]:
    """How many elements a container has; None for what is none."""
    base = _container(reader.kind(value))
    return None if base is None else base.__len__(value)


def _container(kind: Any) -> Any:
    return next((one for one in CONTAINERS if kind.has(one)), None)


def fields(reader: Any, value: Any) -> List[Entry]:
    """The attributes of the object itself, in the order in which a native stop finds them in its memory."""
    return [(name, one, ".%s" % name) for name, one in reader.fields(value)]


def _of_rest(reader: Any, rest: Rest) -> List[Entry]:
    if not rest.in_parts:
        total = _container(reader.kind(rest.container)).__len__(rest.container)
        return elements(reader, rest.container, rest.start, rest.stop, total)
    starts = range(rest.start, rest.stop, BUCKET)
    parts = [Rest(rest.container, start, min(start + BUCKET, rest.stop), False) for start in starts]
    return [(part.text, part, None) for part in parts]


def elements(reader: Any, value: Any, start: int, stop: int, total: int) -> List[Entry]:
    """The elements of a container in its own order; those of a dictionary are named by their keys."""
    kind = reader.kind(value)
    if kind.has(dict):
        pairs = list(islice(dict.items(value), start, stop))
        return _distinct([(reader.text(key, 1), one, _subscript(reader, key)) for key, one in pairs])
    base = _container(kind)
    found = list(islice(base.__iter__(value), start, stop))
    if base is set or base is frozenset:
        return [(str(id(one)), one, None) for one in found]
    width = len(str(total - 1))
    places = enumerate(found, start)
    if reader.hexadecimal:
        return [("0x%0*x" % (width, index), one, "[%d]" % index) for index, one in places]
    return [("%0*d" % (width, index), one, "[%d]" % index) for index, one in places]


def _subscript(reader: Any, key: Any) -> Optional[str]:
    """A key in brackets, if its text gives the key again."""
    is_plain = all(map(reader.is_leaf, key)) if type(key) is tuple else reader.is_leaf(key)
    return "[%r]" % (key,) if is_plain else None


def _distinct(entries: List[Entry]) -> List[Entry]:
    """The same with names that differ: editors show one row for each name."""
    known: Dict[str, int] = {}
    found = []
    for name, value, expression in entries:
        known[name] = known.get(name, 0) + 1
        found.append((name if known[name] == 1 else "%s (%d)" % (name, known[name]), value, expression))
    return found


def _attributes(reader: Any, kind: Any, value: Any, run: Any, methods: bool) -> List[Entry]:
    if kind.has(type):
        own: List[Entry] = [(name, one, ".%s" % name) for name, one in reader.class_namespace(value)]
        return sorted((one for one in own if not reader.is_descriptor(one[1])), key=order)
    found: List[Entry] = [(name, one, ".%s" % name) for name, one in reader.fields(value)]
    facts: List[Entry] = reader.libraries.facts(kind, value)
    found += facts
    if kind.has(types.ModuleType):
        return sorted(found, key=order)
    names = {name for name, _, _ in found}
    for name, entry in reader.class_fields(value):
        if name not in names:
            row = _of_class(reader, value, name, entry, run)
            if row is not None:
                found.append((name, row, ".%s" % name))
    if methods and not facts:  # a tensor has a thousand
        bound = reader.methods_in_c(value)
        found += [(name, one, ".%s" % name) for name, one in bound if name not in names]
    return sorted(found, key=order)


def _of_class(reader: Any, value: Any, name: str, entry: Any, run: Any) -> Any:
    """What a class has for its objects: a function or a constant as it is, a property deferred; None is left out."""
    if reader.is_function(entry):
        return entry
    kind = reader.kind(entry)
    if type(entry) is property or (kind.is_heap and kind.entry("__get__") is not None):
        return Deferred("%s of %s" % (kind.name, name), lambda: run.attribute_of(value, name))
    return None if kind.entry("__get__") is not None else entry


def order(entry: Entry) -> Tuple[int, str]:
    """Plain names first, those that begin with underscores after them."""
    name = entry[0]
    return (3 if name.endswith("__") else 2) if name.startswith("__") else int(name.startswith("_")), name


def group(reader: Any, name: str, value: Any) -> str:
    """Which of debugpy's folders a row belongs into; empty for none."""
    if name.startswith("__") and name.endswith("__"):
        return "special variables"
    if name.startswith("_") or name.endswith("__"):
        return "protected variables"
    if reader.is_function(value):
        return "function variables"
    return "class variables" if reader.kind(value).has(type) else ""


# -- paths ------------------------------------------------------------------------------------------


def variables(frame: Any, scope: str = "locals") -> Dict[str, Any]:
    """The variables of a frame by name. A class's body may have a mapping that the program made, which is not asked."""
    found = frame.f_globals if scope == "globals" else frame.f_locals
    kind = type(found)
    if kind is not dict and kind.__module__ != "builtins":
        if not any(one is dict for one in type.__dict__["__mro__"].__get__(kind)):
            return {}
        return {name: one for name, one in list(dict.items(found)) if type(name) is str}
    return {name: one for name, one in list(found.items()) if type(name) is str}


def follow(reader: Any, frame: Any, expression: str) -> Any:
    """The value of a name, with attributes and elements of it. Raises NeedsCode, or NameError as Python does."""
    try:
        node: Any = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        raise NeedsCode(expression) from None
    return _value(reader, frame, node)


def _value(reader: Any, frame: Any, node: Any) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return _variable(frame, node.id)
    try:
        if isinstance(node, ast.Attribute):
            return reader.attribute(_value(reader, frame, node.value), node.attr)
        if isinstance(node, ast.Subscript):
            inner: Any = node.slice
            key = ast.literal_eval(inner.value if type(inner).__name__ == "Index" else inner)
            return reader.element(_value(reader, frame, node.value), key)
    except (LookupError, ValueError) as error:
        raise NeedsCode(str(error)) from None
    raise NeedsCode("")


def _variable(frame: Any, name: str) -> Any:
    for table in (variables(frame), variables(frame, "globals"), vars(builtins)):
        if name in table:
            return table[name]
    raise NameError("name %r is not defined" % name)


def completions(reader: Any, frame: Any, path: str) -> List[Tuple[str, Any]]:
    """The names that may follow ``path``, which is empty or ends with a point, each with what it stands for."""
    if not path:
        found = {**vars(builtins), **variables(frame, "globals"), **variables(frame)}
        return sorted(found.items(), key=lambda pair: pair[0])
    try:
        value = follow(reader, frame, path[:-1])
    except (NeedsCode, NameError):
        return []
    kind = reader.kind(value)
    known = {name: entry for name, (_, entry) in kind.entries.items()}
    if kind.has(type):
        known.update((name, entry) for name, (_, entry) in reader.entries_of(value).items())
    known.update(reader.fields(value))
    return sorted(known.items(), key=lambda pair: pair[0])
