"""Reads the arguments of a request: each value is checked for its type, so that a bad one gets a clear refusal."""

from __future__ import annotations

from typing import Any, TypeVar, Union, overload

from ...errors import UsageError

_T = TypeVar("_T")


class _Required:
    """Stands for "there is no default"."""


REQUIRED = _Required()
_LARGEST = (1 << 53) - 1  # the schema's bound of an integer: what a double holds exactly
_WORDS = {str: "a text", int: "a number", bool: "true or false", list: "a list", dict: "an object"}


class Arguments:
    """One JSON object from a client; ``where`` names it in messages (``setBreakpoints``, ``launch.env``)."""

    def __init__(self, where: str, values: Any) -> None:
        if values is None:
            values = {}
        if not isinstance(values, dict):
            raise UsageError(f"{where}: the arguments are not an object")
        self.where = where
        self.values: dict[str, Any] = values

    def __contains__(self, name: str) -> bool:
        return self.values.get(name) is not None

    @overload
    def text(self, name: str) -> str: ...
    @overload
    def text(self, name: str, default: _T) -> Union[str, _T]: ...
    def text(self, name: str, default: Any = REQUIRED) -> Any:
        """A text. Raises UsageError for another type, and where it is missing without a ``default``."""
        return self._get(name, str, default)

    @overload
    def number(self, name: str) -> int: ...
    @overload
    def number(self, name: str, default: _T) -> Union[int, _T]: ...
    def number(self, name: str, default: Any = REQUIRED) -> Any:
        """A number, within what JSON can carry exactly; errors as for :meth:`text`."""
        value = self._get(name, int, default)
        if isinstance(value, int) and abs(value) > _LARGEST:
            raise UsageError(f"{self.where}: {name} is too large a number")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """A truth value; ``default`` when it is missing."""
        return bool(self._get(name, bool, default))

    def texts(self, name: str) -> list[str]:
        """A list of texts; an empty list when it is missing."""
        rows = self._get(name, list, [])
        for row in rows:
            if not isinstance(row, str):
                raise UsageError(f"{self.where}: {name} is not a list of texts")
        return list(rows)

    def object(self, name: str) -> Arguments:
        """An object; an empty one when it is missing."""
        return Arguments(f"{self.where}.{name}", self._get(name, dict, {}))

    def objects(self, name: str) -> list[Arguments]:
        """A list of objects; an empty list when it is missing."""
        rows = self._get(name, list, [])
        return [Arguments(f"{self.where}.{name}[{index}]", row) for index, row in enumerate(rows)]

    def address(self, name: str) -> int:
        """A memory or instruction reference: a number as text, hexadecimal with 0x."""
        text = self.text(name)
        try:
            return int(text, 0)
        except ValueError:
            raise UsageError(f"{self.where}: {name} is {text[:80]!r}, which is no address") from None

    def _get(self, name: str, kind: type, default: Any) -> Any:
        value = self.values.get(name)
        if value is None:
            if default is REQUIRED:
                raise UsageError(f"{self.where}: {name} is missing")
            return default
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise UsageError(f"{self.where}: {name} is not {_WORDS[kind]}")
        return value
