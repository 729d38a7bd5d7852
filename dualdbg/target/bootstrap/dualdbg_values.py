"""Runs in the target: values as text, and what is inside of them, without running the program's code.

An object is read past its class, as dualdbg_kinds.py says, and by the interpreter's own functions for its built-in
base. The text of each built-in type is written by dualdbg_writers.py. CPython 3.8 and later.
"""

from __future__ import annotations

import collections
import sys
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, List, Optional, Tuple

    from dualdbg.target.bootstrap import dualdbg_kinds as kinds
    from dualdbg.target.bootstrap import dualdbg_writers as writers
    from dualdbg.target.bootstrap.dualdbg_kinds import Kind
else:
    kinds = globals()["beside"]("dualdbg_kinds")  # whoever loads this file puts ``beside`` there
    writers = globals()["beside"]("dualdbg_writers")

OUTER, INNER = 1 << 16, 128  # characters of a string: the value itself, and one inside a container
ELEMENTS = (60, 20)  # of a container, and of one inside it; what lies deeper is not written
DEEPEST = 4  # level of what is written at all: what is no container may be inside itself too, such as a cell
_SEQUENCES = kinds.ids(list, tuple, str, bytes, range)
_TABLES = kinds.ids(dict, collections.OrderedDict, collections.defaultdict)
# What a class has under a name and an object of it shows so: a constant, or a slot.
PLAIN = kinds.ids(kinds.MEMBER) | kinds.CONSTANTS


class Reader:
    """Reads values for one answer; types are looked at once in it.

    ``whole``: strings are not cut. ``hexadecimal``: integers are written so. ``raw``: a string without quotes.
    ``libraries`` is the module dualdbg_arrays.
    """

    minor = sys.version_info[1]

    def __init__(
        self, libraries: Any, whole: bool = False, hexadecimal: bool = False, raw: bool = False
    ) -> None:
        self.libraries = libraries
        self.whole, self.hexadecimal, self.raw = whole, hexadecimal, raw
        self._kinds: Dict[int, Kind] = {}

    def kind(self, value: Any) -> Kind:
        """What is known of the value's type."""
        type_ = type(value)
        found = self._kinds.get(id(type_))
        if found is None:
            found = self._kinds[id(type_)] = kinds.Kind(type_)
            found.writer = writers.writer_of(found)
        return found

    def type_name(self, value: Any) -> str:
        """The name of the value's type."""
        return kinds.name_of(type(value))

    # -- text -------------------------------------------------------------------------------------

    def text(self, value: Any, level: int = 0) -> str:
        """The value as text: what ``repr`` says where that takes no code of the program."""
        if type(value) is kinds.Text:
            return str.__str__(value)
        if level > DEEPEST and not self.is_leaf(value):
            return "..."
        exact = writers.WRITERS.get(id(type(value)))
        if exact is not None:
            return exact(self, value, level)
        kind = self.kind(value)
        known: Optional[str] = self.libraries.text(kind, value, self, level)
        if known is not None:
            shown = self.cut(known, level)
            return known if shown is not known and self.libraries.is_composed(kind) else shown
        if kind.writer is not None:
            return str(kind.writer(self, value, level))
        return self.plain(kind, value)

    def own_repr(self, value: Any) -> bool:
        """Whether the class has a ``__repr__`` of its own, which was not run for the text."""
        if id(type(value)) in writers.WRITERS or type(value) is kinds.Text:
            return False
        kind = self.kind(value)
        found = kind.entry("__repr__")
        if self.libraries.is_known(kind) or found is object.__dict__["__repr__"]:
            return False
        return kind.writer is None or not (type(found) is kinds.SLOT or kinds.is_standard(found))

    def plain(self, kind: Kind, value: Any) -> str:
        """A value as object.__repr__ would show it."""
        return "<%s object at 0x%x>" % (kind.full_name, id(value))

    # -- what dualdbg_shared.object_text asks; an object stands for itself ----------------------------

    def plain_text(self, value: Any) -> str:
        return self.plain(self.kind(value), value)

    def entries(self, value: Any) -> List[Tuple[Any, Any]]:
        """Keys and values of a dict; nothing of another object."""
        return list(dict.items(value)) if type(value) is dict else []

    def class_entry(self, value: Any, name: str) -> Any:
        return self.kind(value).entry(name)

    def class_names(self, value: Any) -> Tuple[Optional[str], str]:
        class_ = value if kinds.is_class(value) else type(value)
        return kinds.module_of(class_), kinds.name_of(class_)

    def string(self, value: Any) -> Optional[str]:
        return value if type(value) is str else None

    def integer(self, value: Any) -> Optional[int]:
        return value if type(value) is int else None

    def is_none(self, value: Any) -> bool:
        return value is None

    def dataclass_of(self, member: Any, value: Any) -> Optional[str]:
        kind = self.kind(value)
        return kind.qualname if writers.is_dataclass(kind) and self.kind(member).has(kind.type) else None

    # -- bounds ---------------------------------------------------------------------------------------

    def limit(self, level: int) -> int:
        """How many characters of a string are shown: fewer inside of a container."""
        return INNER if level else OUTER

    def cut(self, text: str, level: int) -> str:
        """The text with its middle left out, where it is too long."""
        limit = self.limit(level)
        if self.whole or len(text) <= limit:
            return text
        return text[: limit * 2 // 3] + "..." + text[-(limit // 3) :]

    def is_too_deep(self, level: int) -> bool:
        """Whether elements of a value at this level are left out. Levels count from 0, the outermost."""
        return level >= len(ELEMENTS)

    def first(self, values: Iterator[Any], level: int) -> List[Any]:
        """As many of the values as are shown at this level."""
        return list(islice(values, ELEMENTS[level]))  # one call in C: no other thread comes between

    def sequence(self, values: Iterator[Any], total: int, level: int, opening: str, closing: str) -> str:
        """Elements between brackets, as far as the level allows."""
        if self.is_too_deep(level):
            return opening + ("..." if total else "") + closing
        shown = self.first(values, level)
        parts = [self.text(one, level + 1) for one in shown]
        if total > len(shown):
            parts.append("...")
        only = "," if opening == "(" and len(parts) == 1 else ""
        return opening + ", ".join(parts) + only + closing

    def pairs(self, pairs: Iterator[Tuple[Any, Any]], total: int, level: int) -> str:
        """A mapping's keys and values, as far as the level allows."""
        if self.is_too_deep(level):
            return "{...}" if total else "{}"
        shown = self.first(pairs, level)
        parts = ["%s: %s" % (self.text(key, level + 1), self.text(one, level + 1)) for key, one in shown]
        if total > len(shown):
            parts.append("...")
        return "{" + ", ".join(parts) + "}"

    def named(self, name: str, fields: List[Tuple[str, Any]], level: int) -> str:
        """An object by its name and fields, as a dataclass shows itself."""
        if self.is_too_deep(level):
            return name + "(...)"
        return "%s(%s)" % (name, ", ".join("%s=%s" % (key, self.text(one, level + 1)) for key, one in fields))

    def is_leaf(self, value: Any) -> bool:
        """Whether a value is a number, a string or one of Python's own constants."""
        return kinds.is_of(value, kinds.LEAVES) or type(value) is kinds.Text

    def is_function(self, value: Any) -> bool:
        """Whether a value is a function or a method of one of Python's own kinds."""
        return kinds.is_of(value, kinds.FUNCTIONS)

    def is_callable_of_python(self, value: Any) -> bool:
        """Whether a value is a function or a method, also one of a class that is written in C."""
        return self.is_function(value) or kinds.is_of(value, kinds.METHODS_IN_C)

    def is_descriptor(self, value: Any) -> bool:
        """Whether it is the place of a slot or a C attribute in a class."""
        return kinds.is_of(value, kinds.DESCRIPTORS)

    # -- exceptions ---------------------------------------------------------------------------------

    def message(self, error: BaseException) -> str:
        """What ``str`` says of an exception; of one that has code of its own for it, its arguments."""
        kind, arguments = self.kind(error), kinds.ARGUMENTS(error)
        said = kind.entry("__str__")
        fields = {name: value for name, value in self.slots(error) if not name.startswith("__")}
        used = (*arguments, *fields.values())
        if type(said) is kinds.SLOT and said is kinds.TEXT_OF_GROUP:  # it counts the exceptions of the group
            used = (fields["message"],)
        parts = [part for one in used for part in (one if type(one) is tuple else (one,))]
        # A SyntaxError has a tuple among its arguments.
        if type(said) is kinds.SLOT and all(id(type(one)) in kinds.LEAVES for one in parts):
            return str(said(error))
        if len(arguments) == 1:
            one = arguments[0]
            return one if type(one) is str else self.text(one)
        return self.text(arguments) if arguments else ""

    # -- what is inside ---------------------------------------------------------------------------

    def slots(self, value: Any) -> List[Tuple[str, Any]]:
        """What lies in the object itself: ``__slots__``, and the members of a type in C."""
        kind, found = self.kind(value), []
        members = [
            (owner, name, one) for name, (owner, one) in kind.entries.items() if type(one) is kinds.MEMBER
        ]
        for base in reversed(kind.mro) if members else ():  # those of the base first, as they lie in memory
            for owner, name, entry in members:
                if owner is base and entry.__objclass__ is owner and name != "__dict__":
                    try:
                        found.append((name, entry.__get__(value)))
                    except (AttributeError, SystemError):  # not set
                        continue
        return found

    def dictionary(self, value: Any) -> Optional[Dict[Any, Any]]:
        """The ``__dict__`` of an object; None where it has none that can be read."""
        for base in self.kind(value).mro:
            for name, entry in kinds.NAMESPACE(base).items():
                if type(name) is str and name == "__dict__" and kinds.is_of(entry, kinds.DESCRIPTORS):
                    try:
                        found = entry.__get__(value)
                    except (AttributeError, TypeError):  # a class's, which hides that of its base
                        continue
                    if any(one is dict for one in kinds.MRO(type(found))):
                        return found  # type: ignore[no-any-return]
        return None

    def fields(self, value: Any) -> List[Tuple[str, Any]]:
        """The attributes of the object itself. A name that is no string is left out."""
        found = self.slots(value)
        table = self.dictionary(value)
        if table is not None:
            found += [(name, one) for name, one in list(dict.items(table)) if type(name) is str]
        return found

    def class_fields(self, value: Any) -> List[Tuple[str, Any]]:
        """What the classes in Python have for the object: methods and constants, as they stand there."""
        return [
            (name, entry)
            for name, (owner, entry) in self.kind(value).entries.items()
            if kinds.FLAGS(owner) & kinds.HEAP_TYPE and not kinds.is_of(entry, kinds.DESCRIPTORS)
        ]

    def methods_in_c(self, value: Any) -> List[Tuple[str, Any]]:
        """The methods in C of the object's classes, bound to it."""
        kind, found = self.kind(value), []
        for name, (_, entry) in kind.entries.items():
            if kinds.is_of(entry, kinds.METHODS_IN_C):
                of_class = type(entry) is kinds.CLASS_METHOD
                try:
                    found.append((name, entry.__get__(None if of_class else value, kind.type)))
                except TypeError:  # of another class, which has nothing to do with this one
                    continue
        return found

    def class_namespace(self, value: Any) -> List[Tuple[str, Any]]:
        """What stands in a class itself."""
        return [(name, entry) for name, entry in kinds.NAMESPACE(value).items() if type(name) is str]

    def entries_of(self, value: Any) -> Dict[str, Tuple[type, Any]]:
        """What a class and its bases have, by name."""
        return kinds.Kind(value).entries

    def attribute(self, value: Any, name: str) -> Any:
        """An attribute by name. Raises LookupError for what only code could tell, or is not there."""
        kind = self.kind(value)
        if kind.has(type):
            return self._of_class(value, name)
        entry = kind.entry(name)
        is_data = name not in kind.entries or kinds.is_of(entry, PLAIN)
        for key, one in self.fields(value):
            if key == name and is_data:
                return one
        if name in kind.entries and kinds.is_of(entry, PLAIN) and type(entry) is not kinds.MEMBER:
            return entry
        raise LookupError(name)

    def _of_class(self, value: Any, name: str) -> Any:
        for base in kinds.MRO(value):
            for key, entry in kinds.NAMESPACE(base).items():
                if type(key) is str and key == name and kinds.is_of(entry, PLAIN):
                    return entry
        raise LookupError(name)

    def element(self, value: Any, key: Any) -> Any:
        """An element of a built-in container by a plain key. Raises LookupError as for an attribute."""
        if kinds.is_of(value, _SEQUENCES) and type(key) is int:
            return value[key]
        if kinds.is_of(value, _TABLES):
            for one, found in list(dict.items(value)):
                if type(one) is type(key) and id(type(one)) in kinds.LEAVES and one == key:
                    return found
        raise LookupError(self.text(key))
