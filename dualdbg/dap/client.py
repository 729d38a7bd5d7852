"""What a client said of itself in ``initialize``, and how its lines, columns and paths differ from ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .arguments import Arguments


@dataclass(frozen=True)
class Client:
    """The client's own conventions; ours are lines and columns from 1, paths as the target sees them."""

    name: str = ""
    first_line: int = 1
    first_column: int = 1
    uris: bool = False
    supports: frozenset[str] = field(default_factory=frozenset)
    hello: dict[str, Any] = field(default_factory=dict)  # its own words

    @classmethod
    def of(cls, arguments: Arguments) -> Client:
        supported = {
            name.removeprefix("supports") for name, value in arguments.values.items() if value is True
        }
        return cls(
            name=arguments.text("clientID", arguments.text("clientName", "")),
            first_line=1 if arguments.flag("linesStartAt1", True) else 0,
            first_column=1 if arguments.flag("columnsStartAt1", True) else 0,
            uris=arguments.text("pathFormat", "path") == "uri",
            supports=frozenset(supported),
            hello=arguments.values,
        )

    def line(self, line: int) -> int:
        """Our line as the client counts it."""
        return line - 1 + self.first_line

    def our_line(self, line: int) -> int:
        return line + 1 - self.first_line

    def column(self, column: int) -> int:
        return column - 1 + self.first_column

    def our_column(self, column: int) -> int:
        return column + 1 - self.first_column
