"""Runs in the target: what is known of the type of a value, read past its class.

The interpreter's own functions tell it, and the descriptors in C that its classes have. No attribute of an object or of
its class is looked up the usual way, no object of the program is hashed or compared, and ``isinstance`` is not asked.
Each of these may run code of the program. CPython 3.8 and later.
"""

from __future__ import annotations

import builtins
import os
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Optional, Tuple

    Writer = Callable[[Any, Any, int], str]

MRO: Any = type.__dict__["__mro__"].__get__
NAMESPACE: Any = type.__dict__["__dict__"].__get__
FLAGS: Any = type.__dict__["__flags__"].__get__
_NAME: Any = type.__dict__["__name__"].__get__
_QUALNAME: Any = type.__dict__["__qualname__"].__get__
_MODULE: Any = type.__dict__["__module__"].__get__
ARGUMENTS: Any = BaseException.__dict__["args"].__get__
_GROUP = getattr(builtins, "BaseExceptionGroup", None)  # CPython 3.11 and later
TEXT_OF_GROUP: Any = _GROUP.__dict__["__str__"] if _GROUP is not None else None

IMMUTABLE_TYPE, HEAP_TYPE = 1 << 8, 1 << 9  # Py_TPFLAGS_IMMUTABLETYPE (3.10 and later), Py_TPFLAGS_HEAPTYPE
SLOT = type(object.__repr__)  # wrapper_descriptor: a method in C
CLASS_METHOD = types.ClassMethodDescriptorType
MEMBER, GETSET = types.MemberDescriptorType, types.GetSetDescriptorType
STANDARD = os.path.dirname(os.__file__) + os.sep
PACKAGES = ("site-packages", "dist-packages")


def ids(*kinds: Any) -> Any:
    """Types by identity: ``in`` compares, and a class's class may have code for that."""
    return frozenset(map(id, kinds))


def is_of(value: Any, kinds: Any) -> bool:
    """Whether the type of a value is one of :func:`ids`, not one derived from it."""
    return id(type(value)) in kinds


def name_of(type_: type) -> str:
    """The name of a type, which may have been set to a string with code of its own."""
    return str.__str__(_NAME(type_))


def qualname_of(type_: type) -> str:
    """The type's qualified name, read past its metaclass."""
    return str.__str__(_QUALNAME(type_))


def is_class(value: Any) -> bool:
    """Whether a value is a class."""
    return any(one is type for one in MRO(type(value)))


LEAVES = ids(type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))
FUNCTIONS = ids(
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.MethodWrapperType,
    classmethod,
    staticmethod,
)
METHODS_IN_C = ids(types.MethodDescriptorType, CLASS_METHOD, types.WrapperDescriptorType)
DESCRIPTORS = ids(types.MemberDescriptorType, types.GetSetDescriptorType)
# What a class may have under a name and an object of it shows so.
CONSTANTS = ids(int, float, str, bool, type(None), list, tuple, dict, set, frozenset, bytes)


class Text(str):
    """A text that is shown as it is, without quotes."""


class Kind:
    """What is known of the type of a value. ``entries`` are those of its classes by name, with the class of each."""

    def __init__(self, type_: type) -> None:
        self.type = type_
        self.mro: Tuple[type, ...] = MRO(type_)
        self.name = name_of(type_)
        self.qualname = qualname_of(type_)
        self.is_heap = bool(FLAGS(type_) & HEAP_TYPE)
        self.is_immutable = bool(FLAGS(type_) & IMMUTABLE_TYPE)  # of types in C alone
        self.entries: Dict[str, Tuple[type, Any]] = {}
        for base in self.mro:
            for name, entry in NAMESPACE(base).items():
                if type(name) is str and name not in self.entries:
                    self.entries[name] = base, entry
        self.writer: Optional[Writer] = None  # how objects of it are written; the reader knows

    @property
    def full_name(self) -> str:
        """The type's name with its module, for built-in types without."""
        module = module_of(self.type)
        return self.qualname if module in ("builtins", None) else "%s.%s" % (module, self.qualname)

    def entry(self, name: str) -> Any:
        """What the classes of the type have under a name; None where they have nothing."""
        return self.entries.get(name, (None, None))[1]

    def has(self, base: type) -> bool:
        """Whether ``base`` is one of the type's bases, or the type."""
        return any(one is base for one in self.mro)


def module_of(type_: type) -> Optional[str]:
    """The module that a type names; None where it names none."""
    try:
        module = _MODULE(type_)
    except AttributeError:
        return None
    return module if type(module) is str else None


def is_standard(function: Any) -> bool:
    """Whether a function is the standard library's, or one that it has made from source (``dataclass``)."""
    if type(function) is not types.FunctionType:
        return False
    file = function.__code__.co_filename
    # The wrapper of a dataclass's __repr__, or of one that the program has decorated.
    if file.endswith("reprlib.py"):
        wrapped = function.__dict__.get("__wrapped__")
        if type(wrapped) is not types.FunctionType:
            return False
        file = wrapped.__code__.co_filename
        return bool(file == "<string>")
    return file.startswith(STANDARD) and not any(one in file for one in PACKAGES)
