"""Runs in the user's interpreter: where the native code of a Python callable begins, by the callable's name.

``python -I - --out FD --beside FOLDERS [--path JSON] [--setup CODE] NAME...``, with this file on standard input. It
writes one JSON list to descriptor FD, with an object for each NAME (``torch.randn``, ``math.sin``,
``module.Class.method``). The folders of ``--path``, a list, are searched first.

    {"name": ..., "kind": ..., "entries": [ENTRY, ...], "operator": null | "aten::mm", "overloads": [...],
     "binds": whether a breakpoint on the operator's name finds its kernels,
     "registrations": [REGISTRATION, ...], "python": null | {"file": ..., "line": ..., "name": ...},
     "error": null | text}
    ENTRY: {"role": ..., "library": PATH | null, "offset": OFFSET IN THE FILE | null, "signature": null | text}
    REGISTRATION, of an overload that PyTorch's tables do not have: see dualdbg_dispatch.py

FOLDERS, with a colon between, have dualdbg_callables.py, which reads the objects and says what the roles are, and
dualdbg_shared. Nothing else of dualdbg is imported, and nothing is called but ``import`` and ``getattr``.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import json
import os
import sys
import sysconfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dualdbg.target.bootstrap import dualdbg_callables as callables
    from dualdbg.target.bootstrap import dualdbg_dispatch as dispatch

    Answer = dict[str, Any]
else:
    # The file comes by standard input, so no folder of it is searched for imports.
    folders = sys.argv[sys.argv.index("--beside") + 1].split(os.pathsep)
    sys.path[:0] = folders
    import dualdbg_callables as callables
    import dualdbg_dispatch as dispatch

    del sys.path[: len(folders)]

WORD = callables.WORD
executable, mappings = callables.executable, callables.mappings


def main(arguments: list[str]) -> None:
    """Write what the names of the command line stand for, as a JSON list, to the descriptor behind ``--out``."""
    # An import makes hundreds of thousands of objects, and none goes: `import torch` is a third faster.
    gc.disable()
    out = int(arguments[arguments.index("--out") + 1])
    names = arguments[arguments.index("--beside") + 2 :]
    if names[:1] == ["--path"]:
        first = json.loads(names[1])
        sys.path[:] = [*first, *(folder for folder in sys.path if folder not in first)]
        names = names[2:]
    if names[:1] == ["--setup"]:
        exec(compile(names[1], "<setup>", "exec"), {"__name__": "__setup__"})
        names = names[2:]
    answers = [described(name) for name in names]
    files = Files()
    for answer in answers:
        kernels = (kernel for one in answer["registrations"] for kernel in one["kernels"])
        for part in (answer, *kernels):
            for entry in part["entries"]:
                entry["library"], entry["offset"] = files.place(entry.pop("address"))
    with os.fdopen(out, "w", encoding="utf-8") as file:
        json.dump(answers, file)
    gc.freeze()  # the interpreter's end need not look at all there is


def described(name: str) -> Answer:
    """The answer for one name; what goes wrong is part of it, so that the other names are answered."""
    answer = nothing(name)
    try:
        describe(found(name), answer)
    except Exception as error:
        answer["error"] = f"{type(error).__name__}: {error}"
    parts = name.split(".")
    unknown = answer["error"] or not answer["registrations"]
    if unknown and parts[:2] == ["torch", "ops"] and len(parts) > 3:
        answer["near"] = dispatch.near(parts[2], parts[3])
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
                raise  # the module exists, and its import fails
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
    """Put into ``answer`` where the native code of a callable begins. Raises TypeError where there is none."""
    kind = type(value)
    held = callables.held_function(value)
    if is_of_torch_ops(kind, "OpOverloadPacket") or is_of_torch_ops(kind, "OpOverload"):
        describe_torch_operator(value, answer)
    elif held is not None:
        describe(held, answer)
    elif kind is property:
        describe_property(value, answer)
    elif inspect.isfunction(value):
        describe_python(value, answer)
    elif isinstance(value, type):
        describe_class(value, answer)
    elif callables.reader_of(value) is not None:
        describe_native(value, answer)
    elif callable(value):
        describe_object(value, answer)
    else:
        raise TypeError(f"{answer['name']} is a {kind.__name__}, which cannot be called")


def is_of_torch_ops(kind: type, name: str) -> bool:
    """Whether a class is this one of torch._ops, or derived from it, as TorchBindOpOverload is."""
    return any(base.__name__ == name and base.__module__ == "torch._ops" for base in kind.__mro__)


def describe_native(value: Any, answer: Answer) -> None:
    try:
        native = callables.native_of(value, executable)
    except callables.UnknownCallable as error:
        raise TypeError(f"{answer['name']} is {error}") from None
    add(answer, native.kind, *native.entries)


def describe_object(value: Any, answer: Answer) -> None:
    """Any other callable: its wrapped function, its Python __call__, or its type's native one."""
    inner = getattr(value, "__wrapped__", None) or getattr(value, "func", None)
    method = type(value).__call__
    if callable(inner) and type(value).__module__ == "functools":
        describe(inner, answer)
    elif inspect.isfunction(method):
        describe_python(method, answer)
    else:
        native = callables.of_object(value)
        add(answer, native.kind, *native.entries[:1])


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
    for name, owner, member in callables.constructor_parts(value):
        if inspect.isfunction(member):
            describe_python(member, answer)
            continue
        if callables.is_new_of_type(name, member):
            part = nothing(answer["name"])
            add(part, "class", callables.Entry("function", callables.slot(owner, "new")))
        else:
            part = described_object(member, answer["name"])
        for entry in part["entries"]:
            entry["role"] = f"{name} {entry['role']}" if entry["role"] != name else name
        answer["entries"] += part["entries"]


def describe_torch_operator(value: Any, answer: Answer) -> None:
    """An operator of PyTorch itself is answered by its name; the kernels of any other are read from the registry."""
    answer["kind"] = "PyTorch operator"
    one = is_of_torch_ops(type(value), "OpOverload")
    overloads = [value] if one else [getattr(value, name) for name in value.overloads()]
    for overload in overloads:
        answer["operator"] = answer["operator"] or overload._schema.name
        answer["binds"] = answer["binds"] or overload.namespace == "aten"
        answer["overloads"].append(str(overload._schema))
        if overload.namespace != "aten":
            describe_registration(overload, answer)
    # What torch.ops calls, whatever the operator: a packet and its overloads have different functions.
    if not one:
        add_dispatcher(value, "packet dispatcher", answer)
    if overloads:
        add_dispatcher(overloads[0], "overload dispatcher", answer)


def add_dispatcher(value: Any, role: str, answer: Answer) -> None:
    for entry in described_object(value._op, answer["name"])["entries"]:
        if entry["role"] == "caster":
            answer["entries"].append({**entry, "role": role, "signature": None})


def describe_registration(overload: Any, answer: Answer) -> None:
    """What the dispatcher knows of an operator that native_functions.yaml does not have."""
    known = dispatch.registration(overload)
    answer["registrations"].append(known)
    kernels = dispatch.foreign_kernels(overload._schema.name, overload._schema.overload_name)
    answer["binds"] = answer["binds"] or bool(kernels)
    answer["entries"] += kernels or [
        dict(entry) for kernel in known["kernels"] for entry in kernel["entries"]
    ]
    for kernel in known["kernels"]:
        user = kernel["python"][1:] or kernel["python"]  # behind what torch.library has put around it
        answer["python"] = answer["python"] or (user[0] if user else None)


def described_object(value: Any, name: str) -> Answer:
    answer = nothing(name)
    describe(value, answer)
    return answer


def nothing(name: str) -> Answer:
    """The answer of a name of which nothing is known yet."""
    empty: Answer = {"name": name, "kind": None, "entries": [], "operator": None, "overloads": []}
    empty["binds"] = False
    return {**empty, "registrations": [], "python": None, "error": None, "near": None}


# The answer ---------------------------------------------------------------------------------------


def add(answer: Answer, kind: str, *entries: callables.Entry) -> None:
    """Add entries to an answer. Raises TypeError when there are none."""
    if not entries:
        raise TypeError(f"{answer['name']} has no native function")
    answer["kind"] = answer["kind"] or kind
    answer["entries"] += [as_answer(entry) for entry in entries]


def as_answer(entry: callables.Entry) -> Answer:
    return {"role": entry.role, "address": entry.address, "signature": entry.signature}


class Files:
    """Which file, and where in it, an address belongs to."""

    def __init__(self) -> None:
        self.rows = list(mappings())

    def place(self, address: int) -> tuple[str | None, int | None]:
        """The file that is mapped at ``address``, and the offset in it; None for both where there is none."""
        for start, end, _, offset, path in self.rows:
            if start <= address < end:
                return (path, address - start + offset) if path.startswith("/") else (None, None)
        return None, None


if __name__ == "__main__":
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("SIZEOF_VOID_P") != WORD:
        sys.exit("entries are read from 64-bit CPython only")
    main(sys.argv[1:])
