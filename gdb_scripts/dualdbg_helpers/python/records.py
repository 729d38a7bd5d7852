"""Types whose text is made of named fields: named tuples, dataclasses, enums, namespaces."""

from dualdbg_shared import cpython as L
from dualdbg_shared import object_text

from ..values import Value
from .writer import Writer, class_entry, inherited, name_text, size, tuple_items

MAX_FIELDS = 1000
_MEMBER = 40  # bytes of a PyMemberDef


def field_names(objects, kind, count):
    """``(name of the class, its fields)`` for a tuple whose ``count`` elements have names; else None for the fields."""
    if kind.is_exactly("tuple"):
        return kind.name, None
    fields = _declared(objects, kind) if kind.heap else None
    if fields is not None:
        return kind.name, fields if len(fields) == count else None
    return kind.tp_name, _struct_sequence(objects, kind, count)


def _declared(objects, kind):
    """The ``_fields`` of a class that ``collections.namedtuple`` has made, or of one derived from it; else None.

    Such a class has its own ``_make``; another kind of tuple with ``_fields`` has the text of a tuple.
    """
    for base in objects.types.mro(kind):
        fields = class_entry(objects, base, "_fields")
        if fields is not None and class_entry(objects, base, "_make") is not None:
            if not objects.types.of(fields).has(L.TUPLE):
                return None
            items = tuple_items(objects, fields, 0, min(size(objects, fields), MAX_FIELDS))
            return [name_text(objects, item) for item in items]
    return None


def _struct_sequence(objects, kind, count):
    """The names that a tuple in C (``os.stat_result``) gives to its elements: those of its first members."""
    memory, layout, names = objects.memory, objects.layout, []
    place = memory.pointer(kind.address + layout.tp_members)
    if not place or memory.i64(place + 16) != layout.tuple_items:
        return None
    for _ in range(count):
        name = memory.pointer(place)
        if not name:
            return None
        names.append(memory.c_string(name, 200).decode("utf-8", "replace"))
        place += _MEMBER
    return names


# -- enums -----------------------------------------------------------------------------------------


def is_enum(objects, kind):
    """Whether a class's own class is the one of enums."""
    meta = objects.types.read(objects.memory.pointer(kind.address + objects.layout.ob_type))
    return "class enum.EnumType" in meta.lineage or "class enum.EnumMeta" in meta.lineage


def _enum(objects, kind, address, depth):
    return object_text.enum_text(objects, address, kind.name, depth)


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
        parts = []
        for name in names:
            found = fields[name] if name in fields else _default(objects, kind, name)
            parts.append(f"{name}={objects.text(found, depth + 1) if isinstance(found, int) else found.text}")
        return "{}({})".format(kind.qualname, ", ".join(parts))

    return Writer("object", write, container=True)


def _default(objects, kind, name):
    """The value that a field has by its class, where the object itself has none."""
    found = inherited(objects, kind, name)
    if found is None or objects.types.of(found).is_exactly("member_descriptor"):
        return Value.invalid("not set")
    computed = inherited(objects, objects.types.of(found), "__get__") is not None
    return Value.invalid("not run") if computed else found


def _namespace(objects, kind, address, depth):
    fields = [(name, at) for name, at in objects.attributes(kind, address) if isinstance(at, int)]
    if objects.layout.minor < 9:
        fields.sort()
    texts = ", ".join(f"{key}={objects.text(at, depth + 1)}" for key, at in fields)
    return f"{_namespace_name(kind)}({texts})"


def _namespace_name(kind):
    return "namespace" if kind.is_exactly("types.SimpleNamespace") else kind.name


def _namespace_again(objects, kind, address):
    return f"{_namespace_name(kind)}(...)"


ENUM = Writer("enum", _enum, container=True)
BY_NAME = {"types.SimpleNamespace": Writer("object", _namespace, cycle=_namespace_again, container=True)}
