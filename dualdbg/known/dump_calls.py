"""PyTorch's ``dump()`` and ``print()`` of a value, as people call them in gdb, and our command instead.

The wheel has no debug info: gdb knows no type to cast to, and the call would print on the program's own output.
"""

from __future__ import annotations

import re

_TYPES = {
    "IValue": "ivalue",
    "Stack": "ivalue-stack",
    "Tensor": "tensor",
    "TensorBase": "tensor",
    "Graph": "jit-graph",
    "Node": "jit-graph",
    "Value": "jit-graph",
    "Block": "jit-graph",
    "Code": "jit-code",
    "DispatchKeySet": "dispatch-keys",
}
_CALL = re.compile(r"(?:->|\.)\s*(?:dump|print)\s*\(\s*\)\s*;?\s*$")
_CAST = re.compile(
    r"\(\s*(?:const\s+)?(?:(?:::)?\w+::)*(?P<type>\w+)(?:\s+const)?\s*[*&]+\s*\)\s*(?P<value>.+)"
)


def instead_of(expression: str) -> str:
    """What to type instead of such a call; empty where the text is none. Only types of PyTorch are known."""
    call = _CALL.search(expression)
    if call is None:
        return ""
    cast = _CAST.search(expression[: call.start()])
    if cast is None:
        return "" if "(" in expression[: call.start()] else _for_variable(expression[: call.start()].strip())
    command = _TYPES.get(cast["type"])
    return f"type {command} {_balanced(cast['value'])}: it reads memory and calls nothing" if command else ""


def _for_variable(name: str) -> str:
    return f"an IValue: ivalue {name}; a tensor: tensor {name}; a graph: jit-graph {name}"


def _balanced(text: str) -> str:
    """The text up to the first parenthesis that nothing in it has opened."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return text[:at].strip()
    return text.strip()
