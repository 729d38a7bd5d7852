"""An operator that native_functions.yaml does not have, for people and for programs.

What is registered for it, and what PyTorch has for all operators in the place of what torchgen would make. Pure.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

from ...known.binding_layers import FUNCTION_ARGUMENT, INSTANCE_ARGUMENT
from ..callables.resolved import NativeEntry, PythonSource, Registration, Resolved, TableRow

_BACKEND_FALLBACK = "backend fallback"
_KEYS_SHOWN = 4
_NAME_SHOWN = 160  # characters of a function's name; templates go on for thousands

# The files of torchgen by the dispatch keys of their kernels, as regular expressions.
_FILES_BY_KEY = (
    ("RegisterBackendSelect.cpp", "BackendSelect"),
    ("VariableType_N.cpp", r"Autograd\w*"),
    ("ADInplaceOrViewType_N.cpp", "ADInplaceOrView"),
    ("TraceType_N.cpp", "Tracer"),
    ("RegisterFunctionalization_N.cpp", "Functionalize"),
)
_KERNELS = "RegisterCPU_N.cpp and the like"
NO_FILE = "no file of torchgen"
# The path of PyTorch's own sources in its repository, behind the folder of whoever built the wheel.
_IN_REPOSITORY = re.compile(r".*?/((?:aten/src|torch/csrc|build/aten|c10/\w+)/.*)")


@dataclass(frozen=True)
class LayerRow:
    """A layer of an operator: the ``file`` that torchgen would write for it, and what is there.

    ``made``: ``registered`` for this operator, ``generic`` (one for all operators), ``passed over`` or ``none``.
    """

    file: str
    keys: tuple[str, ...]
    made: str
    what: str


def layers(found: Registration) -> tuple[LayerRow, ...]:
    """What there is in each layer. A group of keys that come to the same is one row."""
    name, _, overload = found.name.partition(".")
    python = "torch.ops." + name.replace("::", ".")
    rows = [
        LayerRow("RegisterSchema.cpp", (), "registered", f"schema, {_schema_place(found)}"),
        LayerRow(
            "python_torch_functions_N.cpp",
            (),
            "generic",
            f"{python}, made by torch/_ops.py when it is first asked for; it calls by the schema",
        ),
        LayerRow(
            "Operators_N.cpp",
            (),
            "none",
            f'C++ looks it up: c10::Dispatcher::singleton().findSchemaOrThrow("{name}", "{overload}")',
        ),
    ]
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for row in found.table:
        grouped.setdefault((_file_of(row), _made(row), _place(row)), []).append(row.key)
    order = [*(file for file, _ in _FILES_BY_KEY), _KERNELS, NO_FILE]
    for (file, made, place), keys in sorted(grouped.items(), key=lambda one: order.index(one[0][0])):
        rows.append(LayerRow(file, tuple(keys), made, place))
    return tuple(rows)


def _made(row: TableRow) -> str:
    if row.falls_through:
        return "passed over"
    return "generic" if row.how == _BACKEND_FALLBACK else "registered"


def _file_of(row: TableRow) -> str:
    for file, keys in _FILES_BY_KEY:
        if re.fullmatch(keys, row.key):
            return file
    return NO_FILE if row.how == _BACKEND_FALLBACK else _KERNELS


def _place(row: TableRow) -> str:
    """Where it is written. A fallback has a line for each key, which would make as many rows."""
    place = in_repository(row.place)
    if row.how == _BACKEND_FALLBACK:
        return place.rpartition(":")[0]
    return place if row.how == "kernel" else f"{place}, as the {row.how}"


def _schema_place(found: Registration) -> str:
    return in_repository(found.place) if found.place is not None else "a place that is not told"


def in_repository(place: str) -> str:
    """A place in PyTorch's sources without the folder of the build; others as they are."""
    match = _IN_REPOSITORY.fullmatch(place)
    return match[1] if match is not None and "-packages/" not in place else place


def as_text(answer: Resolved) -> str:
    """The report in lines; addresses are link-time ones, as ``nm`` prints them."""
    lines = [f"{answer.operator}: native_functions.yaml does not have it, so torchgen makes nothing for it"]
    for found in answer.registrations:
        lines += ["", found.schema]
        lines.append(f"  registered at {_schema_place(found)}")
        for one in found.registered:
            calls = " and ".join(one.calls)
            lines.append(f"  {one.key}: kernel registered at {in_repository(one.place)}, called {calls}")
        for kernel in found.kernels:
            lines += ["", f"  Kernel for {_some(kernel.keys)}"]
            lines += [line for entry in kernel.entries for line in _entry_lines(entry)]
            lines += [line for one in kernel.python[:1] for line in _python_lines(one)]
        if not found.kernels:
            lines += ["", "  No kernel is known by its dispatch key"]
        own = dict.fromkeys(one for kernel in found.kernels for one in kernel.python[1:])
        lines += ["", "  What these call of yours, as torch.library keeps it"] if own else []
        lines += [line for one in own for line in _python_lines(one)]
    for names, rows in _layers_once(answer.registrations):
        lines += [
            "",
            "Layers: the file that torchgen writes for an operator of the table, and what there is instead",
        ]
        lines += [f"  of {', '.join(names)}"] if len(answer.registrations) > 1 else []
        for row in rows:
            if row.file != NO_FILE:
                keys = f" ({_some(row.keys)})" if row.keys else ""
                lines += [f"  {row.file}{keys}", f"      {row.made}: {row.what}"]
        others = [key for row in rows if row.file == NO_FILE for key in row.keys]
        if others:
            lines.append("  no file, also for operators of the table: fallbacks that all operators share")
            lines += textwrap.wrap(
                ", ".join(others), 100, initial_indent="      ", subsequent_indent="      "
            )
    shared = [entry for entry in answer.entries if entry.role.endswith("dispatcher")]
    lines += ["", "What a call through torch.ops enters first, whatever the operator"] if shared else []
    for entry in shared:
        lines += [f"  {_called_through(entry.role, answer.registrations[0].name)}", *_entry_lines(entry)]
    return "\n".join(lines)


def _called_through(role: str, name: str) -> str:
    """The object of torch.ops, and how it is called, that enters such a dispatcher."""
    operator, _, overload = name.partition(".")
    packet = f"torch.ops.{operator.replace('::', '.')}"
    if role.startswith("packet"):
        return f"{packet}(…), a packet, which chooses among its overloads"
    return f"{packet}.{overload or 'default'}(…), one overload"


def _layers_once(found: Sequence[Registration]) -> list[tuple[list[str], tuple[LayerRow, ...]]]:
    """The layers, those of overloads that have the same ones together."""
    grouped: dict[tuple[Any, ...], tuple[list[str], tuple[LayerRow, ...]]] = {}
    for one in found:
        rows = layers(one)
        alike = tuple((row.file, row.keys, row.made, row.what) for row in rows if row.keys)
        grouped.setdefault(alike, ([], rows))[0].append(one.name)
    return list(grouped.values())


def _some(keys: Iterable[str]) -> str:
    all_keys = sorted(keys, key="Undefined".__eq__)  # which no tensor has, last
    if len(all_keys) <= _KEYS_SHOWN:
        return ", ".join(all_keys)
    return f"{', '.join(all_keys[: _KEYS_SHOWN - 1])} and {len(all_keys) - _KEYS_SHOWN + 1} more keys"


def _entry_lines(entry: NativeEntry) -> list[str]:
    name = entry.function or "(no name)"
    shown = name if len(name) <= _NAME_SHOWN else f"{name[:_NAME_SHOWN]}…"
    place = f"{PurePath(entry.library).name}+{entry.address:#x}"
    lines = [f"    {entry.role}: {shown}", f"      {place}, in {entry.library}"]
    called = FUNCTION_ARGUMENT.search(name) or INSTANCE_ARGUMENT.search(name)
    lines += [f"      calls {called[1]}"] if called is not None else []
    lines += [f"      {entry.note}"] if entry.note else []
    return lines


def _python_lines(place: PythonSource) -> list[str]:
    return [f"    {place.role or 'Python'}: {place.name}", f"      {place.file}:{place.line}"]


def as_data(answer: Resolved) -> dict[str, Any]:
    """The same as plain JSON types; addresses are texts in hexadecimal."""
    overloads = []
    for found in answer.registrations:
        data = asdict(found)
        for kernel in data["kernels"]:
            for entry in kernel["entries"]:
                entry["address"] = hex(entry["address"])
        overloads.append({**data, "layers": [asdict(row) for row in layers(found)]})
    return {"operator": answer.operator, "generated": False, "overloads": overloads}
