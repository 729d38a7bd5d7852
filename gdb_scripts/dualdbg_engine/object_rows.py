"""The form in which the session gets all values that the helpers decode: a row with its parts in ``children``."""

from __future__ import annotations

from typing import Any

from dualdbg_shared.requests.values import ObjectRow


def object_row(structure: dict[str, Any]) -> ObjectRow:
    """A decoded value as the session's rows are: its parts in ``children``, as far as they were read."""
    kind, type_ = structure["kind"], structure.get("type")
    children = structure.get("children")
    return ObjectRow(
        name=structure.get("name", ""),
        kind=kind,
        type=kind if type_ is None else type_ if kind.islower() else "%s %s" % (kind, type_),
        value=structure["text"],
        address=number_of(structure.get("address")),
        data=structure.get("data"),
        children=None if children is None else [object_row(child) for child in children],
        total=structure.get("total"),
    )


def number_of(text: str | None) -> int | None:
    """A hexadecimal address as a number."""
    return int(text, 16) if text else None
