"""Layouts out of debug info, by gdb: of the process itself, or of an object file made for it."""

import json

import gdb

from .. import language
from .model import Layout
from .wanted import PARTS


def read_record(name):
    """``[size, fields]`` of the complete type ``name`` (see :class:`Layout`), or None when gdb has no such type."""
    try:
        kind = language.find_type(name).strip_typedefs()
    except gdb.error:
        return None
    if kind.code not in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION) or not kind.fields():
        return None
    fields = {}
    try:
        _collect(kind, 0, fields)
    except gdb.error:
        return None
    # A class that is only declared in this debug info has a size of 0 or 1 and only static members.
    return [kind.sizeof, fields] if fields else None


def _collect(kind, base, fields):
    for field in kind.fields():
        if not hasattr(field, "bitpos"):  # a static member
            continue
        offset = base + field.bitpos // 8
        bare = field.type.strip_typedefs()
        if field.is_base_class:
            if bare.fields():
                _collect(bare, offset, fields)
        elif field.name is None:
            _collect(bare, offset, fields)
        elif field.bitsize:
            fields.setdefault(field.name, [offset, bare.sizeof, field.bitpos % 8, field.bitsize])
        else:
            name = "_vptr" if field.name.startswith("_vptr") else field.name
            fields.setdefault(name, [offset, bare.sizeof])


def read_enum(name):
    """``{enumerator: value}`` of the enum ``name``, or None."""
    try:
        kind = language.find_type(name).strip_typedefs()
    except gdb.error:
        return None
    if kind.code != gdb.TYPE_CODE_ENUM:
        return None
    values = {field.name.rsplit("::", 1)[-1]: field.enumval for field in kind.fields()}
    return values or None


def extract(part):
    """``(records, enums)`` of a :class:`~.wanted.Part`, as far as gdb's symbols hold them."""
    records = {name: read_record(name) for name in part.records}
    enums = {name: read_enum(name) for name in part.enums}
    return (
        {name: value for name, value in records.items() if value},
        {name: value for name, value in enums.items() if value},
    )


class DebugInfo(Layout):
    """The debug info that gdb has of the process, asked type by type."""

    def __init__(self, source):
        super().__init__(source, {}, {})
        self._asked = set()

    def find(self, name):
        if name not in self._asked:
            self._asked.add(name)
            found = read_record(name)
            if found:
                self.records[name] = found
        return super().find(name)

    def find_enum(self, name):
        if name not in self._asked:
            self._asked.add(name)
            found = read_enum(name)
            if found:
                self.enums[name] = found
        return super().find_enum(name)


def write(path, part_name):
    """Writes the layout of one part as JSON; run by :mod:`.types_object` in a gdb of its own."""
    records, enums = extract(PARTS[part_name])
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"records": records, "enums": enums}, file)
