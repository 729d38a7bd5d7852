"""Runs in the target: a value by its path of names, attributes and items, read often and without the program's code.

dualdbg_inside.py follows a path once. Here what a step takes is found out once for each type that it meets, because a
watchpoint reads its path at each line. CPython 3.8 and later.
"""

from __future__ import annotations

import ast
import builtins
import collections
import types
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

    from dualdbg.target.bootstrap import dualdbg_kinds as kinds
else:
    kinds = globals()["beside"]("dualdbg_kinds")  # whoever loads this file puts ``beside`` there

OPTIMIZED = 0x1  # CO_OPTIMIZED (inspect.py): a function, whose variables are no dictionary
_LOOKUPS = (object.__getattribute__, type.__getattribute__, types.ModuleType.__getattribute__)
_TABLES = kinds.ids(dict, collections.OrderedDict, collections.defaultdict)
_ROWS = kinds.ids(list, tuple)


class NeedsCode(Exception):
    """Only code of the program could tell the value; the message says why."""


class Absent:
    """Stands for the value of a path that leads nowhere now, or only by code; ``why`` says so then."""

    def __init__(self, text: str, why: Optional[NeedsCode] = None) -> None:
        self.text, self.why = text, why


class Path:
    """What an expression reads in a frame. ``is_local``: only the frame's own code can change it.

    ``frame`` is the one with whose end the path ends; None where it begins in a module.
    """

    def __init__(self, expression: str, frame: Any) -> None:
        """Raises NeedsCode for an expression that is no such path, NameError as Python does."""
        root, self._steps = _parts(expression)
        code = frame.f_code
        own = code.co_flags & OPTIMIZED and root in (*code.co_varnames, *code.co_cellvars, *code.co_freevars)
        if own:
            self.frame, self._table = frame, None
            shared = root in code.co_cellvars or root in code.co_freevars
            self.is_local = not self._steps and not shared
        else:
            self.frame, self._table = _namespace(root, frame)
            self.is_local = False
        self._root = root
        self._absent = Absent("<no variable %s>" % root)
        value = self.read()
        if value is self._absent:
            raise NameError("name %r is not defined" % root)
        if type(value) is Absent:
            raise value.why or NeedsCode("it has no value now: %s" % value.text)

    def read(self) -> Any:
        """The value now, or Absent."""
        try:
            value = (self.frame.f_locals if self._table is None else self._table)[self._root]
            for step in self._steps:
                value = step.way(value) if type(value) is step.type else step.of(value)
            return value
        except KeyError:
            return self._absent
        except NeedsCode as reason:
            return Absent("<not read: %s>" % reason, reason)


def _namespace(root: str, frame: Any) -> Tuple[Any, Any]:
    """The frame that a name outside of functions ends with, and the dictionary that has it. Raises NeedsCode."""
    own = frame.f_locals if not frame.f_code.co_flags & OPTIMIZED else frame.f_globals
    for table, ends_with in ((own, frame if own is not frame.f_globals else None), (frame.f_globals, None)):
        if type(table) is not dict:
            raise NeedsCode("the namespace of %s is no plain dictionary" % frame.f_code.co_name)
        if root in table:
            return ends_with, table
    if root in vars(builtins):
        raise NeedsCode("%s is built in: it stays what it is" % root)
    raise NameError("name %r is not defined" % root)


def _parts(expression: str) -> Tuple[str, List[Any]]:
    """The name that an expression begins with, and the steps from there. Raises NeedsCode."""
    try:
        node: Any = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        raise NeedsCode("it is no expression of Python") from None
    steps: List[Any] = []
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Attribute):
            steps.insert(0, Attribute(node.attr))
        elif isinstance(node, ast.Subscript):
            steps.insert(0, Item(_key(node.slice)))
        else:
            raise NeedsCode("that would run code of the program at each line (%s)" % type(node).__name__)
        node = node.value
    return node.id, steps


def _key(node: Any) -> Any:
    try:
        key = ast.literal_eval(node.value if type(node).__name__ == "Index" else node)
    except ValueError:
        raise NeedsCode("what stands in brackets has to be a number or a text that is written out") from None
    if not kinds.is_of(key, kinds.LEAVES):
        raise NeedsCode("what stands in brackets has to be a number or a text that is written out")
    return key


class Attribute:
    """A step to an attribute that lies in the object itself, or is a plain constant of its class."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.type: Any = None  # for which ``way`` reads it
        self.way: Callable[[Any], Any] = lambda value: None
        self._absent = Absent("<no attribute %s>" % name)

    def of(self, value: Any) -> Any:
        """The attribute of ``value``, or Absent. Raises NeedsCode."""
        if type(value) is Absent:
            return value
        self.type = None
        self.way = self._way(kinds.Kind(type(value)))
        self.type = type(value)
        return self.way(value)

    def _way(self, kind: Any) -> Callable[[Any], Any]:
        """How the attribute is read of objects of this kind."""
        entry, name = kind.entry(self._name), self._name
        if not any(kind.entry("__getattribute__") is one for one in _LOOKUPS):
            raise NeedsCode("attributes of %s are looked up by code (__getattribute__)" % kind.name)
        if kind.has(type):
            if name in kind.entries:
                raise NeedsCode("%s of %s may be what code of its class makes of it" % (name, kind.name))
            return self._of_class
        if type(entry) is kinds.MEMBER:
            return lambda value: self._of_slot(entry, value)
        self._check(kind.name, entry)
        table_of = _dictionary_of(kind)
        if table_of is None and name not in kind.entries:
            raise NeedsCode("%s has no attribute %s that lies in the object" % (kind.name, name))
        missing = self._absent if kind.entry("__getattr__") is None else Absent("<what __getattr__ says>")

        def read(value: Any) -> Any:
            table = table_of(value) if table_of is not None else None
            # The keys of such a dictionary are names. One with code for comparing would have to be made for it.
            found = dict.get(table, name, missing) if type(table) is dict else missing
            return self._constant(kind, missing) if found is missing else found

        return read

    def _constant(self, kind: Any, missing: Absent) -> Any:
        """What the classes have under the name now."""
        for base in kind.mro:
            found = kinds.NAMESPACE(base).get(self._name, missing)
            if found is not missing:
                self._check(kind.name, found)
                return found
        return missing

    def _check(self, type_name: str, entry: Any) -> None:
        """Raises NeedsCode where what a class has under the name may have code for its objects."""
        if entry is not None and not kinds.is_of(entry, kinds.CONSTANTS):
            made_of = kinds.name_of(type(entry))
            raise NeedsCode("%s of %s is what code makes of it (%s)" % (self._name, type_name, made_of))

    def _of_slot(self, member: Any, value: Any) -> Any:
        try:
            return member.__get__(value)
        except AttributeError:
            return self._absent

    def _of_class(self, value: Any) -> Any:
        for base in kinds.MRO(value):
            for name, entry in list(kinds.NAMESPACE(base).items()):
                if type(name) is str and name == self._name:
                    found = kinds.Kind(type(entry))
                    if found.entry("__get__") is not None:
                        raise NeedsCode("%s of the class is what code makes of it" % name)
                    return entry
        return self._absent


def _dictionary_of(kind: Any) -> Any:
    """What gives the ``__dict__`` of objects of a kind; None where they have none."""
    for base in kind.mro:
        entry = kinds.NAMESPACE(base).get("__dict__")
        if kinds.is_of(entry, kinds.DESCRIPTORS):
            return entry.__get__
    return None


class Item:
    """A step to an element of a built-in list, tuple or dictionary."""

    def __init__(self, key: Any) -> None:
        self._key = key
        self.type: Any = None  # for which ``way`` reads it
        self.way: Callable[[Any], Any] = self._of_row
        self._at = 0  # where in the dictionary the key was last
        self._absent = Absent("<no item %r>" % (key,))

    def of(self, value: Any) -> Any:
        """The element, or Absent. Raises NeedsCode."""
        if type(value) is Absent:
            return value
        self.type = None
        if kinds.is_of(value, _ROWS):
            if type(self._key) is not int:
                raise NeedsCode("an item of a %s has a number" % type(value).__name__)
            self.way = self._of_row
        elif kinds.is_of(value, _TABLES):
            self.way = self._of_table
        else:
            name = kinds.name_of(type(value))
            raise NeedsCode(
                "items of %s are what code makes of them; those of list, tuple and dict are read" % name
            )
        self.type = type(value)
        return self.way(value)

    def _of_row(self, row: Any) -> Any:
        try:
            return row[self._key]
        except IndexError:
            return self._absent

    def _of_table(self, table: Dict[Any, Any]) -> Any:
        """A lookup would compare with keys of the program. So the keys are gone through, from where it was found."""
        try:
            key, found = next(islice(dict.items(table), self._at, None), (self, None))
            if self._is_it(key):
                return found
        except RuntimeError:  # another thread has changed the dictionary
            pass
        for at, (key, found) in enumerate(list(dict.items(table))):
            if self._is_it(key):
                self._at = at
                return found
        return self._absent

    def _is_it(self, key: Any) -> bool:
        return type(key) is type(self._key) and bool(key == self._key)
