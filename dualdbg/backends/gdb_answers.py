"""What our commands in gdb answer becomes facts. Pure: an answer of another form raises one of :data:`OTHER_FORM`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .native import (
    CallEvidence,
    EntryCode,
    HelperAnswer,
    KeptArguments,
    MemoryRange,
    ObjectPage,
    ObjectRow,
    PassedOn,
)

OTHER_FORM = (
    OSError,
    ValueError,
    RecursionError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
)
"""What the reading of JSON and of files, and the functions below, raise for what is not the answer."""

T = TypeVar("T")


def nothing(_answer: Any) -> None:
    """Of a command without an answer."""
    return


def one(kind: Callable[..., T]) -> Callable[[Any], T]:
    """What has the fields of an answer as arguments."""
    return lambda row: kind(**row)


def rows(kind: Callable[..., T]) -> Callable[[Any], list[T]]:
    """The same for each row of a list."""
    return lambda rows: [kind(**row) for row in rows]


def numbers(rows: Any) -> list[int]:
    """A list of numbers."""
    return [int(row) for row in rows]


def kept_arguments(answer: Any) -> KeptArguments:
    """Where arguments of a function still are."""
    kept = {str(name): (str(register), int(size)) for name, (register, size) in answer["kept"].items()}
    return KeptArguments(kept, tuple(numbers(answer["outside"])))


def entry_code(answer: Any) -> EntryCode:
    """What the code of a function tells of how it is called."""
    raw = answer["passed_on"]
    passed_on = PassedOn(int(raw[0]), tuple(numbers(raw[1]))) if raw is not None else None
    return EntryCode(
        answer["evidence"], bool(answer["not_hidden"]), tuple(numbers(answer["outside"])), passed_on
    )


def call_evidence(answer: Any) -> CallEvidence:
    """What a call tells of what is passed."""
    call, goes_to = answer["call"], answer["goes_to"]
    return CallEvidence(None if call is None else dict(call), None if goes_to is None else int(goes_to))


def number_or_none(answer: Any) -> int | None:
    """A number, or None where gdb knows none."""
    return None if answer is None else int(answer)


def text_or_none(answer: Any) -> str | None:
    """A text, or None where gdb knows none."""
    return None if answer is None else str(answer)


def named_numbers(answer: Any) -> dict[str, int]:
    """Numbers by name, such as registers."""
    return {str(name): int(number) for name, number in answer.items()}


def texts(rows: Any) -> list[str]:
    """A list of texts."""
    return [str(row) for row in rows]


def texts_or_none(rows: Any) -> list[str] | None:
    """Texts, or None where there is no answer."""
    return None if rows is None else texts(rows)


def memory_place(row: Any) -> MemoryRange:
    """An address and a size in bytes."""
    return MemoryRange(int(row["address"]), int(row["size"]))


def helper_answer(answer: Any) -> HelperAnswer:
    """The answer of a helper's command: a value, or its error with a hint."""
    if "error" in answer:
        return HelperAnswer(None, str(answer["error"]), str(answer["hint"] or ""))
    return HelperAnswer(_object_row(answer["value"]))


def object_rows(rows: Any) -> list[ObjectRow]:
    """Python objects as rows."""
    return [_object_row(row) for row in rows]


def object_page(answer: Any) -> ObjectPage:
    """Some of the children of an object, and how many it has."""
    return ObjectPage(tuple(object_rows(answer["rows"])), int(answer["total"]))


def _object_row(row: Mapping[str, Any]) -> ObjectRow:
    children = row["children"]
    return ObjectRow(
        name=row["name"],
        type=row["type"] or "",
        value=row["value"],
        address=row["address"],
        total=row["total"],
        data=row["data"],
        kind=row.get("kind", ""),
        layout=row["layout"],
        children=None if children is None else tuple(_object_row(child) for child in children),
    )
