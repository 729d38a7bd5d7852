"""Numbers side by side in memory: ``array.array`` and ``memoryview``.

Sources: ``arrayobject`` in Modules/arraymodule.c, ``PyMemoryViewObject`` in Include/cpython/memoryobject.h.
"""

import struct

from ..errors import Implausible
from ..values import Value, join
from .writer import Writer, quoted, size

_CODES = {code: code for code in "bBhHiIqQfd"}
_CODES.update({"l": "q", "L": "Q"})  # 8 bytes on every system where dualdbg runs
_TEXTS = ("u", "w")  # arrays of characters, 4 bytes each
_MAX_DIMENSIONS = 64


def _type_code(objects, address):
    """The letter of the element's type: the first byte of ``ob_descr``."""
    code = chr(objects.memory.u8(objects.memory.pointer(address + objects.layout.var_head + 16)))
    if code not in _CODES and code not in _TEXTS:
        raise Implausible(f"no array at 0x{address:x}")
    return code


def _numbers(objects, address, code, start, count):
    form = _CODES[code]
    width = struct.calcsize("<" + form)
    first = objects.memory.pointer(address + objects.layout.var_head)
    return struct.unpack(f"<{count}{form}", objects.memory.read(first + width * start, width * count))


def _array(objects, kind, address, depth):
    total, code = size(objects, address), _type_code(objects, address)
    if not total:
        return f"{kind.name}('{code}')"
    if code in _TEXTS:
        count = min(total, objects.target.limits.max_string or total)
        raw = objects.memory.read(objects.memory.pointer(address + objects.layout.var_head), 4 * count)
        return f"{kind.name}('{code}', {quoted(_characters(raw), total)})"
    numbers = _numbers(objects, address, code, 0, objects.shown(total))
    return f"{kind.name}('{code}', {join(list(map(repr, numbers)), len(numbers), total, '[', ']')})"


def _characters(raw):
    """An array may hold numbers that are no characters, which the program could not read either."""
    try:
        return raw.decode("utf-32-le", "surrogatepass")
    except UnicodeDecodeError:
        return raw.decode("utf-32-le", "replace")


def _array_elements(objects, kind, address):
    code = _type_code(objects, address)

    def child(index, number):
        word = "float" if isinstance(number, float) else "int"
        return f"[{index}]", Value(word, repr(number), type=word)

    if code in _TEXTS:
        return child, lambda s, n: (), 0
    return child, lambda s, n: _numbers(objects, address, code, s, n), size(objects, address)


# -- memoryview ------------------------------------------------------------------------------------

_RELEASED = 1  # flags
# Behind the head of an object of variable size: managed buffer, hash, flags, exports, view.
_FLAGS, _VIEW = 16, 32


def _memoryview(objects, kind, address, depth):
    released = objects.memory.u32(address + objects.layout.var_head + _FLAGS) & _RELEASED
    return f"<released memory at 0x{address:x}>" if released else f"<memory at 0x{address:x}>"


def _view_facts(objects, kind, address):
    """What it is a view of: rows as if they were attributes."""
    memory, place = objects.memory, address + objects.layout.var_head
    if memory.u32(place + _FLAGS) & _RELEASED:
        return None
    start, owner, length, width = memory.words(place + _VIEW, 4)
    read_only, dimensions = memory.u32(place + _VIEW + 32), memory.u32(place + _VIEW + 36)
    form, shape, strides = memory.words(place + _VIEW + 40, 3)
    if dimensions > _MAX_DIMENSIONS:
        raise Implausible(f"no memoryview at 0x{address:x}")
    text = memory.c_string(form, 100).decode("latin-1") if form else "B"
    rows = [("obj", owner)] if owner else []
    rows += [
        ("format", Value("str", repr(text), type="str")),
        ("itemsize", Value("int", str(width), type="int")),
        ("nbytes", Value("int", str(length), type="int")),
        ("readonly", Value("bool", str(bool(read_only)), type="bool")),
        ("shape", Value("tuple", _tuple(memory, shape, dimensions), type="tuple")),
        ("strides", Value("tuple", _tuple(memory, strides, dimensions), type="tuple")),
        ("data", Value("int", f"0x{start:x}", type="address")),
    ]

    def child(index, row):
        name, what = row
        return name, what if isinstance(what, Value) else objects.leaf(what)

    return child, lambda s, n: rows[s : s + n], len(rows)


def _tuple(memory, place, count):
    return repr(tuple(memory.signed_words(place, count))) if place else "()"


BY_NAME = {
    "array.array": Writer("array", _array, _array_elements),
    "memoryview": Writer("memory", _memoryview, _view_facts),
}
