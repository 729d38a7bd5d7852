"""Types whose text is made of named fields: named tuples, dataclasses, enums, namespaces."""

from dualdbg_shared import cpython as L

from ..errors import Implausible
from .writer import Writer, class_entry, name_text, size, tuple_items

MAX_FIELDS = 1000
_MEMBER = 40  # bytes of a PyMemberDef


def field_names(objects, kind, count):
    """``(name of the class, its fields)`` for a kind of tuple whose ``count`` elements have names; else no fields."""
    if kind.tp_name == "tuple":
        return kind.name, []
    fields = _declared(objects, kind) if kind.heap else []
    if fields:
        return kind.name, fields if len(fields) == count else []
    return kind.tp_name, _struct_sequence(objects, kind, count)


def _declared(objects, kind):
    """The ``_fields`` of a class that ``collections.namedtuple`` has made, or of one derived from it."""
    for base in objects.types.mro(kind):
        fields = class_entry(objects, base, "_fields")
        if fields is not None:
            if not objects.types.of(fields).has(L.TUPLE):
                return []
            items = tuple_items(objects, fields, 0, min(size(objects, fields), MAX_FIELDS))
            return [name_text(objects, item) for item in items]
    return []


def _struct_sequence(objects, kind, count):
    """The names that a tuple in C (``os.stat_result``) gives to its elements: those of its first members."""
    memory, layout, names = objects.memory, objects.layout, []
    place = memory.pointer(kind.address + layout.tp_members)
    if not place or memory.i64(place + 16) != layout.tuple_items:
        return []
    for _ in range(count):
        name = memory.pointer(place)
        if not name:
            return []
        names.append(memory.c_string(name, 200).decode("utf-8", "replace"))
        place += _MEMBER
    return names


# -- enums -----------------------------------------------------------------------------------------


def is_enum(objects, kind):
    """Whether a class's own class is the one of enums."""
    meta = objects.types.read(objects.memory.pointer(kind.address + objects.layout.ob_type))
    return "class enum.EnumType" in meta.lineage or "class enum.EnumMeta" in meta.lineage


def _enum(objects, kind, address, depth):
    fields = dict(objects.attributes(kind, address))
    name, value = fields.get("_name_"), fields.get("_value_")
    if not isinstance(name, int) or not isinstance(value, int):
        raise Implausible(f"no enum at 0x{address:x}")
    shown = objects.text(value, depth + 1)
    if objects.types.of(name).has(L.STR):
        return f"<{kind.name}.{name_text(objects, name)}: {shown}>"
    if objects.layout.minor >= 11:
        return f"<{kind.name}: {shown}>"
    return "<{}.{}: {}>".format(kind.name, "|".join(_parts(objects, kind, value)), shown)


def _parts(objects, kind, value):
    """The members that a combination of flags is made of, by name; as ``enum._decompose`` before 3.11 finds them."""
    number = objects.strings.integer(value)
    table = next(
        (
            found
            for found in (
                class_entry(objects, base, "_value2member_map_") for base in objects.types.mro(kind)
            )
            if found
        ),
        None,
    )
    members = {}
    for key, member in objects.tables.items(table, 0, MAX_FIELDS) if table else ():
        name = dict(objects.attributes(kind, member)).get("_name_")
        named = isinstance(name, int) and objects.types.of(name).has(L.STR)
        members[objects.strings.integer(key)] = name_text(objects, name) if named else None
    found = [
        each
        for each, name in members.items()
        if each and each & number == each and (name is not None or (number >= 0 and each & (each - 1) == 0))
    ]
    if not found and number in members:
        found = [number]
    found.sort(reverse=True)
    if len(found) > 1 and found[0] == number:
        found.pop(0)
    return [members[each] or str(each) for each in found]


# -- dataclasses -----------------------------------------------------------------------------------


def dataclass_fields(objects, kind):
    """The names of the fields that the text of a dataclass has; None for other classes.

    None too for a dataclass that ``repr=False`` has left with the text of any object. One whose text is code of the
    program's is shown by its own fields.
    """
    order = objects.types.mro(kind)
    declared = {
        base.address: class_entry(objects, base, "__dataclass_fields__") for base in order if base.heap
    }
    for base in order:
        if not base.heap:
            return None
        if class_entry(objects, base, "__repr__") is not None:
            own = declared[base.address]
            nearest = next(filter(None, declared.values()), None)
            fields = own if own and _makes_text(objects, base) else nearest
            return _shown(objects, fields) if fields else None
    return None


def _makes_text(objects, kind):
    """Whether the class is declared with ``repr=True``."""
    declared = class_entry(objects, kind, "__dataclass_params__")
    return declared is not None and _is_true(objects, declared, "repr")


def _shown(objects, fields):
    return [
        name_text(objects, key)
        for key, field in objects.tables.items(fields, 0, MAX_FIELDS)
        if _is_true(objects, field, "repr") and _is_field(objects, field)
    ]


def _is_field(objects, field):
    """False for what is declared as ``ClassVar`` or ``InitVar``."""
    what = dict(objects.attributes(objects.types.of(field), field)).get("_field_type")
    if not isinstance(what, int) or objects.types.of(what).name != "_FIELD_BASE":
        return True
    name = dict(objects.attributes(objects.types.of(what), what)).get("name")
    return not isinstance(name, int) or name_text(objects, name) == "_FIELD"


def _is_true(objects, address, name):
    found = dict(objects.attributes(objects.types.of(address), address)).get(name)
    return not isinstance(found, int) or objects.text(found) != "False"


def dataclass_writer(names):
    """The writer of a class whose text has these fields."""

    def write(objects, kind, address, depth):
        fields = dict(objects.attributes(kind, address))
        parts = [
            "{}={}".format(
                name,
                fields[name].text if hasattr(fields[name], "text") else objects.text(fields[name], depth + 1),
            )
            for name in names
            if name in fields
        ]
        return "{}({})".format(kind.qualname, ", ".join(parts))

    return Writer("object", write, container=True)


def _namespace(objects, kind, address, depth):
    fields = [(name, at) for name, at in objects.attributes(kind, address) if isinstance(at, int)]
    if objects.layout.minor < 9:
        fields.sort()
    name = "namespace" if kind.tp_name == "types.SimpleNamespace" else kind.name
    return "{}({})".format(name, ", ".join(f"{key}={objects.text(at, depth + 1)}" for key, at in fields))


ENUM = Writer("enum", _enum, container=True)
BY_NAME = {"types.SimpleNamespace": Writer("object", _namespace, cycle="namespace(...)", container=True)}
