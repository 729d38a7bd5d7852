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


def find_writer(objects, kind):
    """The :class:`.writer.Writer` for objects of ``kind``; None for a type that is only a class with fields."""
    if kind.heap and records.is_enum(objects, kind):
        return records.ENUM
    names = records.dataclass_fields(objects, kind) if kind.heap else None
    if names is not None:
        return records.dataclass_writer(names)
    for name in kind.lineage:
        if name in _BY_NAME:
            return _BY_NAME[name]
    return next((writer for flag, writer in _BY_FLAG if kind.has(flag)), None)
