"""How Python's numbers, texts, sequences, sets, functions and modules are written."""

from dualdbg_shared import cpython as L
from dualdbg_shared import object_text

from ..errors import Implausible
from .names import MAX_NAME
from .records import field_names, is_enum
from .writer import Writer, builtin_name, index_child, member, name_text, quoted, size, tuple_items


def _int(objects, kind, address, depth):
    if kind.is_exactly("bool"):
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


def _list_items(objects, address, start, count):
    first = objects.memory.pointer(address + objects.layout.list_items)
    return objects.memory.words(first + 8 * start, count) if count else ()


def _list(objects, kind, address, depth):
    total = size(objects, address)
    items = _list_items(objects, address, 0, objects.shown(total))
    return objects.sequence(items, total, depth, "[", "]")


def _list_elements(objects, kind, address):
    return index_child(objects), lambda s, n: _list_items(objects, address, s, n), size(objects, address)


def _tuple(objects, kind, address, depth):
    total = size(objects, address)
    items = tuple_items(objects, address, 0, objects.shown(total))
    name, fields = field_names(objects, kind, total)
    if fields is not None:
        parts = [f"{f}={objects.text(a, depth + 1)}" for f, a in zip(fields, items)]
        return "{}({})".format(name, ", ".join(parts))
    if kind.is_exactly("torch.Size"):
        return objects.sequence(items, total, depth, "torch.Size([", "])")
    return objects.sequence(items, total, depth, "(", ")", single=",")


def _tuple_elements(objects, kind, address):
    return index_child(objects), lambda s, n: tuple_items(objects, address, s, n), size(objects, address)


def _set(objects, kind, address, depth):
    total = objects.tables.set_used(address)
    if not total:
        return f"{kind.name}()"
    members = objects.tables.members(address, 0, objects.shown(total))
    text = objects.sequence(members, total, depth, "{", "}")
    return text if kind.is_exactly("set") else f"{kind.name}({text})"


def _set_again(objects, kind, address):
    return f"{kind.name}(...)"


def _set_elements(objects, kind, address):
    return (
        index_child(objects),
        lambda s, n: objects.tables.members(address, s, n),
        objects.tables.set_used(address),
    )


def _exception(objects, kind, address, depth):
    args = objects.memory.pointer(address + objects.layout.exception_args)
    if not args:
        return f"{kind.name}()"
    total = size(objects, args)
    items = tuple_items(objects, args, 0, objects.shown(total))
    return objects.sequence(items, total, depth, kind.name + "(", ")")


def _exception_elements(objects, kind, address):
    args = objects.memory.pointer(address + objects.layout.exception_args)
    return (
        index_child(objects),
        lambda s, n: tuple_items(objects, args, s, n),
        size(objects, args) if args else 0,
    )


def _type(objects, kind, address, depth):
    found = objects.types.read(address)
    is_of_enums = is_enum(objects, found)
    is_flag = is_of_enums and any(base.is_exactly("class enum.Flag") for base in objects.types.mro(found))
    names = found.module, found.name, found.qualname
    return object_text.class_text(*names, is_of_enums, is_flag, objects.minor)


def _function(objects, kind, address, depth):
    name = objects.memory.pointer(address + objects.layout.func_qualname)
    return f"<function {objects.strings.text(name, MAX_NAME)} at 0x{address:x}>"


def _builtin(objects, kind, address, depth):
    name, owner = builtin_name(objects, address), member(objects, address, 8)
    if owner and not objects.types.of(owner).derives_from("module"):
        return f"<built-in method {name} of {objects.types.of(owner).full_name} object at 0x{owner:x}>"
    return f"<built-in function {name}>"


def _method(objects, kind, address, depth):
    function, owner = objects.memory.words(address + objects.layout.head, 2)
    return f"<bound method {_qualified_name(objects, function)} of {objects.text(owner, depth + 1)}>"


def _qualified_name(objects, address):
    """The ``__qualname__`` of what a method is bound to, else its ``__name__``; "?" where there is none."""
    kind = objects.types.of(address)
    if kind.is_exactly("function"):
        return name_text(objects, objects.memory.pointer(address + objects.layout.func_qualname))
    if kind.derives_from("builtin_function_or_method"):
        name, owner = builtin_name(objects, address), member(objects, address, 8)
        if not owner or objects.types.of(owner).derives_from("module"):
            return name
        of = objects.types.of(owner)
        return f"{(objects.types.read(owner) if of.has(L.TYPE) else of).qualname}.{name}"
    if kind.has(L.TYPE):
        return objects.types.read(address).qualname
    fields = dict(objects.attributes(kind, address))
    names = [fields.get(key) for key in ("__qualname__", "__name__")]
    return next(
        (name_text(objects, at) for at in names if isinstance(at, int) and objects.types.of(at).has(L.STR)),
        "?",
    )


def _three(name):
    def write(objects, kind, address, depth):
        parts = [objects.text(a, depth + 1) for a in objects.memory.words(address + objects.layout.head, 3)]
        if name == "range" and parts[2] == "1":
            parts.pop()
        return "{}({})".format(name, ", ".join(parts))

    return write


DEQUE_BLOCK = 64  # BLOCKLEN, Modules/_collectionsmodule.c


def deque_items(objects, address, start, count):
    """The addresses of ``count`` elements of a ``collections.deque`` from number ``start`` on. Raises Implausible."""
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
    total = size(objects, address)
    items = deque_items(objects, address, 0, objects.shown(total))
    text = objects.sequence(items, total, depth, "[", "]")
    longest = objects.memory.i64(address + objects.layout.var_head + 40)
    return "{}({}{})".format(kind.name, text, f", maxlen={longest}" if longest >= 0 else "")


def _deque_elements(objects, kind, address):
    return index_child(objects), lambda s, n: deque_items(objects, address, s, n), size(objects, address)


def _cell(objects, kind, address, depth):
    inner = objects.memory.pointer(address + objects.layout.head)
    return "<cell at 0x{:x}: {}>".format(address, objects.text(inner, depth + 1) if inner else "empty")


BY_FLAG = (
    # (tp_flags bit, writer): subclasses are found by the same bit
    (L.INT, Writer("int", _int)),
    (L.STR, Writer("str", _str)),
    (L.BYTES, Writer("bytes", _bytes)),
    (L.LIST, Writer("list", _list, _list_elements, cycle="[...]")),
    (L.TUPLE, Writer("tuple", _tuple, _tuple_elements, cycle="(...)")),
    (L.EXCEPTION, Writer("exception", _exception, _exception_elements)),
    (L.TYPE, Writer("type", _type)),
)

BY_NAME = {
    # name in Type.lineage: writer
    "float": Writer("float", _float),
    "complex": Writer("complex", _complex),
    "bytearray": Writer("bytes", _bytearray),
    "NoneType": Writer("none", _constant("None")),
    "ellipsis": Writer("object", _constant("Ellipsis")),
    "NotImplementedType": Writer("object", _constant("NotImplemented")),
    "set": Writer("set", _set, _set_elements, cycle=_set_again),
    "frozenset": Writer("set", _set, _set_elements, cycle=_set_again),
    "function": Writer("function", _function),
    "builtin_function_or_method": Writer("function", _builtin),
    "method": Writer("function", _method, container=True),
    "range": Writer("range", _three("range"), container=True),
    "slice": Writer("slice", _three("slice"), container=True),
    "collections.deque": Writer("list", _deque, _deque_elements, cycle="[...]"),
    "cell": Writer("cell", _cell, container=True),
}
