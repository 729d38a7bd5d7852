"""Reading PyTorch's derivatives.yaml: the formulas and the graph node with which an operator is differentiated.

Like native_functions.yaml, the file is read as text, an entry at a time: ``- name: SCHEMA`` in column 0, then
``INPUTS: FORMULA`` in column 2 (or, below ``dispatch:``, in column 6 for each autograd key).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import SymbolError
from .native_signature import arguments

FILE = Path("torchgen/packaged/autograd/derivatives.yaml")
DEFAULT = "Default"
_NAME = re.compile(r"^- name: +(?P<name>(?P<base>\w+)[\w.]*)\(", re.MULTILINE)


@dataclass(frozen=True)
class Derivative:
    """How an overload is differentiated.

    ``formulas`` are pairs of the inputs, as written (``self``, ``self, other``), and the C++ expression of their
    gradient. ``node`` is the class of the graph's node (``MmBackward0``, in ``torch::autograd::generated``); None
    when no input has a gradient. ``key`` is the autograd dispatch key, Default for all.
    """

    name: str
    formulas: tuple[tuple[str, str], ...]
    node: str | None
    key: str = DEFAULT


def read_text(torch_directory: Path) -> str:
    """The text of derivatives.yaml of the torch in ``torch_directory``.

    :raises SymbolError: the file is not there or cannot be read.
    """
    path = torch_directory.parent / FILE
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SymbolError(
            f"cannot read PyTorch's derivatives {path}: {error.strerror}",
            "they are part of the torchgen package that pip installs beside torch",
        ) from error


def find(text: str, name: str) -> list[Derivative]:
    """The derivatives of an overload (``add.Tensor``); an in-place one has those of its functional form.

    One for each autograd key. Empty when the operator has no own derivatives: it is composite, or has no gradient.
    """
    base, _, overload = name.partition(".")
    found = _find(text, base, overload)
    if not found and base.endswith("_") and not base.endswith("__"):
        return _find(text, base[:-1], overload)
    if not found and base.endswith("_copy"):  # made by torchgen from the view operator
        views = _find(text, base.removesuffix("_copy"), overload)
        return [replace(view, name=name, node=view.node and f"{view.node}_copy") for view in views]
    return found


def _find(text: str, base: str, overload: str) -> list[Derivative]:
    """Nodes are numbered over all entries of one prefix, whatever their overload (load_derivatives.py)."""
    wanted = f"{base}.{overload}" if overload else base
    prefix = node_prefix(base)
    numbers: Counter[str] = Counter()
    found = []
    for match in _NAME.finditer(text):
        if node_prefix(match["base"]) != prefix:
            continue
        for key, formulas in _formulas(_block_at(text, match.start())):
            kind = prefix if key == DEFAULT else f"{prefix}{key}"
            node = None
            if any(value != "non_differentiable" for _, value in formulas):
                node = f"{kind}{numbers[kind]}"
                numbers[kind] += 1
            if match["name"] == wanted:
                found.append(Derivative(wanted, formulas, node, key))
    return found


def node_prefix(base: str) -> str:
    """``AddBackward`` for ``add`` (``_create_op_prefix`` in load_derivatives.py)."""
    camel = "".join(part.title() for part in base.split("_"))
    return f"{camel}Backward".replace("ForwardBackward", "Backward")


def _block_at(text: str, start: int) -> str:
    end = text.find("\n- name: ", start)
    return text[start : end if end >= 0 else len(text)]


def _formulas(block: str) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """``(autograd key, formulas)`` of one entry. Those keyed by outputs (forward mode) are left out."""
    lines = block.splitlines()
    inputs = {argument.name for argument in arguments(lines[0].partition(": ")[2])}
    keys: dict[str, list[tuple[str, str]]] = {DEFAULT: []}
    key = DEFAULT
    depth = 2
    for line in _logical_lines(lines[1:]):
        left, _, right = line.partition(":")
        indent = len(left) - len(left.lstrip())
        if left.strip() == "dispatch":
            keys.clear()
            depth = 6
        elif indent == 4 and depth == 6:
            key = left.strip()
            keys[key] = []
        elif indent == depth and {name.strip() for name in left.split(",")} <= inputs:
            keys[key].append((left.strip(), right.strip().strip('"')))
    for name, formulas in keys.items():
        yield name, tuple(formulas)


def _logical_lines(lines: list[str]) -> Iterator[str]:
    """Lines without comments. Lines that continue a text in double quotes are joined."""
    joined = ""
    for line in lines:
        if not joined and (not line.strip() or line.lstrip().startswith("#")):
            continue
        joined = f"{joined} {line.strip()}" if joined else line.rstrip()
        if joined.count('"') % 2 == 0:
            yield joined
            joined = ""
