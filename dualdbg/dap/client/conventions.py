"""What a client said of itself in ``initialize``, and how its lines, columns and paths differ from ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .arguments import Arguments
from .paths import PathMap


@dataclass
class Client:
    """The client's own conventions; ours are lines and columns from 1, paths as the target sees them.

    ``hello`` are the arguments of its ``initialize``. ``paths`` are known when it has said what to debug.
    """

    name: str = ""
    first_line: int = 1
    first_column: int = 1
    uris: bool = False
    supports: frozenset[str] = frozenset()
    hello: dict[str, Any] = field(default_factory=dict)
    paths: PathMap = field(default_factory=PathMap)

    def introduce(self, arguments: Arguments) -> None:
        """Take note of what the client says of itself."""
        self.name = arguments.text("clientID", arguments.text("clientName", ""))
        self.first_line = 1 if arguments.flag("linesStartAt1", True) else 0
        self.first_column = 1 if arguments.flag("columnsStartAt1", True) else 0
        self.uris = arguments.text("pathFormat", "path") == "uri"
        self.supports = frozenset(
            name.removeprefix("supports") for name, value in arguments.values.items() if value is True
        )
        self.hello = arguments.values
        self.paths = PathMap(uris=self.uris)

    def line(self, line: int) -> int:
        """Our line as the client counts it."""
        return line - 1 + self.first_line

    def our_line(self, line: int) -> int:
        """The client's line as we count it."""
        return line + 1 - self.first_line

    def column(self, column: int) -> int:
        """Our column as the client counts it."""
        return column - 1 + self.first_column

    def our_column(self, column: int) -> int:
        """The client's column as we count it."""
        return column + 1 - self.first_column
