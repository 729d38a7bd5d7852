"""Tensors among the variables: their dtype and shape stand where other values have their type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...errors import DualdbgError
from ...model import Frame, Language, Value
from ...session.session import Session

_TYPES = ("Tensor", "Parameter", "ndarray")
_PREFIX = {"Parameter": "Parameter ", "ndarray": "ndarray "}  # facts that the text of the value does not give
_MOST = 64  # tensors of a frame that are asked about


async def described(session: Session, tid: int, frame: Frame, values: Sequence[Value]) -> Sequence[Value]:
    """The same values; the types of those that debugpy holds say ``float32 [2, 3]``.

    One expression asks all of them; debugpy has run their repr already. Where the expression fails, the values stay as
    they are.
    """
    names = [
        value.expression
        for value in values
        if value.language is Language.PYTHON and value.type in _TYPES and value.expression
    ][:_MOST]
    if not names:
        return values
    question = f"'|'.join(f'{{_.dtype}} {{list(_.shape)}}' for _ in ({', '.join(names)},))"
    try:
        answer = await session.inspector.evaluate(question, tid, frame, Language.PYTHON)
    except DualdbgError:
        return values
    facts = dict(zip(names, _facts(answer.value), strict=False))
    return [
        replace(value, type=f"{_PREFIX.get(value.type, '')}{facts[value.expression]}")
        if value.expression in facts
        else value
        for value in values
    ]


def _facts(text: str) -> list[str]:
    """``'torch.float32 [2, 3]|torch.int64 []'``, as Python writes a string, without the module."""
    return [fact.removeprefix("torch.") for fact in text.strip("'").split("|")]
