"""Runs in the user's interpreter: where the native code of a Python callable begins.

``python - --out FD [--setup CODE] NAME...`` with this file on standard input writes one JSON list to descriptor FD,
an object for each NAME (``torch.randn``, ``math.sin``, ``module.Class.method``):

    {"name": ..., "kind": ..., "entries": [ENTRY, ...], "operator": null | "aten::mm", "overloads": [...],
     "python": null | {"file": ..., "line": ..., "name": ...}, "error": null | text}
    ENTRY: {"role": ..., "library": PATH | null, "offset": OFFSET IN THE FILE | null, "signature": null | text}

An entry of the role "captured" is the function of the next one, a caster, if that takes a function pointer.

Nothing of dualdbg is imported and nothing is called but ``import`` and ``getattr``: the objects are read as the
interpreter's headers lay them out (CPython 3.8 and later, 64-bit, free-threaded builds too).
"""

from __future__ import annotations

import ctypes
import importlib
import inspect
import json
import os
import sys
import sysconfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    Answer = dict[str, Any]
    Mapping = tuple[int, int, str, int, str]

HEAD = object.__basicsize__  # sizeof(PyObject)
WORD = 8

# Places in a PyTypeObject, in words behind ob_size (Include/cpython/object.h).
TYPE_SLOTS = {"__call__": 13, "__init__": 34, "__new__": 36}
TYPE_VECTORCALL_OFFSET = 4
HAVE_VECTORCALL = 1 << 11

# pybind11::detail::function_record, in words (include/pybind11/attr.h): name, doc, signature, the vector of
# arguments, impl, data[3], free_data, flags and counts in one or two words, def, scope, sibling, next. Which of
# the two it is shows where ``def`` is the Python function's own; else the layout is not believed.
RECORD_SIGNATURE, RECORD_IMPL, RECORD_DATA = 2, 6, 7
RECORD_DEFS, RECORD_NEXT_BEHIND_DEF = (12, 13), 3
MAX_OVERLOADS = 200

# nanobind: an nb_func is as large as its type says, then comes a func_data for each overload, whose size is the
# type's item size: capture[3], free_capture, impl, ... in words (src/nb_internals.h).
NANOBIND_IMPL = 4


def main(arguments: list[str]) -> None:
    out = int(arguments[arguments.index("--out") + 1])
    names = arguments[arguments.index("--out") + 2 :]
    if names[:1] == ["--setup"]:
        exec(compile(names[1], "<setup>", "exec"), {"__name__": "__setup__"})
        names = names[2:]
    answers = [described(name) for name in names]
    files = Files()
    for answer in answers:
        for entry in answer["entries"]:
            entry["library"], entry["offset"] = files.place(entry.pop("address"))
    with os.fdopen(out, "w", encoding="utf-8") as file:
        json.dump(answers, file)


def described(name: str) -> Answer:
    """The answer for one name; what goes wrong is part of it, so that the other names are answered."""
    answer = nothing(name)
    try:
        describe(found(name), answer)
    except Exception as error:
        answer["error"] = f"{type(error).__name__}: {error}"
    return answer


def found(name: str) -> Any:
    """The object of a dotted name: the longest module that can be imported, then attributes."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        module = ".".join(parts[:count])
        try:
            value = importlib.import_module(module)
        except ImportError as error:
            missing = getattr(error, "name", None)
            if missing is None or not (module == missing or module.startswith(missing + ".")):
                raise  # the module is there, and fails
            continue
        return with_attributes(value, module, parts[count:])
    builtins = importlib.import_module("builtins")
    if hasattr(builtins, parts[0]):
        return with_attributes(builtins, "builtins", parts)
    raise ImportError(f"there is no module named {parts[0]!r}")


def with_attributes(value: Any, path: str, parts: Sequence[str]) -> Any:
    for part in parts:
        if not hasattr(value, part):
            raise AttributeError(f"{path} has no {part!r}")
        value, path = getattr(value, part), path + "." + part
    return value


def describe(value: Any, answer: Answer) -> None:
    kind = type(value).__name__
    module = type(value).__module__
    reader = READERS.get(kind)
    if module.startswith("torch._ops") and kind in ("OpOverloadPacket", "OpOverload"):
        describe_torch_operator(value, answer)
    elif reader is not None:
        reader(value, answer)
    elif inspect.isfunction(value):
        describe_python(value, answer)
    elif isinstance(value, type):
        describe_class(value, answer)
    elif kind in ("nb_func", "nb_method") or module == "nanobind":
        describe_nanobind(value, answer)
    elif "cython_function_or_method" in kind:
        definition = word(id(value) + HEAD)
        add(answer, "Cython function", word(definition + WORD))
    elif callable(value):
        describe_callable(value, answer)
    else:
        raise TypeError(f"{answer['name']} is a {kind}, which cannot be called")


def describe_builtin(value: Any, answer: Answer) -> None:
    records = pybind11_records(value)
    if records is None:
        add(answer, "built-in function", word(word(id(value) + HEAD) + WORD))
        return
    answer["kind"] = "pybind11 function"
    for record in records:
        signature = text(word(record + WORD * RECORD_SIGNATURE))
        target = word(record + WORD * RECORD_DATA)
        # A plain function pointer lies in the record itself; a lambda's body is part of the caster.
        if executable(target):
            add(answer, "pybind11 function", target, signature)
        add(answer, "pybind11 function", word(record + WORD * RECORD_IMPL), signature, role="caster")
    add(answer, "pybind11 function", word(word(id(value) + HEAD) + WORD), role="dispatcher")


def describe_method_descriptor(value: Any, answer: Answer) -> None:
    add(answer, "method of a built-in type", word(word(id(value) + HEAD + 3 * WORD) + WORD))


def describe_getset(value: Any, answer: Answer) -> None:
    definition = word(id(value) + HEAD + 3 * WORD)
    for role, place in (("get", 1), ("set", 2)):
        address = word(definition + place * WORD)
        if address:
            add(answer, "attribute of a built-in type", address, role=role)


def describe_slot(value: Any, answer: Answer) -> None:
    add(answer, "type slot", word(id(value) + HEAD + 4 * WORD), role=value.__name__)


def describe_bound_slot(value: Any, answer: Answer) -> None:
    descriptor = word(id(value) + HEAD)
    add(answer, "type slot", word(descriptor + HEAD + 4 * WORD), role=value.__name__)


def describe_member(value: Any, answer: Answer) -> None:
    raise TypeError(f"{answer['name']} is a field of a C structure: no function reads it")


def describe_method(value: Any, answer: Answer) -> None:
    describe(value.__func__, answer)


def describe_property(value: Any, answer: Answer) -> None:
    for role, function in (("get", value.fget), ("set", value.fset)):
        if function is not None:
            part = described_object(function, answer["name"])
            for entry in part["entries"]:
                entry["role"] = f"{role} {entry['role']}"
            answer["entries"] += part["entries"]
            answer["python"] = answer["python"] or part["python"]
    answer["kind"] = "property"


def describe_python(value: Any, answer: Answer) -> None:
    wrapped = inspect.unwrap(value)
    code = wrapped.__code__
    answer["kind"] = answer["kind"] or "Python function"
    answer["python"] = {
        "file": code.co_filename,
        "line": code.co_firstlineno,
        "name": f"{wrapped.__module__}.{wrapped.__qualname__}",
    }


def describe_class(value: Any, answer: Answer) -> None:
    """A call of a class runs its metaclass's __call__, which runs __new__ and __init__."""
    answer["kind"] = "class"
    for name in ("__new__", "__init__"):
        owner = next(base for base in value.__mro__ if name in vars(base))
        if owner is object:
            continue
        member = vars(owner)[name]
        member = getattr(member, "__func__", member)
        if inspect.isfunction(member):
            describe_python(member, answer)
            continue
        part = described_object(member, answer["name"])
        own_new = name == "__new__" and type(member).__name__ == "builtin_function_or_method"
        if own_new:  # tp_new_wrapper stands for the type's own tp_new
            part["entries"] = []
            add(part, "class", word(id(owner) + HEAD + WORD * (1 + TYPE_SLOTS["__new__"])))
        for entry in part["entries"]:
            entry["role"] = f"{name} {entry['role']}" if entry["role"] != name else name
        answer["entries"] += part["entries"]


def describe_torch_operator(value: Any, answer: Answer) -> None:
    """The kernels of PyTorch's own operators are found by name; those of others in the running registry."""
    answer["kind"] = "PyTorch operator"
    overloads = (
        [value] if type(value).__name__ == "OpOverload" else [getattr(value, o) for o in value.overloads()]
    )
    for overload in overloads:
        answer["operator"] = answer["operator"] or overload._schema.name
        answer["overloads"].append(str(overload._schema))
        if overload.namespace != "aten":
            answer["entries"] += registered_kernels(overload._schema.name, overload._schema.overload_name)
    for entry in described_object(value._op, answer["name"])["entries"]:
        if entry["role"] == "caster":  # what torch.ops calls, whatever the operator
            answer["entries"].append(entry_of(entry["address"], "dispatcher", None))


def describe_nanobind(value: Any, answer: Answer) -> None:
    kind = type(value)
    for number in range(word(id(value) + HEAD)):
        record = id(value) + kind.__basicsize__ + number * kind.__itemsize__
        capture, impl = word(record), word(record + NANOBIND_IMPL * WORD)
        if not executable(impl):
            raise TypeError("the functions of this nanobind are laid out in a way that is not known")
        if executable(capture):  # what a lambda without captures leaves there may be stale
            add(answer, "nanobind function", capture, role="captured")
        add(answer, "nanobind function", impl, role="caster")


def describe_callable(value: Any, answer: Answer) -> None:
    """Any other callable: its wrapped function, its Python __call__, or its type's native one."""
    inner = getattr(value, "__wrapped__", None) or getattr(value, "func", None)
    if callable(inner) and type(value).__module__ == "functools":
        describe(inner, answer)
        return
    method = type(value).__call__
    if inspect.isfunction(method):
        describe_python(method, answer)
        return
    kind = f"{type(value).__name__} object"
    if type(value).__flags__ & HAVE_VECTORCALL:
        offset = word(id(type(value)) + HEAD + WORD * (1 + TYPE_VECTORCALL_OFFSET))
        if word(id(value) + offset):
            add(answer, kind, word(id(value) + offset), role="vectorcall")
            return
    add(answer, kind, word(id(type(value)) + HEAD + WORD * (1 + TYPE_SLOTS["__call__"])), role="__call__")


def described_object(value: Any, name: str) -> Answer:
    answer = nothing(name)
    describe(value, answer)
    return answer


def nothing(name: str) -> Answer:
    empty: Answer = {"name": name, "kind": None, "entries": [], "operator": None, "overloads": []}
    return {**empty, "python": None, "error": None}


READERS = {
    "builtin_function_or_method": describe_builtin,
    "builtin_method": describe_builtin,
    "method_descriptor": describe_method_descriptor,
    "classmethod_descriptor": describe_method_descriptor,
    "getset_descriptor": describe_getset,
    "member_descriptor": describe_member,
    "wrapper_descriptor": describe_slot,
    "method-wrapper": describe_bound_slot,
    "method": describe_method,
    "instancemethod": describe_method,
    "staticmethod": describe_method,
    "classmethod": describe_method,
    "property": describe_property,
}


# pybind11 -----------------------------------------------------------------------------------------


def pybind11_records(function: Any) -> list[int] | None:
    """The function_record of each overload; None for a function that is not pybind11's."""
    owner = function.__self__
    kind = type(owner).__name__
    if kind.startswith("pybind11_detail_function_record"):  # pybind11 3.0 and later
        record = word(id(owner) + HEAD)
    elif kind == "PyCapsule":
        name = word(id(owner) + HEAD + WORD)
        if name and not text(name).startswith("pybind11"):
            return None
        record = word(id(owner) + HEAD)
    else:
        return None
    if not readable(record):
        return None
    definition = word(id(function) + HEAD)
    at = next((at for at in RECORD_DEFS if word(record + WORD * at) == definition), None)
    if at is None:
        return None
    records: list[int] = []
    while record and len(records) < MAX_OVERLOADS:
        records.append(record)
        record = word(record + WORD * (at + RECORD_NEXT_BEHIND_DEF))
    return records


# PyTorch's registry of operators -------------------------------------------------------------------


def registered_kernels(name: str, overload: str) -> list[Answer]:
    """The functions that libraries other than PyTorch's own have registered for an operator.

    A c10::OperatorHandle holds a pointer to its OperatorDef and the iterator of the std::list that it is in, whose
    node begins two words before it. The definition begins with the operator's name, by which it is recognised,
    and ends where the node's memory does; in between is the dispatch table. In it are the casters, and objects that
    hold the pointer of a function that was registered at run time (WrapFunctionIntoRuntimeFunctor.h).
    """
    import torch

    handle = torch._C._dispatch_find_schema_or_throw(name, overload)
    value = word(id(handle) + HEAD)
    definition, node = word(value), word(value + WORD)
    if definition != node + 2 * WORD or text(word(definition)) != name:
        raise TypeError("the registry of this PyTorch is laid out in a way that is not known")
    usable = ctypes.CDLL(None).malloc_usable_size
    usable.restype, usable.argtypes = ctypes.c_size_t, [ctypes.c_void_p]
    end = node + usable(node) // WORD * WORD
    rows = list(mappings())
    functions, casters = [], []
    for place in range(definition + 8 * WORD, end, WORD):
        pointer = word(place)
        if foreign_code(pointer, rows):
            casters.append(pointer)
        elif pointer % WORD == 0 and foreign_data(word_or_zero(pointer, rows), rows):
            functions += [
                f for f in (word(pointer + 2 * WORD), word(pointer + 3 * WORD)) if foreign_code(f, rows)
            ]
    entries = [entry_of(address, "kernel", None) for address in dict.fromkeys(functions)]
    return entries + [entry_of(address, "caster", None) for address in dict.fromkeys(casters)]


def word_or_zero(address: int, rows: list[Mapping]) -> int:
    return word(address) if any(row[0] <= address < row[1] and "r" in row[2] for row in rows) else 0


def foreign_code(address: int, rows: list[Mapping]) -> bool:
    """Whether the address is code of a file that does not belong to PyTorch."""
    return any(r[0] <= address < r[1] and "x" in r[2] and is_foreign(r[4]) for r in rows)


def foreign_data(address: int, rows: list[Mapping]) -> bool:
    return any(r[0] <= address < r[1] and "x" not in r[2] and is_foreign(r[4]) for r in rows)


def is_foreign(path: str) -> bool:
    return path.startswith("/") and not (
        "/torch/lib/" in path or path.rpartition("/")[2].startswith("libstdc++")
    )


# Memory -------------------------------------------------------------------------------------------


def word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def text(address: int) -> str:
    return ctypes.string_at(address).decode("utf-8", "replace") if address else ""


def add(
    answer: Answer, kind: str, address: int, signature: str | None = None, role: str = "function"
) -> None:
    if not address:
        raise TypeError(f"{answer['name']} has no native function")
    answer["kind"] = answer["kind"] or kind
    answer["entries"].append(entry_of(address, role, signature))


def entry_of(address: int, role: str, signature: str | None) -> Answer:
    return {"role": role, "address": address, "signature": signature}


def executable(address: int) -> bool:
    return any(start <= address < end and "x" in mode for start, end, mode, _, _ in mappings())


def readable(address: int) -> bool:
    return any(start <= address < end and "r" in mode for start, end, mode, _, _ in mappings())


def mappings() -> Iterator[Mapping]:
    """``(start, end, mode, offset, path)`` of what is mapped now."""
    with open("/proc/self/maps", errors="surrogateescape") as file:
        for line in file:
            fields = line.rstrip("\n").split(None, 5)
            start, _, end = fields[0].partition("-")
            path = fields[5] if len(fields) > 5 else ""
            yield int(start, 16), int(end, 16), fields[1], int(fields[2], 16), path


class Files:
    """Which file, and where in it, an address belongs to."""

    def __init__(self) -> None:
        self.rows = list(mappings())

    def place(self, address: int) -> tuple[str | None, int | None]:
        for start, end, _, offset, path in self.rows:
            if start <= address < end:
                return (path, address - start + offset) if path.startswith("/") else (None, None)
        return None, None


if __name__ == "__main__":
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("SIZEOF_VOID_P") != WORD:
        sys.exit("entries are read from 64-bit CPython only")
    main(sys.argv[1:])
