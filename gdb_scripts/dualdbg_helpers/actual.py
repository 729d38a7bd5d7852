"""What class a C++ object really is: told by its vtable, as the class of a pointer or reference is only a base of it.

The vtable is read from memory (:mod:`.rtti`); gdb's debug info has the class. Where there is no vtable at all, the
object is not there any more or not yet, and that is said.
"""

import gdb

from . import context, language
from .errors import HelperError, Implausible, OutOfTime, Unreadable
from .inferior import MASK

UNKNOWN = "class not known: no vtable there"
_CLASS = (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)
_REFERENCES = (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)
_MAX_BASES = 64


def actual(value):
    """``(value, note)``: an object, or a pointer or reference to one, as of the class that it really is.

    ``note`` says why that is not known, or which class it is where debug info does not have it; else None.
    """
    type_ = value.type.strip_typedefs()
    if type_.code in _REFERENCES:
        return _object(value.referenced_value())
    if type_.code == gdb.TYPE_CODE_PTR:
        class_ = type_.target().strip_typedefs()
        if class_.code not in _CLASS or not int(value) or not _is_polymorphic(class_):
            return value, None
        found, note = _object(value.dereference())
        return (value if found.type == value.dereference().type else found.address), note
    return _object(value)


def _object(value):
    type_ = value.type.strip_typedefs()
    if type_.code not in _CLASS or value.address is None or not _is_polymorphic(type_):
        return value, None
    address = int(value.address) & MASK
    try:
        target = context.shared()
        name = target.rtti.name(address)
        offset = target.memory.i64(target.memory.pointer(address) - 16)  # to the whole object
    except (Implausible, Unreadable):
        return value, UNKNOWN
    except (HelperError, OutOfTime):
        return value, None
    if name == type_.unqualified().name:
        return value, None
    try:
        whole = language.find_type(name)
    except gdb.error:
        return value, f"a {name}, of which there is no debug info"
    if not _derives(whole.strip_typedefs(), type_.unqualified().name):
        return value, UNKNOWN
    if type_.fields() and str(value.type).startswith("const "):
        whole = whole.const()
    return gdb.Value(address + offset).cast(whole.pointer()).dereference(), None


def _is_polymorphic(type_):
    """Whether objects of a class have a vtable: its own, or that of a base."""
    for _ in range(_MAX_BASES):
        fields = type_.fields()
        if any((field.name or "").startswith("_vptr") for field in fields):
            return True
        bases = [field.type.strip_typedefs() for field in fields if field.is_base_class]
        if len(bases) != 1:
            return any(_is_polymorphic(base) for base in bases)
        type_ = bases[0]
    return False


def _derives(type_, name, depth=0):
    if type_.unqualified().name == name:
        return True
    return depth < _MAX_BASES and any(
        _derives(field.type.strip_typedefs(), name, depth + 1)
        for field in type_.fields()
        if field.is_base_class
    )
