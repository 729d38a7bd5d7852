"""Where a call of a Python callable enters native code, read from the callable's object, which is not run.

Used by code that runs in the interpreter of these objects: the step's probe (dualdbg_probe.py) and ``dualdbg resolve``
(dualdbg_entries.py). Objects are read as the headers lay them out: CPython 3.8 and later, 64-bit, free-threaded builds
too. Imports nothing but ctypes and gc, because it may run in the middle of a user's program.
"""

from __future__ import annotations

import ctypes
import gc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Mapping = tuple[int, int, str, int, str]
    IsCode = Callable[[int], bool]
    Reader = Callable[[Any, IsCode], "Native"]

HEAD = object.__basicsize__  # sizeof(PyObject): 16 bytes, 32 in free-threaded builds
WORD = 8

# Flags of a type (Include/object.h).
HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: made at run time, by a class statement or by C code
HAVE_VECTORCALL = 1 << 11  # Py_TPFLAGS_HAVE_VECTORCALL

# Places in a PyTypeObject behind ob_size, in words: Include/cpython/object.h, unchanged since 3.8.
TYPE_SLOTS = {
    "getattr": 5,
    "setattr": 6,
    "repr": 8,
    "hash": 12,
    "call": 13,
    "str": 14,
    "getattro": 15,
    "setattro": 16,
    "richcompare": 22,
    "iter": 24,
    "iternext": 25,
    "descr_get": 31,
    "init": 34,
    "new": 36,
}
VECTORCALL_OFFSET = 4  # the place of tp_vectorcall_offset
# The tables that a type points to (tp_as_async, tp_as_number, tp_as_sequence, tp_as_mapping) and their lengths.
TYPE_TABLES = {7: 4, 9: 36, 10: 10, 11: 3}

# pybind11::detail::function_record, in words (include/pybind11/attr.h): name, doc, signature, the vector of arguments,
# impl, data[3], free_data, flags and counts in one or two words, def, scope, sibling, next. The right one of the two
# has the Python function's own ``def`` at its place. Where neither has, the layout is not believed.
RECORD_SIGNATURE, RECORD_IMPL, RECORD_DATA = 2, 6, 7
RECORD_DEFS, RECORD_NEXT_BEHIND_DEF = (12, 13), 3
# The type of the object that holds the record, pybind11 3.0 and later.
RECORD_OWNER = "pybind11_detail_function_record"
MAX_OVERLOADS = 200

# nanobind: an nb_func is as large as its type says, then comes a func_data for each overload, whose size is the
# type's item size: capture[3], free_capture, impl, ... in words (src/nb_internals.h).
NANOBIND_IMPL = 4
NANOBIND_FUNCTION = "nanobind function"


class UnknownCallable(TypeError):
    """An object that native code does not call, or whose layout is not known."""


class Entry:
    """One native function behind a callable: its absolute address, and the signature that the binding layer tells.

    ``role`` is ``get``, ``set``, ``vectorcall``, the name of a type slot, or one of these:

    - ``function``: the code itself
    - ``captured``: the function of the next entry, a caster, if that takes a function pointer
    - ``caster``: unpacks the arguments for one overload
    - ``dispatcher``: shared by many callables
    """

    __slots__ = ("address", "role", "signature")

    def __init__(self, role: str, address: int, signature: str | None = None) -> None:
        self.role = role
        self.address = address
        self.signature = signature


class Native:
    """What a call of a callable enters: ``kind`` says for people what the callable is."""

    __slots__ = ("entries", "kind")

    def __init__(self, kind: str, *entries: Entry) -> None:
        self.kind = kind
        self.entries = [entry for entry in entries if entry.address]


def native_of(value: Any, is_code: IsCode) -> Native:
    """The entries of a callable that is neither a class nor written in Python.

    ``is_code`` says whether native code that counts is at an address. Raises :class:`UnknownCallable`.
    """
    reader = reader_of(value)
    return of_object(value) if reader is None else reader(value, is_code)


def reader_of(value: Any) -> Reader | None:
    """The function that reads objects of this type; None for types of neither interpreter nor binding layer."""
    kind = type(value)
    if is_fused(kind):
        return of_fused
    if not is_made_by_c(kind) or is_class(value):
        return None
    if kind.__module__ == "nanobind":
        return of_nanobind if kind.__itemsize__ else None  # without items: a bound method
    if CYTHON_FUNCTION in kind.__name__:
        return of_cython
    return None if kind.__flags__ & HEAP_TYPE else READERS.get(kind.__name__)


def is_made_by_c(kind: type) -> bool:
    """False for a class of the program, which may have the same name as a type that is read here.

    They are heap types without vectorcall. The interpreter's own are no heap types, and the functions of binding
    layers have vectorcall.
    """
    return kind.__flags__ & (HEAP_TYPE | HAVE_VECTORCALL) != HEAP_TYPE


def of_builtin(value: Any, is_code: IsCode) -> Native:
    definition = word(id(value) + HEAD)
    dispatcher = word(definition + WORD)
    records = pybind11_records(value)
    if not records:
        return Native("built-in function", Entry("function", dispatcher))
    found = []
    for record in records:
        signature = text(word(record + WORD * RECORD_SIGNATURE))
        target = word(record + WORD * RECORD_DATA)
        # A plain function pointer lies in the record itself; a lambda's body is part of the caster.
        if is_code(target):
            found.append(Entry("function", target, signature))
        found.append(Entry("caster", word(record + WORD * RECORD_IMPL), signature))
    return Native("pybind11 function", *found, Entry("dispatcher", dispatcher))


def of_cython(value: Any, is_code: IsCode) -> Native:
    return Native("Cython function", Entry("function", word(word(id(value) + HEAD) + WORD)))


def of_fused(value: Any, is_code: IsCode) -> Native:
    """Of a function of Cython's fused types: the function for each combination of them."""
    functions = list((value.__signatures__ or {}).values())
    return Native(
        "Cython function", *[entry for one in functions for entry in of_cython(one, is_code).entries]
    )


def is_fused(kind: type) -> bool:
    """Whether this is Cython's type of functions of fused types, which it derives from its type of functions."""
    return kind.__name__ == FUSED_FUNCTION and CYTHON_FUNCTION in kind.__mro__[1].__name__


def of_method_descriptor(value: Any, is_code: IsCode) -> Native:
    definition = word(id(value) + HEAD + 3 * WORD)
    return Native("method of a built-in type", Entry("function", word(definition + WORD)))


def of_getset(value: Any, is_code: IsCode) -> Native:
    definition = word(id(value) + HEAD + 3 * WORD)
    return Native(
        "attribute of a built-in type",
        Entry("get", word(definition + WORD)),
        Entry("set", word(definition + 2 * WORD)),
    )


def of_slot(value: Any, is_code: IsCode) -> Native:
    return Native("type slot", Entry(value.__name__, word(id(value) + HEAD + 4 * WORD)))


def of_bound_slot(value: Any, is_code: IsCode) -> Native:
    return Native("type slot", Entry(value.__name__, word(word(id(value) + HEAD) + HEAD + 4 * WORD)))


def of_member(value: Any, is_code: IsCode) -> Native:
    raise UnknownCallable("a field of a C structure: no function reads it")


def of_nanobind(value: Any, is_code: IsCode) -> Native:
    kind = type(value)
    found = []
    for number in range(word(id(value) + HEAD)):
        record = id(value) + kind.__basicsize__ + number * kind.__itemsize__
        capture, impl = word(record), word(record + NANOBIND_IMPL * WORD)
        if not is_code(impl):
            raise UnknownCallable("the functions of this nanobind are laid out in a way that is not known")
        if is_code(capture):  # a lambda without captures leaves stale values there
            found.append(Entry("captured", capture))
        found.append(Entry("caster", impl))
    return Native(NANOBIND_FUNCTION, *found, Entry("dispatcher", vectorcall(value)))


def of_object(value: Any) -> Native:
    """The entries of any other callable object: by the pointer that it holds (PEP 590), and by its type's slot."""
    kind = type(value)
    return Native(
        f"{kind.__name__} object",
        Entry("vectorcall", vectorcall(value)),
        Entry("__call__", slot(kind, "call")),
    )


CYTHON_FUNCTION, FUSED_FUNCTION = "cython_function_or_method", "fused_cython_function"
READERS = {
    "builtin_function_or_method": of_builtin,
    "builtin_method": of_builtin,
    "method_descriptor": of_method_descriptor,
    "classmethod_descriptor": of_method_descriptor,
    "getset_descriptor": of_getset,
    "member_descriptor": of_member,
    "wrapper_descriptor": of_slot,
    "method-wrapper": of_bound_slot,
}
# Types of the interpreter whose objects stand for a function that they hold.
HOLDERS = ("method", "instancemethod", "staticmethod", "classmethod")
NANOBIND_METHOD = ("nb_bound_method", "nanobind")
# Modules of the interpreter's types whose objects call a function that they hold, and by what they are asked to.
HOLDING = ("builtins", "functools", "itertools", "operator")
CALLS = {"__call__", "__next__"}
CONTAINERS = (list, tuple, set, frozenset, dict)


def is_class(value: Any) -> bool:
    """Whether ``value`` is a class. ``isinstance(value, type)`` might run a ``__class__`` that the program defines."""
    return type in type(value).__mro__


def held_function(value: Any) -> Any:
    """The function behind a method, a static method or a class method; None for anything else."""
    kind = type(value)
    own = kind.__name__ in HOLDERS and not kind.__flags__ & HEAP_TYPE
    bound = (kind.__name__, kind.__module__) == NANOBIND_METHOD and is_made_by_c(kind)
    return value.__func__ if own or bound else None


def with_held(values: Iterable[Any], depth: int = 3) -> Iterator[Any]:
    """These values, and what the interpreter calls of them: the function that an object of functools.partial, map or
    their like holds, and the first element of a container.
    """
    for value in values:
        yield value
        kind = type(value)
        if kind in CONTAINERS:
            held = [next(iter(value))] if value else []
        elif is_class(value) or kind.__module__ not in HOLDING or not CALLS & kind.__dict__.keys():
            continue
        else:
            held = gc.get_referents(value)
        if depth and kind is not type(with_held):
            yield from with_held(held, depth - 1)


def constructor_parts(cls: type) -> list[tuple[str, type, Any]]:
    """``(name, owner, member)`` of the __new__ and __init__ that a call of a class runs; those of object left out."""
    found = []
    for name in ("__new__", "__init__"):
        owner = next(base for base in cls.__mro__ if name in vars(base))
        if owner is not object:
            member = vars(owner)[name]
            found.append((name, owner, getattr(member, "__func__", member)))
    return found


def is_new_of_type(name: str, member: Any) -> bool:
    """Whether the member is tp_new_wrapper, which stands for the ``tp_new`` of the type that owns it."""
    return name == "__new__" and type(member).__name__ == "builtin_function_or_method"


def slot(cls: type, name: str) -> int:
    """The function in a slot of a type; 0 where it is empty."""
    return word(id(cls) + HEAD + WORD * (1 + TYPE_SLOTS[name]))


def slots(cls: type) -> Iterator[int]:
    """The functions in the slots of a type and in the tables that it points to; 0 for empty ones."""
    for name in TYPE_SLOTS:
        yield slot(cls, name)
    for table, length in TYPE_TABLES.items():
        start = word(id(cls) + HEAD + WORD * (1 + table))
        if start:
            for index in range(length):
                yield word(start + WORD * index)


def vectorcall(value: Any) -> int:
    """The function by which an object with the vectorcall protocol is called (PEP 590); 0 for others."""
    kind = type(value)
    if not kind.__flags__ & HAVE_VECTORCALL:
        return 0
    offset = word(id(kind) + HEAD + WORD * (1 + VECTORCALL_OFFSET))
    return word(id(value) + offset)


def pybind11_records(function: Any) -> list[int]:
    """The addresses of the function_record of each overload; empty for a function that is not pybind11's."""
    owner = getattr(function, "__self__", None)
    kind = type(owner).__name__
    if kind == "PyCapsule":
        # Up to pybind11 2.10 the capsule has no name. Capsules of other libraries may have no name either.
        name = text(word(id(owner) + HEAD + WORD))
        record = word(id(owner) + HEAD)
        if not name.startswith("pybind11") if name else not readable(record):
            return []
    elif kind.startswith(RECORD_OWNER):
        record = word(id(owner) + HEAD)
    else:
        return []
    definition = word(id(function) + HEAD)
    at = next((at for at in RECORD_DEFS if record and word(record + WORD * at) == definition), None)
    if at is None:
        return []
    records: list[int] = []
    while record and len(records) < MAX_OVERLOADS:
        records.append(record)
        record = word(record + WORD * (at + RECORD_NEXT_BEHIND_DEF))
    return records


def word(address: int) -> int:
    """The 8 bytes at ``address`` as an unsigned number."""
    return ctypes.c_uint64.from_address(address).value


def text(address: int) -> str:
    """The C string at ``address``; empty for a null pointer."""
    return ctypes.string_at(address).decode("utf-8", "replace") if address else ""


def readable(address: int) -> bool:
    return any(start <= address < end and "r" in mode for start, end, mode, _, _ in mappings())


def executable(address: int) -> bool:
    """Whether ``address`` is in a mapping that can be run."""
    return any(start <= address < end and "x" in mode for start, end, mode, _, _ in mappings())


def mappings() -> Iterator[Mapping]:
    """``(start, end, mode, offset, path)`` of what is mapped now."""
    with open("/proc/self/maps", errors="surrogateescape") as file:
        for line in file:
            fields = line.rstrip("\n").split(None, 5)
            start, _, end = fields[0].partition("-")
            path = fields[5] if len(fields) > 5 else ""
            yield int(start, 16), int(end, 16), fields[1], int(fields[2], 16), path


SPECIAL = """
    abs add and array bool call complex contains delitem enter eq exit float floordiv format ge getitem gt hash iadd
    imul index int invert isub iter le len lshift lt matmul mod mul ne neg next or pos pow radd repr rmatmul rmul
    rshift rsub rtruediv setitem str sub truediv xor
"""
SPECIAL_NAMES = tuple("__{}__".format(name) for name in SPECIAL.split())


def members_by_name(cls: type, attributes: Iterable[str]) -> Iterator[Any]:
    """What a class or its bases hold for special methods that a slot only looks up, and under the named attributes."""
    for name in (*SPECIAL_NAMES, *attributes):
        for base in cls.__mro__:
            if name in base.__dict__:
                yield base.__dict__[name]
                break
