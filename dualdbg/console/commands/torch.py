"""The commands of the gdb helpers: objects of PyTorch and Python, read from the memory of the stopped target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...session.inspect.torch_commands import HelperWords
from ..reports import ValueReport
from .registry import Handler, command

if TYPE_CHECKING:
    from ..console import Console

_EXPRESSION = (
    "EXPR is a C++ expression: a variable, a register ($rsi; $x1 on AArch64), an address. "
    "Nothing is called or written."
)
_OF_PYTHON = (
    "In a Python frame it may be a variable with attributes and elements: self.weight, batch['x'][0]."
)

# name, usage, summary, details
_WORDS = (
    (
        "tensor",
        "EXPR [--data [N]] [--stats]",
        "show a tensor: dtype, sizes, strides, device, autograd, storage",
        f"{_EXPRESSION} {_OF_PYTHON} --data shows its values, --stats min, max, mean, NaN and Inf.",
    ),
    (
        "ivalue",
        "EXPR [--limit N]",
        "show a c10::IValue, as IValue::dump() prints it",
        _EXPRESSION,
    ),
    (
        "ivalue-stack",
        "[EXPR] [--limit N] [--full]",
        "show a torch::jit::Stack; without EXPR the one of the selected frame",
        f"{_EXPRESSION} Without one it is looked for in the variables of the selected frame, at the entry of a "
        "function in its argument registers, then in the frames above. --full shows tensors with their values.",
    ),
    (
        "dispatch-keys",
        "EXPR",
        "show the dispatch keys of a tensor or of a DispatchKeySet",
        f"{_EXPRESSION} {_OF_PYTHON}",
    ),
    (
        "op",
        "EXPR | aten::add.Tensor",
        "show the schema of an OperatorHandle, or of an operator by its name",
        _EXPRESSION,
    ),
    (
        "jit-frame",
        "[EXPR]",
        "show TorchScript's interpreter: functions, instructions, registers, stack",
        "Without EXPR, an InterpreterStateImpl, that of the selected frame or of its thread; break on preset:jit-run.",
    ),
    (
        "jit-code",
        "[EXPR]",
        "show the instructions of a TorchScript function, the current one marked",
        "EXPR is a Code or a CodeImpl; without it, the function that the thread's interpreter runs.",
    ),
    (
        "jit-graph",
        "[EXPR]",
        "show a TorchScript graph, a node or a value",
        "Without EXPR, the graph of the function that the thread's interpreter runs.",
    ),
    (
        "pyobject",
        "EXPR [--offset N] [--limit N]",
        "show a Python object: its text, elements and attributes",
        f"EXPR is a PyObject* or an address. {_OF_PYTHON}",
    ),
    (
        "py2cpp",
        "EXPR",
        "show the native object of a Python one, and name it $cpp for C++ expressions",
        "EXPR is a Python variable with attributes and elements (self.weight, batch['x'][0]), of the selected frame or "
        "of the nearest Python frame below a native one; or a PyObject* in C++. Of a tensor it is the at::Tensor and "
        "the TensorImpl, of a numpy array its data, of a pybind11 instance the C++ object, else the PyObject itself. "
        "$cpp is the first of them, $py the PyObject. Nothing is called.",
    ),
    (
        "cpp2py",
        "EXPR",
        "show the Python object of a native one, and name it $py; or say that it has none",
        f"{_EXPRESSION} It may be a tensor, a PyObject*, a pybind11 handle, or a C++ object that a pybind11 instance "
        "holds.",
    ),
    (
        "dualdbg-layout",
        "",
        "say where the layouts of PyTorch's types come from in this process",
        "The process's debug info, the installed headers, or a table for a known version; each is checked first.",
    ),
    (
        "torch-types",
        "[core | jit]",
        "give gdb PyTorch's types, for print *(c10::IValue *)$rsi without debug info",
        "They are compiled once from the installed headers.",
    ),
    ("torch-help", "", "list the words for PyTorch and Python objects, and gdb's settings for them", ""),
)
_OF_NO_FRAME = {"dualdbg-layout", "torch-types", "torch-help", "op"}


def _handler(word: str) -> Handler:
    async def run(console: Console, argument: str) -> None:
        words = HelperWords(console.session)
        if word in _OF_NO_FRAME and not console.stopped:
            value = await words.run(word, argument, None, None)
        else:
            value = await words.run(word, argument, console.selected().tid, await console.frame())
        console.show(ValueReport(argument or word, value))

    return run


for _name, _usage, _summary, _details in _WORDS:
    command(_name, _usage, _summary, details=_details, completes="option expression")(_handler(_name))
