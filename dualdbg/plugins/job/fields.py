"""Fields of JSON objects that anybody may have written. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_LARGEST = 1 << 63


def checked(kind: type, value: object, name: str) -> Any:
    """The value, which has to be of this type. Raises ValueError."""
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{name} is no {kind.__name__}")
    return value


def or_none(kind: type, row: Mapping[str, Any], name: str) -> Any:
    """The field, None where it is missing or null. Raises ValueError where it is of another type."""
    value = row.get(name)
    return None if value is None else checked(kind, value, name)


def number(row: Mapping[str, Any], name: str) -> int | None:
    """A whole number of 64 bits. Raises ValueError for another one."""
    value = or_none(int, row, name)
    if value is not None and not -_LARGEST <= value < 2 * _LARGEST:
        raise ValueError(f"{name} is no number of 64 bits")
    return value  # type: ignore[no-any-return]


def seconds(row: Mapping[str, Any], name: str) -> float | None:
    """A time, none that is below 0 or needs more than 64 bits. Raises ValueError for another one."""
    value = row.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _LARGEST:
        raise ValueError(f"{name} is no time in seconds")
    return float(value)


def short(row: Mapping[str, Any], name: str, most: int = 2000) -> str:
    """A text; what is beyond ``most`` characters is cut off. Raises ValueError where it is none."""
    return checked(str, row.get(name), name)[:most]  # type: ignore[no-any-return]


def objects(row: Mapping[str, Any], name: str, most: int) -> list[dict[str, Any]]:
    """A list of at most so many objects. Raises ValueError for another one."""
    found = checked(list, row.get(name), name)
    if len(found) > most:
        raise ValueError(f"{name} has more than {most} rows")
    return [checked(dict, each, f"a row of {name}") for each in found]
