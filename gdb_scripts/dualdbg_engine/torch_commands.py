"""The helpers' commands (``tensor``, ``ivalue``, ``jit-graph``, ...) for the session: text for people and a structure.

Nothing here calls the target or writes to it.
"""

from __future__ import annotations

from dualdbg_helpers.commands.registry import COMMANDS as WORDS
from dualdbg_helpers.commands.registry import Failure, answer
from dualdbg_shared.requests.values import HelperAnswer, LoadHelpers, ObjectRow, RunHelper

from . import helpers
from .object_rows import number_of, object_row
from .registry import answers
from .threads import find_frame

# The C++ type of a command's answer, where the answer does not name it.
_TYPES = {
    "dispatch-keys": "c10::DispatchKeySet",
    "ivalue": "c10::IValue",
    "jit-code": "torch::jit::Code",
    "jit-frame": "torch::jit::InterpreterStateImpl",
    "jit-graph": "torch::jit::Graph",
    "op": "c10::OperatorHandle",
    "tensor": "at::Tensor",
}
# Members of an answer's structure that become fields of a value's row.
_MOVED = {
    "ivalue": ("text", "children", "total", "address", "layout"),
    "ivalue-stack": ("values", "size", "address", "layout", "type"),
    "pyobject": ("text", "children", "total", "address", "type"),
    "py2cpp": ("type", "address"),
    "cpp2py": ("type", "address"),
}


@answers(LoadHelpers)
def load_helpers() -> None:
    helpers.load()


@answers(RunHelper)
def word(gdb_thread: int | None, level: int, name: str, argument: str) -> HelperAnswer:
    helpers.load()
    if gdb_thread is not None:
        find_frame(gdb_thread, level).select()
    try:
        found = answer(WORDS[name], argument)
    except Failure as error:
        return HelperAnswer(None, error.message, error.hint or "")
    data = found.data
    moved = _MOVED.get(name, ("address", "layout"))
    children = next((data[key] for key in ("children", "values") if key in moved and key in data), None)
    total = next((data[key] for key in ("total", "size") if key in moved and key in data), None)
    return HelperAnswer(
        ObjectRow(
            name=argument or name,
            type=(data.get("type", "") if "type" in moved else _TYPES.get(name, "")) or "",
            value=found.text,
            address=number_of(data.get("address") or data.get("impl")),
            data={key: value for key, value in data.items() if key not in moved},
            children=None if children is None else [object_row(child) for child in children],
            total=total,
            layout=data.get("layout"),
        )
    )
