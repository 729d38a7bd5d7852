"""What C++ maps have under a key, and what other types hold, from their layout: no function of the program is called.

The layouts are those of libstdc++, Eigen and PyTorch; the entries of maps are found by GCC's own printers.
"""

import ast
import re

import gdb
from dualdbg_shared.patience import factor

from . import in_time, language, libcxx
from .sequences import name_of

MAX_SECONDS = 10.0 * (factor() or 1.0)  # for one key of a map, which is searched entry by entry

_STRING = re.compile(r"^std::(?:__\w+::)?basic_string<char")
_VIEW = re.compile(r"^std::(?:__\w+::)?basic_string_view<char")


# -- maps ------------------------------------------------------------------------------------------


def entry(value, argument):
    """What a map has under the key that the expression ``argument`` means. Raises GdbError when there is none."""
    printer = gdb.default_visualizer(value)
    if printer is None or not hasattr(printer, "children"):
        raise gdb.GdbError("the layout of this map is not known: GCC's printers for gdb are not installed")
    wanted, count, children = _wanted(argument), 0, iter(printer.children())

    def search():
        nonlocal count
        for (_, key), (_, child) in zip(children, children):
            count += 1
            if _key(key, wanted) == wanted:
                return child
        return None

    found, is_late = in_time.within(search, MAX_SECONDS)
    if is_late and found is None:
        raise gdb.GdbError(f"{argument} is not among the first {count} keys; more takes too long to read")
    if found is None:
        raise gdb.GdbError(f"there is no key {argument}: the map has {count}")
    return found


def _wanted(argument):
    """The key as bytes or as a number."""
    if argument.startswith('"'):
        try:
            return ast.literal_eval(argument).encode("utf-8", "surrogateescape")
        except (SyntaxError, ValueError):
            raise gdb.GdbError(f"{argument} is no string") from None
    value = language.evaluate_for_user(argument)
    text = _text(value)
    return _number(value) if text is None else text


def _key(key, wanted):
    if isinstance(wanted, bytes):
        text = _text(key)
        if text is None:
            raise gdb.GdbError(f"keys of the type {key.type} are no strings")
        return text
    return _number(key)


def _text(value):
    """The bytes of a string, a view of one, or a C string; None for other types."""
    name = name_of(value)
    row = libcxx.elements(value)
    if row is not None:
        pointer, length = row
    elif _STRING.match(name):
        pointer = value["_M_dataplus"]["_M_p"]
        length = (
            int(value["_M_string_length"])
            if "__cxx11" in name
            else int(pointer.cast(language.find_type("unsigned long").pointer())[-3])
        )
    elif _VIEW.match(name):
        pointer, length = value["_M_str"], int(value["_M_len"])
    else:
        type_ = value.type.strip_typedefs()
        inner = type_.target().strip_typedefs() if type_.code == gdb.TYPE_CODE_PTR else None
        if inner is None or inner.sizeof != 1:
            return None
        return value.string("latin-1").encode("latin-1")
    return bytes(gdb.selected_inferior().read_memory(int(pointer), length)) if length else b""


def is_string(value):
    """Whether a value is a ``std::string``."""
    return bool(_STRING.match(name_of(value)))


def character(value, index):
    """``text[index]`` of a ``std::string``; the NUL behind it can be read too."""
    length = int(value["_M_string_length"]) if "__cxx11" in name_of(value) else index
    if not 0 <= index <= length:
        raise gdb.GdbError(f"there is no character {index}: it has {length}")
    return value["_M_dataplus"]["_M_p"][index]


def length(value):
    """The size of a string as a :class:`gdb.Value`."""
    return gdb.Value(len(_text(value)))


def _number(value):
    type_ = value.type.strip_typedefs()
    if type_.code == gdb.TYPE_CODE_FLT:
        return float(value)
    if type_.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY):
        raise gdb.GdbError(f"a key of the type {value.type} cannot be compared without running code")
    return int(value)


# -- optional, variant, tuple ----------------------------------------------------------------------


def content(value):
    """What is in a ``std::optional``. Raises GdbError when it is empty."""
    payload = value["_M_payload"]
    if not payload["_M_engaged"]:
        raise gdb.GdbError("it is std::nullopt: there is no value in it")
    inner = payload["_M_payload"]
    names = [field.name for field in inner.type.strip_typedefs().fields()]
    return inner["_M_value"] if "_M_value" in names else inner


def part(value, what):
    """``std::get<what>`` of a variant, tuple, pair or array; ``what`` is an index or the name of a type."""
    name = name_of(value)
    if name.startswith("std::pair<"):
        return value[{"0": "first", "1": "second"}.get(what, what)]
    if name.startswith("std::variant<"):
        return _alternative(value, what)
    if name.startswith("std::array<"):
        count = int(value.type.strip_typedefs().template_argument(1))
        children = [value["_M_elems"][index] for index in range(count)]
    else:
        printer = gdb.default_visualizer(value)
        children = [child for _, child in printer.children()] if printer is not None else []
    if not what.isdigit() or int(what) >= len(children):
        raise gdb.GdbError(f"there is no element {what} in this {name.partition('<')[0]}")
    return children[int(what)]


def _alternative(value, what):
    types = _template_types(value.type.strip_typedefs())
    wanted = int(what) if what.isdigit() else _index_of_type(types, what)
    held = int(value["_M_index"])
    if held != wanted:
        there = "nothing" if held >= len(types) else f"alternative {held}, {types[held]}"
        raise gdb.GdbError(f"the variant holds {there}")
    union = value["_M_u"]
    for _ in range(wanted):
        union = union["_M_rest"]
    storage = union["_M_first"]["_M_storage"]
    return storage.address.cast(types[wanted].pointer()).dereference()


def _template_types(type_):
    types = []
    while True:
        try:
            types.append(type_.template_argument(len(types)))
        except (RuntimeError, gdb.error):
            return types


def _index_of_type(types, name):
    wanted = language.find_type(name).strip_typedefs()
    for index, type_ in enumerate(types):
        if type_.strip_typedefs() == wanted:
            return index
    raise gdb.GdbError(f"{name} is no alternative of this variant")


# -- matrices and tensors --------------------------------------------------------------------------


def matrix_shape(value):
    """Rows and columns of an ``Eigen::Matrix`` or ``Eigen::Array``."""
    type_, storage = value.type.strip_typedefs(), value["m_storage"]
    return [
        int(type_.template_argument(at)) if int(type_.template_argument(at)) >= 0 else int(storage[member])
        for at, member in ((1, "m_rows"), (2, "m_cols"))
    ]


def coefficient(value, indices):
    """``a(row, column)`` or ``a(index)`` of an ``Eigen::Matrix`` or ``Eigen::Array``."""
    type_ = value.type.strip_typedefs()
    storage = value["m_storage"]
    rows, columns = matrix_shape(value)
    by_row = int(type_.template_argument(3)) & 1
    if len(indices) == 2:
        row, column = indices
        if not (0 <= row < rows and 0 <= column < columns):
            raise gdb.GdbError(f"({row}, {column}) is not in this matrix: it is {rows} x {columns}")
        place = row * columns + column if by_row else column * rows + row
    else:
        (place,) = indices
        if not 0 <= place < rows * columns:
            raise gdb.GdbError(f"there is no element {place}: it has {rows * columns}")
    data = storage["m_data"]
    if data.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT:
        data = data["array"]
    return data[place]


def accessed(value, indices):
    """``a[i][j]`` of an ``at::TensorAccessor``: as many indices as it has dimensions."""
    offset = 0
    for dimension, index in enumerate(indices):
        size = int(value["sizes_"][dimension])
        if not 0 <= index < size:
            raise gdb.GdbError(f"index {index} is not in dimension {dimension}: its size is {size}")
        offset += index * int(value["strides_"][dimension])
    return value["data_"][offset]


def dimensions(value):
    """How many dimensions an accessor has: the first of its template arguments that is a number."""
    type_, at = value.type.strip_typedefs(), 0
    while not isinstance(type_.template_argument(at), gdb.Value):
        at += 1
    return int(type_.template_argument(at))
