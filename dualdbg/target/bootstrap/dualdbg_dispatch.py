"""What PyTorch's dispatcher has registered for an operator, read in the interpreter that has loaded it.

For dualdbg_entries.py. The dispatcher says itself where each registration is written, and which kernel each dispatch
key leads to (``torch._C._dispatch_dump``, ``_dispatch_dump_table``); the kernels' functions are read from its memory,
and nothing of them is called.
"""

from __future__ import annotations

import ctypes
import difflib
import os
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from dualdbg.shared import dispatcher, libraries
    from dualdbg.target.bootstrap import dualdbg_callables as callables

    Answer = dict[str, Any]
    Mapping = tuple[int, int, str, int, str]
else:
    import dualdbg_callables as callables
    from dualdbg_shared import dispatcher, libraries

HEAD = callables.HEAD
word = callables.word

# The end of a line of _dispatch_dump_table: the kernel is one that all operators share.
SHARED = "[backend fallback]"
OF_ONE_KEY = "[kernel]"
MOST_NEAR = 3
# Operators that take functions: written in Python, unknown to the dispatcher.
HIGHER_ORDER = "higher_order"
# How far from a kernel of torch.library the user's functions may lie, in closures and attributes.
MOST_STEPS = 12
# The modules whose objects lead there.
LIBRARY = ("torch._library", "torch.library")


def registration(overload: Any) -> Answer:
    """What is registered for an overload, ``torch.ops.mylib.myop.default``; the kernels by the keys that lead to them.

    ``dump`` and ``table`` are the dispatcher's own texts.
    """
    import torch

    schema = overload._schema
    name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
    table = torch._C._dispatch_dump_table(name)
    return {
        "name": name,
        "schema": str(schema),
        "dump": torch._C._dispatch_dump(name),
        "table": table,
        "kernels": kernels_by_key(name, own_rows(table)),
    }


def near(namespace: str, name: str) -> list[str] | None:
    """The operators of a namespace whose names are like one that it does not have; None where it has none at all."""
    import torch

    known = {full.partition(".")[0].partition("::")[::2] for full in torch._C._dispatch_get_all_op_names()}
    names = sorted(one for space, one in known if space == namespace)
    if not names and namespace != HIGHER_ORDER and not is_of_torchscript(namespace):
        return None
    return [f"{namespace}::{one}" for one in difflib.get_close_matches(name, names, MOST_NEAR) if one != name]


def is_of_torchscript(namespace: str) -> bool:
    """Whether TorchScript has operators of a namespace, all of which are in its own table."""
    import torch

    prefix = namespace + "::"
    return any(schema.name.startswith(prefix) for schema in torch._C._jit_get_all_schemas())


def own_rows(table: str) -> dict[str, str]:
    """The dispatch keys that do not lead to what all operators share, and what the table says of each."""
    lines = [line.strip() for line in table.splitlines() if not line.rstrip().endswith(SHARED)]
    split = (line.partition(": ") for line in lines)
    return {key: told for key, colon, told in split if colon}


def kernels_by_key(name: str, rows: dict[str, str]) -> list[Answer]:
    """Each kernel with all keys that lead to it. None where this PyTorch does not give kernels by key."""
    import torch

    kernel_of: Any = getattr(torch._C, "_dispatch_get_computed_kernel_for_dispatch_key", None)
    memory = OwnMemory()
    found: dict[tuple[int, ...], Answer] = {}
    nameless = []
    for key in rows if kernel_of is not None else ():
        try:
            kernel = kernel_of(name, key)
        except RuntimeError:  # PyTorch does not read the names of all keys that its table has
            nameless.append(key)
            continue
        # A pybind11 object points to its value, a SafeKernelFunction, which begins with the KernelFunction.
        words = dispatcher.words_of_kernel(word(id(kernel) + HEAD))
        identity = tuple(memory.u64(place) for place in words)
        known = found.get(identity)
        if known is not None:
            known["keys"].append(key)
            continue
        python = python_functions(memory, identity[0])
        # Around Python there is only what serves all kernels in Python.
        entries = [] if python else entries_of(memory, words, memory.is_native)
        found[identity] = {"keys": [key], "entries": entries, "python": python}
    kernels = list(found.values())
    add_nameless(kernels, nameless, rows)
    return kernels


def add_nameless(kernels: list[Answer], nameless: list[str], rows: dict[str, str]) -> None:
    """Add the keys that cannot be asked for to the kernel that the table tells: one that serves many keys at once.

    Of a kernel for one key the table tells no more than the line that registered it, which may be one for several.
    """
    asked = [(kernel, {rows[key] for key in kernel["keys"]}) for kernel in kernels]
    for key in nameless:
        alike = [kernel for kernel, told in asked if rows[key] in told]
        if len(alike) == 1 and not rows[key].endswith(OF_ONE_KEY):
            alike[0]["keys"].append(key)
    order = list(rows)
    for kernel in kernels:
        kernel["keys"].sort(key=order.index)


def foreign_kernels(name: str, overload: str) -> list[Answer]:
    """The functions that libraries other than PyTorch's own have registered for an operator, whatever the key.

    A c10::OperatorHandle holds a pointer to its OperatorDef, which is recognised by the name.
    """
    import torch

    memory = OwnMemory()
    handle = torch._C._dispatch_find_schema_or_throw(name, overload)
    operator = word(word(id(handle) + HEAD))
    if not dispatcher.is_named(memory, operator, name):
        raise TypeError("the registry of this PyTorch is laid out in a way that is not known")
    return entries_of(memory, dispatcher.table_of(memory, operator), memory.is_foreign)


def entries_of(memory: OwnMemory, words: range, belongs: Callable[[int, bool], bool]) -> list[Answer]:
    """The functions behind words of KernelFunctions, where ``belongs`` says that an address is of such a function."""
    functions, casters = dispatcher.kernels(
        memory, words, lambda address: belongs(address, True), lambda address: belongs(address, False)
    )
    found = [("kernel", address) for address in functions] + [("caster", address) for address in casters]
    return [{"role": role, "address": address, "signature": None} for role, address in found]


class OwnMemory:
    """The memory of this process. A word that is not mapped reads as 0."""

    def __init__(self) -> None:
        self.rows = list(callables.mappings())

    def u64(self, address: int) -> int:
        """A pointer, or an unsigned number of 8 bytes."""
        row = self.row_at(address)
        return word(address) if row is not None and "r" in row[2] else 0

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes, or none where ``address`` is not mapped for reading."""
        row = self.row_at(address)
        return ctypes.string_at(address, size) if row is not None and "r" in row[2] else b""

    def row_at(self, address: int) -> Mapping | None:
        return next((row for row in self.rows if row[0] <= address < row[1]), None)

    def is_native(self, address: int, code: bool) -> bool:
        """Whether code, or else data, of a file is at the address."""
        row = self.row_at(address)
        return row is not None and ("x" in row[2]) == code and row[4].startswith("/")

    def is_foreign(self, address: int, code: bool) -> bool:
        """The same of a file that does not belong to PyTorch."""
        row = self.row_at(address)
        return self.is_native(address, code) and row is not None and libraries.is_foreign(row[4])


# Kernels in Python ----------------------------------------------------------------------------------


def python_functions(memory: OwnMemory, functor: int) -> list[Answer]:
    """The Python functions of a kernel that torch.library has registered, the one that is called first.

    Its functor is a PythonKernelHolder (torch/csrc/utils/python_dispatch.cpp), which keeps the function behind an
    intrusive_ptr_target. What torch.library wraps around the user's functions leads to these.
    """
    place = memory.u64(functor + dispatcher.HEAD_OF_FUNCTOR) if functor else 0
    if memory.u64(place + callables.WORD) != id(types.FunctionType):
        return []
    function = ctypes.cast(place, ctypes.py_object).value
    found = [described("called by the dispatcher", function)]
    if is_pytorchs(function):
        found += [described(role.strip("_"), user) for role, user in users_functions(function)]
    return found


def users_functions(function: Any) -> Iterator[tuple[str, Any]]:
    """The functions outside of PyTorch that one of torch.library keeps, with the names under which it does."""
    seen = {id(function)}
    waiting = [("", function, MOST_STEPS)]
    while waiting:
        role, value, steps = waiting.pop(0)
        for name, part in parts_of(value) if steps else ():
            if id(part) in seen:
                continue
            seen.add(id(part))
            name = name if name.strip("_") else role
            if isinstance(part, types.FunctionType) and not is_pytorchs(part):
                yield name, part
            else:
                waiting.append((name, part, steps - 1))


def parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    """What a function of PyTorch's has in its closure, and what an object of torch.library keeps."""
    if isinstance(value, types.FunctionType):
        for at, cell in enumerate(value.__closure__ or ()):
            try:
                yield value.__code__.co_freevars[at], cell.cell_contents
            except ValueError:  # not set yet
                continue
    elif isinstance(value, types.MethodType):
        yield "", value.__func__
        yield "", value.__self__
    elif type(value) is dict:
        for key, part in value.items():
            yield (key if isinstance(key, str) else ""), part
    elif type(value) in (list, tuple):
        for part in value:
            yield "", part
    elif isinstance(value, (staticmethod, classmethod)):
        yield "", value.__func__
    elif isinstance(value, type) and value.__module__.startswith(LIBRARY):
        yield from vars(value).items()
    elif type(value).__module__.startswith(LIBRARY):
        slots = [name for name in getattr(type(value), "__slots__", ()) if hasattr(value, name)]
        for name, part in (*getattr(value, "__dict__", {}).items(), *((n, getattr(value, n)) for n in slots)):
            yield name, part


def is_pytorchs(function: Any) -> bool:
    """Whether a function of Python is written in PyTorch's own files, or was made for a class that is."""
    import torch

    if str(function.__module__).partition(".")[0] == "torch":
        return True
    return bool(function.__code__.co_filename.startswith(os.path.dirname(torch.__file__) + os.sep))


def described(role: str, function: Any) -> Answer:
    """Where a function is written. Its name is that of its code: functools.wraps gives it the one of another."""
    code = function.__code__
    qualified = function.__qualname__ if not hasattr(function, "__wrapped__") else code.co_name
    module = function.__globals__.get("__name__", function.__module__)
    name = f"{module}.{getattr(code, 'co_qualname', qualified)}"  # co_qualname: since Python 3.11
    return {"role": role, "file": code.co_filename, "line": code.co_firstlineno, "name": name}
