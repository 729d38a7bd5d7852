"""How each built-in type of Python is written: a table of writers, found by flag or by the name of a base."""

from dualdbg_shared import cpython as L

from ..errors import Implausible
from .names import MAX_NAME


class Writer:
    """``text(objects, kind, address, depth)`` writes an object; ``elements`` names its children, if it has any.

    ``cycle`` is the text for a container inside itself; ``container`` is false for objects that cannot nest.
    """

    __slots__ = ("category", "container", "cycle", "elements", "text")

    def __init__(self, category, text, elements=None, cycle="...", container=False):
        self.category = category
        self.text = text
        self.elements = elements
        self.cycle = cycle
        self.container = container or elements is not None


def quoted(text, length):
    """``repr`` of a string of which ``text`` was read; a mark when it is longer."""
    return repr(text) + (f"... {length - len(text)} more" if length > len(text) else "")


def _int(objects, kind, address, depth):
    if kind.tp_name == "bool":
        return "True" if objects.strings.integer(address) else "False"
    value = objects.strings.integer(address)
    try:
        return str(value)
    except ValueError:  # more digits than sys.set_int_max_str_digits allows to convert
        return hex(value)


def _float(objects, kind, address, depth):
    return repr(objects.strings.number(address))


def _complex(objects, kind, address, depth):
    head = address + objects.layout.head
    return repr(complex(objects.memory.f64(head), objects.memory.f64(head + 8)))


def _str(objects, kind, address, depth):
    return quoted(*objects.strings.part(address, objects.target.limits.max_string))


def _bytes(objects, kind, address, depth):
    return quoted(*objects.strings.bytes_part(address, objects.target.limits.max_string))


def _bytearray(objects, kind, address, depth):
    raw, length = objects.strings.bytearray_part(address, objects.target.limits.max_string)
    return f"{kind.name}({quoted(raw, length)})"


def _constant(text):
    return lambda objects, kind, address, depth: text


def _size(objects, address):
    size = objects.memory.i64(address + objects.layout.head)
    if size < 0:
        raise Implausible(f"a negative length at 0x{address:x}")
    return size


def _index_child(objects):
    return lambda index, address: (f"[{index}]", objects.leaf(address))


def _list_items(objects, address, start, count):
    first = objects.memory.pointer(address + objects.layout.list_items)
    return objects.memory.words(first + 8 * start, count) if count else ()


def _tuple_items(objects, address, start, count):
    return objects.memory.words(address + objects.layout.tuple_items + 8 * start, count)


def _list(objects, kind, address, depth):
    total = _size(objects, address)
    items = _list_items(objects, address, 0, objects.shown(total))
    return objects.sequence(items, total, depth, "[", "]")


def _list_elements(objects, kind, address):
    return _index_child(objects), lambda s, n: _list_items(objects, address, s, n), _size(objects, address)


def _tuple(objects, kind, address, depth):
    total = _size(objects, address)
    items = _tuple_items(objects, address, 0, objects.shown(total))
    fields = field_names(objects, kind) if kind.heap else []
    if fields and len(fields) == total:
        parts = [f"{f}={objects.text(a, depth + 1)}" for f, a in zip(fields, items)]
        return "{}({})".format(kind.name, ", ".join(parts))
    if kind.tp_name == "torch.Size":
        return objects.sequence(items, total, depth, "torch.Size([", "])")
    return objects.sequence(items, total, depth, "(", ")", single=",")


def field_names(objects, kind):
    """The ``_fields`` of a named tuple's class, or nothing."""
    table = objects.memory.pointer(kind.address + objects.layout.tp_dict)
    fields = objects.tables.get(table, "_fields") if table else None
    if fields is None or not objects.types.of(fields).has(L.TUPLE):
        return []
    items = _tuple_items(objects, fields, 0, min(_size(objects, fields), 1000))
    return [objects.strings.text(item, MAX_NAME) for item in items]


def _tuple_elements(objects, kind, address):
    return _index_child(objects), lambda s, n: _tuple_items(objects, address, s, n), _size(objects, address)


def _dict_body(objects, address, depth):
    total = objects.tables.used(address)
    parts = [
        f"{objects.text(key, depth + 1)}: {objects.text(value, depth + 1)}"
        for key, value in objects.tables.items(address, 0, objects.shown(total))
    ]
    # Entries may be added or removed while the table is half built, so the entries that were read are counted.
    left = total - len(parts)
    return (
        "{"
        + ", ".join(parts)
        + ("{}... {} more".format(", " if parts else "", left) if left > 0 else "")
        + "}"
    )


def _dict(objects, kind, address, depth):
    body = _dict_body(objects, address, depth)
    if kind.tp_name == "dict":
        return body
    if kind.derives_from("collections.defaultdict"):
        factory = objects.memory.pointer(address + objects.layout.head + 32)
        return "{}({}, {})".format(kind.name, objects.text(factory, depth + 1) if factory else "None", body)
    if kind.derives_from("collections.OrderedDict") and objects.layout.minor < 12:
        return _ordered(objects, kind, address, depth)
    if kind.name in ("Counter", "OrderedDict", "mappingproxy"):
        return "{}({})".format(kind.name, "" if body == "{}" else body)
    return body


def _ordered(objects, kind, address, depth):
    pairs = [
        f"({objects.text(key, depth + 1)}, {objects.text(value, depth + 1)})"
        for key, value in objects.tables.items(address, 0, objects.shown(objects.tables.used(address)))
    ]
    return "{}({})".format(kind.name, "[{}]".format(", ".join(pairs)) if pairs else "")


def _dict_elements(objects, kind, address):
    def child(index, pair):
        key, value = pair
        return objects.text(key), objects.leaf(value)

    return child, lambda s, n: objects.tables.items(address, s, n), objects.tables.used(address)


def _set(objects, kind, address, depth):
    total = objects.tables.set_used(address)
    if not total:
        return f"{kind.name}()"
    members = objects.tables.members(address, 0, objects.shown(total))
    text = objects.sequence(members, total, depth, "{", "}")
    return text if kind.tp_name == "set" else f"{kind.name}({text})"


def _set_elements(objects, kind, address):
    return (
        _index_child(objects),
        lambda s, n: objects.tables.members(address, s, n),
        objects.tables.set_used(address),
    )


def _exception(objects, kind, address, depth):
    args = objects.memory.pointer(address + objects.layout.exception_args)
    if not args:
        return f"{kind.name}()"
    total = _size(objects, args)
    items = _tuple_items(objects, args, 0, objects.shown(total))
    return objects.sequence(items, total, depth, kind.name + "(", ")")


def _exception_elements(objects, kind, address):
    args = objects.memory.pointer(address + objects.layout.exception_args)
    return (
        _index_child(objects),
        lambda s, n: _tuple_items(objects, args, s, n),
        _size(objects, args) if args else 0,
    )


def _type(objects, kind, address, depth):
    return f"<class '{objects.types.read(address).full_name}'>"


def _function(objects, kind, address, depth):
    name = objects.memory.pointer(address + objects.layout.func_qualname)
    return f"<function {objects.strings.text(name, MAX_NAME)} at 0x{address:x}>"


def _builtin(objects, kind, address, depth):
    definition = objects.memory.pointer(address + objects.layout.head)
    name = objects.memory.c_string(objects.memory.pointer(definition), MAX_NAME).decode("utf-8", "replace")
    owner = objects.memory.pointer(address + objects.layout.head + 8)
    if owner and objects.types.of(owner).tp_name != "module":
        return f"<built-in method {name} of {objects.types.of(owner).full_name} object at 0x{owner:x}>"
    return f"<built-in function {name}>"


def _method(objects, kind, address, depth):
    function, owner = objects.memory.words(address + objects.layout.head, 2)
    name = objects.text(function, depth + 1)
    if name.startswith("<function "):
        name = name[len("<function ") :].split(" at 0x")[0]
    return f"<bound method {name} of {objects.text(owner, depth + 1)}>"


def _module(objects, kind, address, depth):
    table = objects.memory.pointer(address + objects.layout.head)
    name = objects.tables.get(table, "__name__") if table else None
    file = objects.tables.get(table, "__file__") if table else None
    text = "<module {}".format(objects.text(name, depth + 1) if name else "?")
    if file and objects.types.of(file).has(L.STR):
        return text + f" from {objects.text(file, depth + 1)}>"
    return text + " (built-in)>"


def _three(name):
    def write(objects, kind, address, depth):
        parts = [objects.text(a, depth + 1) for a in objects.memory.words(address + objects.layout.head, 3)]
        if name == "range" and parts[2] == "1":
            parts.pop()
        return "{}({})".format(name, ", ".join(parts))

    return write


DEQUE_BLOCK = 64  # BLOCKLEN, Modules/_collectionsmodule.c


def _deque_items(objects, address, start, count):
    memory, layout = objects.memory, objects.layout
    block = memory.pointer(address + layout.var_head)
    index = memory.i64(address + layout.var_head + 16) + start
    found = []
    if not 0 <= index - start < DEQUE_BLOCK:
        raise Implausible(f"no deque at 0x{address:x}")
    while count > 0:
        objects.target.budget.tick()
        while index >= DEQUE_BLOCK:
            block, index = memory.pointer(block + 8 + 8 * DEQUE_BLOCK), index - DEQUE_BLOCK
        step = min(count, DEQUE_BLOCK - index)
        found.extend(memory.words(block + 8 + 8 * index, step))
        index, count = index + step, count - step
    return found


def _deque(objects, kind, address, depth):
    total = _size(objects, address)
    items = _deque_items(objects, address, 0, objects.shown(total))
    text = objects.sequence(items, total, depth, "[", "]")
    longest = objects.memory.i64(address + objects.layout.var_head + 40)
    return "{}({}{})".format(kind.name, text, f", maxlen={longest}" if longest >= 0 else "")


def _deque_elements(objects, kind, address):
    return _index_child(objects), lambda s, n: _deque_items(objects, address, s, n), _size(objects, address)


def _proxy(objects, kind, address, depth):
    return f"mappingproxy({objects.text(objects.memory.pointer(address + objects.layout.head), depth + 1)})"


def _cell(objects, kind, address, depth):
    inner = objects.memory.pointer(address + objects.layout.head)
    return "<cell at 0x{:x}: {}>".format(address, objects.text(inner, depth + 1) if inner else "empty")


def _enum(objects, kind, address, depth):
    fields = dict(objects.attributes(kind, address))
    name = fields.get("_name_")
    value = fields.get("_value_")
    shown = (
        objects.strings.text(name, MAX_NAME)
        if isinstance(name, int) and objects.types.of(name).has(L.STR)
        else "?"
    )
    return "<{}.{}: {}>".format(
        kind.name, shown, objects.text(value, depth + 1) if isinstance(value, int) else "?"
    )


def _dataclass(objects, kind, address, depth):
    fields = dict(objects.attributes(kind, address))
    names = dataclass_fields(objects, kind)
    parts = [
        "{}={}".format(
            name,
            fields[name].text if hasattr(fields[name], "text") else objects.text(fields[name], depth + 1),
        )
        for name in names
        if name in fields
    ]
    return "{}({})".format(kind.qualname, ", ".join(parts))


def dataclass_fields(objects, kind):
    """The names in ``__dataclass_fields__`` of the class or of its nearest base that has them; None without."""
    for base in objects.types.base_addresses(kind):
        table = objects.memory.pointer(base + objects.layout.tp_dict)
        fields = objects.tables.get(table, "__dataclass_fields__") if table else None
        if fields:
            return [objects.strings.text(key, MAX_NAME) for key, _ in objects.tables.items(fields, 0, 1000)]
    return None


BY_FLAG = (
    # (tp_flags bit, writer): subclasses are found by the same bit
    (L.INT, Writer("int", _int)),
    (L.STR, Writer("str", _str)),
    (L.BYTES, Writer("bytes", _bytes)),
    (L.LIST, Writer("list", _list, _list_elements, cycle="[...]")),
    (L.TUPLE, Writer("tuple", _tuple, _tuple_elements, cycle="(...)")),
    (L.DICT, Writer("dict", _dict, _dict_elements, cycle="{...}")),
    (L.EXCEPTION, Writer("exception", _exception, _exception_elements)),
    (L.TYPE, Writer("type", _type)),
)

BY_NAME = {
    # tp_name of the type or of one of its bases
    "float": Writer("float", _float),
    "complex": Writer("complex", _complex),
    "bytearray": Writer("bytes", _bytearray),
    "NoneType": Writer("none", _constant("None")),
    "ellipsis": Writer("object", _constant("Ellipsis")),
    "NotImplementedType": Writer("object", _constant("NotImplemented")),
    "set": Writer("set", _set, _set_elements, cycle="set(...)"),
    "frozenset": Writer("set", _set, _set_elements, cycle="frozenset(...)"),
    "function": Writer("function", _function),
    "builtin_function_or_method": Writer("function", _builtin),
    "method": Writer("function", _method, container=True),
    "module": Writer("module", _module),
    "range": Writer("range", _three("range"), container=True),
    "slice": Writer("slice", _three("slice"), container=True),
    "collections.deque": Writer("list", _deque, _deque_elements, cycle="[...]"),
    "mappingproxy": Writer("dict", _proxy, container=True),
    "cell": Writer("cell", _cell, container=True),
}

ENUM = Writer("enum", _enum, container=True)
DATACLASS = Writer("object", _dataclass, container=True)


def find_writer(objects, kind):
    """The :class:`Writer` for objects of ``kind``; None for a type that is only a class with fields."""
    if kind.heap and _is_enum(objects, kind):
        return ENUM
    for base in kind.bases:
        if base in BY_NAME:
            return BY_NAME[base]
    for flag, writer in BY_FLAG:
        if kind.has(flag):
            return writer
    if kind.heap and dataclass_fields(objects, kind):
        return DATACLASS
    return None


def _is_enum(objects, kind):
    meta = objects.types.read(objects.memory.pointer(kind.address + objects.layout.ob_type))
    return "EnumType" in meta.bases or "EnumMeta" in meta.bases
