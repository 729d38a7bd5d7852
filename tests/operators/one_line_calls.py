"""Finds Python one-liners that call ATen operators on the CPU: arguments are tried until a call succeeds.

Run as a program: ``one_line_calls.py OPERATOR...`` prints one JSON object a line for each operator that it
could call, ``{"operator": "sin", "call": "torch.ops.aten.sin.default(torch.rand(2, 2))", "bound": "torch.sin(…)"}``;
``bound`` is the same call through PyTorch's Python binding, null where there is none.
The calls run in a child process that is started anew after an operator has crashed it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

SECONDS_PER_OPERATOR = 5

# Each profile gives the text of a tensor, and of numbers, for the arguments that have no better answer by name.
PROFILES = (
    {"tensor": "torch.rand(2, 2)"},
    {"tensor": "torch.rand(2)"},
    {"tensor": "torch.ones(2, 2, dtype=torch.int64)"},
    {"tensor": "torch.ones(2, 2, dtype=torch.bool)"},
    {"tensor": "torch.rand(1, 2, 4, 4)"},
    {"tensor": "torch.rand(1, 2, 4)"},
    {"tensor": "torch.rand(1, 2, 4, 4, 4)"},
    {"tensor": "torch.rand(2, 2, dtype=torch.complex64)"},
    {"tensor": "torch.tensor(1.0)"},
    {"tensor": "torch.tensor(1)"},
    {"tensor": "torch.ones(1, dtype=torch.int32)"},
    {"tensor": "torch.rand(2, 2).to_sparse()"},
    {"tensor": "torch.rand(2, 2).to_sparse_csr()"},
    {"tensor": "torch.quantize_per_tensor(torch.rand(2, 2), 0.1, 0, torch.quint8)"},
)
INDEX = "torch.zeros(2, 2, dtype=torch.int64)"
BY_NAME = {
    "index": (INDEX, "torch.zeros(2, dtype=torch.int64)"),
    "indices": (INDEX, "torch.zeros(2, dtype=torch.int64)", "[torch.zeros(2, dtype=torch.int64)]"),
    "mask": ("torch.ones(2, 2, dtype=torch.bool)",),
    "condition": ("torch.ones(2, 2, dtype=torch.bool)",),
    "target": (
        "torch.rand(2, 2)",
        "torch.zeros(2, dtype=torch.int64)",
        "torch.zeros(1, 4, 4, dtype=torch.int64)",
    ),
    "size": ("[2, 2]", "[1, 2, 4, 4]"),
    "dims": ("[0, 1]", "[0]"),
    "equation": ('"ij,jk->ik"',),
    "kernel_size": ("[1, 1]", "[1]", "[1, 1, 1]"),
    "output_size": ("[2, 2]", "[2]", "[2, 2, 2]"),
    "p": ("0.5", "2"),
    "indexing": ('"ij"',),
    "reduce": ('"sum"', '"mean"'),
    "mode": ('"constant"', '"sum"', "0"),
    "UPLO": ('"L"',),
    "output_mask": ("[True, True]", "[True, True, True]", "[True, True, True, True]"),
    "batch1": ("torch.rand(2, 2, 2)",),
    "batch2": ("torch.rand(2, 2, 2)",),
    "groups": ("1",),
    "transposed": ("False",),
}
BY_TYPE = {
    "int": ("0", "1", "2"),
    "float": ("1.0", "0.5"),
    "bool": ("True", "False"),
    "number": ("1", "2.0"),
    "Scalar": ("1", "2.0"),
    "str": ('"sum"', '"none"', '"constant"'),
    "Generator": ("torch.default_generator",),
    "ScalarType": ("torch.float32",),
    "Layout": ("torch.strided",),
    "Device": ('torch.device("cpu")',),
    "MemoryFormat": ("torch.contiguous_format",),
    "Storage": ("torch.rand(4).untyped_storage()",),
    "QScheme": ("torch.per_tensor_affine",),
    "complex": ("1j",),
    "Stream": (),
}
LISTS = {
    "int": ("[1]", "[1, 1]", "[0]", "[0, 1]", "[1, 1, 1]", "[2, 2]", "[]"),
    "float": ("[1.0, 1.0]", "[]"),
    "bool": ("[True]", "[True, True]", "[True, True, True]", "[False]"),
    "number": ("[1]",),
    "str": ('["N"]',),
}


def calls(schema: Any, limit: int = 120) -> Iterator[str]:
    """Python one-liners that may call the operator of a ``torch.FunctionSchema``, the likely ones first."""
    name = schema.name.removeprefix("aten::")
    function = f"torch.ops.aten.{name}.{schema.overload_name or 'default'}"
    count = 0
    for turn in range(8):
        for profile in PROFILES:
            arguments = []
            for argument in schema.arguments:
                text = _argument(argument, profile["tensor"], turn)
                if text is None:
                    continue
                arguments.append(f"{argument.name}={text}" if argument.kwarg_only else text)
            count += 1
            if count > limit:
                return
            yield f"{function}({', '.join(arguments)})"


def _argument(argument: Any, tensor: str, turn: int) -> str | None:
    """The text of one argument; None leaves it to its default."""
    if argument.has_default_value() and turn % 2 == 0:
        return None
    kind = str(argument.type)
    optional = kind.startswith("Optional[")
    if optional:
        if turn % 2 == 0:
            return "None"
        kind = kind[len("Optional[") : -1]
    named = BY_NAME.get(argument.name)
    if named is not None:
        return named[turn // 2 % len(named)]
    if kind == "Tensor":
        return tensor
    if kind in ("List[Tensor]", "List[Optional[Tensor]]"):
        return f"[{tensor}, {tensor}]"
    if kind.startswith("List["):
        choices = LISTS.get(kind[5:-1], ("[]",))
        return choices[turn // 2 % len(choices)]
    choices = BY_TYPE.get(kind, ("None",)) or ("None",)
    if argument.name == "dtype" or kind == "ScalarType":
        return "torch.float32"
    return choices[turn // 2 % len(choices)]


def _search(operators: list[str], out: int) -> None:
    """In the child: tries each operator and writes its working call, or that it has none."""
    import warnings

    import torch

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    schemas: dict[str, Any] = {}
    for schema in torch._C._jit_get_all_schemas():
        if schema.name.startswith("aten::"):
            base = schema.name.removeprefix("aten::")
            schemas[f"{base}.{schema.overload_name}" if schema.overload_name else base] = schema
    for operator in operators:
        os.write(out, (json.dumps({"trying": operator}) + "\n").encode())
        signal.alarm(SECONDS_PER_OPERATOR)
        tried = calls(schemas[operator]) if operator in schemas else ()
        call = next((call for call in tried if _works(call, torch)), None)
        bound = None
        if call is not None:
            candidate = f"torch.{operator.partition('.')[0]}({call.partition('(')[2]}"
            bound = candidate if _works(candidate, torch) else None
        signal.alarm(0)
        os.write(out, (json.dumps({"operator": operator, "call": call, "bound": bound}) + "\n").encode())


def _works(call: str, torch: Any) -> bool:
    try:
        eval(call, {"torch": torch})
    except Exception:
        return False
    return True


def find(operators: list[str]) -> list[dict[str, str | None]]:
    """What the program prints, for the operators (``add.Tensor``) that could be called, in their order."""
    found: list[dict[str, str | None]] = []
    left = list(operators)
    while left:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            null = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(null, stream)
            _search(left, writer)
            os._exit(0)
        os.close(writer)
        done = 0
        with os.fdopen(reader) as lines:
            for line in lines:
                answer = json.loads(line)
                if "trying" in answer:
                    done += 1
                elif answer["call"] is not None:
                    found.append(answer)
        os.waitpid(child, 0)
        left = left[done:]
    return found


if __name__ == "__main__":
    for answer in find(sys.argv[1:]):
        print(json.dumps(answer))
