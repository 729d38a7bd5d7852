"""Tensors among the variables: their dtype and sizes stand where other values have their type; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ...model import Language, Value

_PREFIX = {"Parameter": "Parameter ", "ndarray": "ndarray "}  # facts that the text of the value does not give


def described(values: Sequence[Value]) -> Sequence[Value]:
    """The same values; the types of tensors that debugpy holds say ``float32 [2, 3]``."""
    return [
        replace(value, type=f"{_PREFIX.get(value.type, '')}{value.data['dtype']} {value.data['sizes']}")
        if value.language is Language.PYTHON and _is_tensor(value.data)
        else value
        for value in values
    ]


def _is_tensor(data: Any) -> bool:
    return isinstance(data, dict) and {"dtype", "sizes"} <= data.keys()
