"""Which writer a type of Python has: the tables of all kinds, tried by the names of the type and its bases."""

from dualdbg_shared import cpython as L

from . import buffers, builtins, callables, dictionaries, foreign, library, modules, records

_BY_NAME = {
    **builtins.BY_NAME,
    **dictionaries.BY_NAME,
    **records.BY_NAME,
    **library.BY_NAME,
    **callables.BY_NAME,
    **modules.BY_NAME,
    **buffers.BY_NAME,
    **foreign.BY_NAME,
}
_BY_FLAG = (*builtins.BY_FLAG, (L.DICT, dictionaries.DICT))


def _is_class(name):
    """Whether this name in :attr:`.names.Type.lineage` is that of a class written in Python."""
    return name.startswith("class ")


def find_writer(objects, kind):
    """The :class:`.writer.Writer` for objects of ``kind``; None for a type that is only a class with fields."""
    if kind.heap and records.is_enum(objects, kind):
        return records.ENUM
    names = records.dataclass_fields(objects, kind) if kind.heap else None
    if names is not None:
        return records.dataclass_writer(names)
    for place, name in enumerate(kind.lineage):
        if name in _BY_NAME:
            # A date of C code that is derived from one has more of its own: pandas' Timestamp, and NaT, which is none.
            has_more = name.startswith("datetime.") and not all(map(_is_class, kind.lineage[:place]))
            return None if has_more else _BY_NAME[name]
    return next((writer for flag, writer in _BY_FLAG if kind.has(flag)), None)
