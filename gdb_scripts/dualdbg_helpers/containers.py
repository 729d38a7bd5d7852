"""What C++ maps have under a key, and what other types hold, from their layout: no function of the program is called.

The layouts are those of libstdc++, libc++, Eigen and PyTorch.
"""

import itertools
import re

import gdb
from dualdbg_shared.patience import factor

from . import in_time, language, libcxx, sequences
from .sequences import has, member, name_of

MAX_SECONDS = 10.0 * (factor() or 1.0)  # for one key of a map, which is searched entry by entry

_STD = r"^std::(?:__\w+::)*"
_STRING = re.compile(_STD + "basic_string<char")
_VIEW = re.compile(_STD + "basic_string_view<char")
_OPTIONAL = re.compile(_STD + "optional<")
_NODES = re.compile(_STD + r"((?:unordered_)?(?:multi)?(map|set)|(?:forward_)?list)<")
# Classes that stand for a pointer or a number, and the member that is it.
_HELD = tuple(
    (re.compile(name), paths)
    for name, paths in (
        (_STD + "(?:shared_ptr|weak_ptr|__shared_ptr)<", ("_M_ptr", "__ptr_")),
        (
            "^(?:std|__gnu_cxx)::(?:__\\w+::)*(?:__normal_iterator|__wrap_iter)<",
            ("_M_current", "__i_", "__i"),
        ),
        (
            _STD + r"(?:atomic<|__atomic_base<|atomic_\w+$)",
            ("_M_i", "_M_b._M_i", "_M_b._M_p", "_M_base._M_i", "_M_fp", "__a_.__a_value"),
        ),
        ("^c10::(?:weak_)?intrusive_ptr<", ("target_",)),
    )
)
_UNIQUE = re.compile(_STD + "unique_ptr<")
# Iterators of nodes: the member with the node, and where in that its value begins.
_ITERATORS = tuple(
    (re.compile(_STD + name), path, offset)
    for name, path, offset in (
        (r"_Rb_tree_(?:const_)?iterator<", "_M_node", 32),
        (r"_List_(?:const_)?iterator<", "_M_node", 16),
        (r"_Node_(?:const_)?iterator<", "_M_cur", 8),
        (r"__tree_(?:const_)?iterator<", "__ptr_", 25),
        (r"__list_(?:const_)?iterator<", "__ptr_", 16),
        (r"__hash_(?:const_)?iterator<", "__node_", 16),
    )
)
_OF_ITERATOR = re.compile(
    _STD + r"__(?:hash_)?map_(?:const_)?iterator<"
)  # libc++'s have one of those in them
_PAIR = re.compile(_STD + r"__(?:hash_)?value_type<")  # libc++'s, with the pair in it
_COUNTS = (
    "_M_t._M_impl._M_node_count", "_M_h._M_element_count", "_M_impl._M_node._M_size", "__tree_.__pair3_.__value_",
    "__tree_.__size_", "__table_.__p2_.__value_", "__table_.__size_", "__size_alloc_.__value_", "__size_",
)  # fmt: skip
_POINTER = 8  # bytes


# -- nodes -----------------------------------------------------------------------------------------


def is_map(value):
    """Whether a value is a map of any kind."""
    match = _NODES.match(name_of(value))
    return match is not None and match.group(2) == "map"


def _values(value):
    """What a map, a set or a list has, in its order; of a map something with ``first`` and ``second``."""
    if libcxx.name_of(value) in libcxx.NODES:
        for found in libcxx.Nodes(value).entries():
            yield found[0] if len(found) == 1 else dict(zip(("first", "second"), found))
        return
    kind = re.sub(r"^std::(?:__\w+::)*", "", name_of(value)).partition("<")[0]
    if kind.endswith("list"):
        type_, (addresses, offset) = value.type.strip_typedefs().template_argument(0), _list_nodes(value)
    elif kind.startswith("unordered"):
        type_ = member(value, "_M_h").type.strip_typedefs().template_argument(1)
        addresses, offset = _chain(int(value["_M_h"]["_M_before_begin"]["_M_nxt"]), 0, 0), 8
    else:
        type_ = member(value, "_M_t").type.strip_typedefs().template_argument(1)
        end = int(value["_M_t"]["_M_impl"]["_M_header"].address)
        addresses, offset = _tree(_word(end + 16), end), 32
    for address in addresses:
        yield _inside(address, offset, type_)


def _list_nodes(value):
    if has(value, "_M_impl._M_head"):
        return _chain(int(value["_M_impl"]["_M_head"]["_M_next"]), 0, 0), 8
    if has(value, "__before_begin_"):
        paths = "__before_begin_.__value_.__next_", "__before_begin_.__next_"
        return _chain(int(member(value, *paths)), 0, 0), 8
    end = int(member(value, "_M_impl._M_node").address)
    return _chain(_word(end), end, 0), 16


def _inside(node, offset, type_):
    """What lies in a node behind so many bytes of its own."""
    alignment = type_.strip_typedefs().alignof or 1
    place = node + (offset + alignment - 1) // alignment * alignment
    return gdb.Value(place).cast(type_.pointer()).dereference()


def _word(address):
    return int.from_bytes(bytes(gdb.selected_inferior().read_memory(address, _POINTER)), "little")


def _chain(node, end, at):
    while node not in (0, end):
        yield node
        node = _word(node + at)


def _tree(node, end):
    """The nodes of a binary tree of libstdc++ in their order."""
    parent, left, right = 8, 16, 24
    while node not in (0, end):
        yield node
        if _word(node + right):
            node = _word(node + right)
            while _word(node + left):
                node = _word(node + left)
        else:
            while node == _word((above := _word(node + parent)) + right) and above != end:
                node = above
            node = above


def entry(value, key):
    """What a map has under a key, which is a value or bytes. Raises GdbError when there is none."""
    found, count, is_late = _search(value, key)
    if found is None and is_late:
        raise gdb.GdbError(
            f"{_written(key)} is not among the first {count} keys; more takes too long to read"
        )
    if found is None:
        raise gdb.GdbError(f"there is no key {_written(key)}: the map has {count}")
    return found["second"]


def _search(value, key):
    """``(the element with a key, how many were looked at, whether the time was up)``."""
    wanted, count, of_map = None, 0, is_map(value)

    def search():
        nonlocal wanted, count
        for one in _values(value):
            its_key = one["first"] if of_map else one
            as_read = text if is_text(its_key) else _number
            wanted = wanted if count else as_read(key)
            count += 1
            if as_read(its_key) == wanted:
                return one
        return None

    found, is_late = in_time.within(search, MAX_SECONDS)
    return found, count, is_late


def _written(key):
    return '"%s"' % key.decode(errors="replace") if isinstance(key, bytes) else key.format_string()


# -- texts -----------------------------------------------------------------------------------------


def is_string(value):
    """Whether a value is a ``std::string``."""
    return isinstance(value, gdb.Value) and bool(_STRING.match(name_of(value)))


def is_text(value):
    """Whether a value is a ``std::string`` or a view of one; or a reference to it."""
    if not isinstance(value, gdb.Value):
        return False
    if value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        value = value.referenced_value()
    return is_string(value) or bool(_VIEW.match(name_of(value)))


def text(value):
    """The bytes of a string, a view of one, or a C string; None for a null pointer. Raises GdbError for others."""
    if isinstance(value, bytes):
        return value
    if not isinstance(value, gdb.Value):
        raise gdb.GdbError("this is no text")
    type_ = value.type.strip_typedefs()
    if type_.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return text(value.referenced_value())
    if is_text(value):
        first, length = _characters(value)
        return bytes(gdb.selected_inferior().read_memory(int(first), length)) if length else b""
    is_pointer = type_.code == gdb.TYPE_CODE_PTR
    inner = type_.target().strip_typedefs() if is_pointer or type_.code == gdb.TYPE_CODE_ARRAY else None
    if inner is None or inner.sizeof != 1:
        raise gdb.GdbError(f"a value of the type {value.type} is no text")
    if is_pointer and not int(value):
        return None
    return value.string("latin-1").encode("latin-1")


def _characters(value):
    """Where the characters of a string or a view begin, as a pointer, and how many there are."""
    if not is_string(value):
        view = sequences.of(value)
        return view.first, view.size
    if has(value, "_M_dataplus"):
        first = value["_M_dataplus"]["_M_p"]
        if has(value, "_M_string_length"):
            return first, int(value["_M_string_length"])
        return first, int(first.cast(language.find_type("unsigned long").pointer())[-3])
    parts = member(value, "__rep_", "__r_.__value_")
    short, size = parts["__s"], int(parts["__s"]["__size_"])
    if has(short, "__is_long_"):
        is_long = bool(short["__is_long_"])
    else:  # before LLVM 15
        is_long, size = bool(size & 1), size >> 1
    if is_long:
        return parts["__l"]["__data_"], int(parts["__l"]["__size_"])
    data = short["__data_"]
    return data.address.cast(data.type.target().pointer()), size


def character(value, index):
    """``text[index]`` of a ``std::string``; the NUL behind it can be read too."""
    first, length = _characters(value)
    if not 0 <= index <= length:
        raise gdb.GdbError(f"there is no character {index}: it has {length}")
    return first[index]


def _number(value):
    if isinstance(value, bytes):
        raise gdb.GdbError("its keys are no strings")
    type_ = value.type.strip_typedefs()
    if type_.code == gdb.TYPE_CODE_FLT:
        return float(value)
    if type_.code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION, gdb.TYPE_CODE_ARRAY):
        raise gdb.GdbError(f"a key of the type {value.type} cannot be compared without running code")
    return int(value)


# -- what stands for another value, optional, variant, tuple ---------------------------------------


def held(value):
    """The pointer in a smart pointer or an iterator, the number in an atomic one; None of other types."""
    if _OF_ITERATOR.match(name_of(value)):
        value = value["__i_"]
    name = name_of(value)
    for pattern, paths in _HELD:
        if pattern.match(name):
            return member(value, *paths)
    for pattern, path, _ in _ITERATORS:
        if pattern.match(name):
            return value[path]
    if not _UNIQUE.match(name):
        return None
    if has(value, "__ptr_"):
        return member(value, "__ptr_.__value_", "__ptr_")
    tuple_ = member(value, "_M_t._M_t", "_M_t")
    head = tuple_.type.strip_typedefs().fields()[0].type.fields()[-1].type  # the base with the first element
    return tuple_.cast(head)["_M_head_impl"]


def pointee(value):
    """What a smart pointer or an iterator points to; None of other types."""
    if _OF_ITERATOR.match(name_of(value)):
        value = value["__i_"]
    for pattern, path, offset in _ITERATORS:
        if pattern.match(name_of(value)):
            type_ = value.type.strip_typedefs().template_argument(0).strip_typedefs()
            if type_.code == gdb.TYPE_CODE_PTR:  # to a node
                type_ = type_.target().strip_typedefs().template_argument(0).strip_typedefs()
            if _PAIR.match(type_.name or ""):
                type_ = type_.fields()[0].type
            return _inside(int(value[path]), offset, type_)
    pointer = held(value)
    if pointer is None or pointer.type.strip_typedefs().code != gdb.TYPE_CODE_PTR:
        return None
    return pointer.dereference()


def is_optional(value):
    """Whether a value is a ``std::optional``."""
    return bool(_OPTIONAL.match(name_of(value)))


def has_value(value):
    """Whether there is a value in a ``std::optional``."""
    return bool(member(value, "_M_payload._M_engaged", "__engaged_"))


def content(value):
    """What is in a ``std::optional``. Raises GdbError when it is empty."""
    if not has_value(value):
        raise gdb.GdbError("it is std::nullopt: there is no value in it")
    return member(value, "_M_payload._M_payload._M_value", "_M_payload._M_payload", "__val_")


def method(value, name, arguments):
    """What a method returns that only looks, from the layout; None for one that is not known of this class."""
    if is_optional(value):
        known = {"value": content, "has_value": lambda one: _as("bool", has_value(one))}
        return known[name](value) if name in known and not arguments else None
    if name == "load":
        return held(value)
    if is_text(value):
        first, size = _characters(value)
        elements = sequences.Row(first, size)
    else:
        elements = sequences.of(value)
    if elements is None:
        return _of_nodes(value, name, arguments) if _NODES.match(name_of(value)) else None
    if name == "at" and len(arguments) == 1:
        return elements.element(int(arguments[0]))
    if arguments:
        return None
    if name in ("size", "length"):
        return _as("unsigned long", elements.size)
    if name == "empty":
        return _as("bool", elements.size == 0)
    if name in ("front", "back"):
        return elements.element(0 if name == "front" else elements.size - 1)
    if name in ("data", "c_str", "begin", "end") and isinstance(elements, sequences.Row):
        first = elements.first
        if first is not None and first.type.strip_typedefs().code == gdb.TYPE_CODE_ARRAY:
            first = first[0].address
        return first + elements.size if name == "end" else first
    return None


def _of_nodes(value, name, arguments):
    if name == "at" and is_map(value):
        return entry(value, *arguments)
    if name in ("contains", "count") and len(arguments) == 1 and "multi" not in name_of(value):
        found, count, is_late = _search(value, arguments[0])
        if found is None and is_late:
            raise gdb.GdbError(f"not among the first {count}; more takes too long to read")
        return _as("bool" if name == "contains" else "unsigned long", found is not None)
    if arguments:
        return None
    if name == "size":
        return _as("unsigned long", int(member(value, *_COUNTS)))
    if name == "empty" or (name == "front" and not is_map(value)):
        first = next(_values(value), None)
        if name == "front" and first is None:
            raise gdb.GdbError("it is empty")
        return first if name == "front" else _as("bool", first is None)
    if name == "back" and not is_map(value):
        last, _ = in_time.within(lambda: [None, *itertools.islice(_values(value), 1 << 20)][-1])
        return last
    return None


def _as(type_, number):
    return gdb.Value(number).cast(language.find_type(type_))


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
