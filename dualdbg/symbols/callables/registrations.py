"""Reads the texts in which PyTorch's dispatcher says what is registered for an operator. Pure.

They are made by ``OperatorEntry::dumpState`` and ``dumpComputedTable`` (ATen/core/dispatch/OperatorEntry.cpp). A line
that does not look as there is left out.
"""

from __future__ import annotations

import re

from .resolved import Registered, TableRow

# CPU: registered at FILE:LINE :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]
# Of several kernels for a key the first is in force; the others, marked (inactive), are what it replaced.
_REGISTERED = re.compile(
    r"(?P<key>\w+(?:\[alias\])?): registered at (?P<place>.+?) :: (?P<signature>.*?) \[ (?P<calls>[\w ]*)\]"
)
_SCHEMA = re.compile(r"debug: registered at (?P<place>.+)")
# CPU: fallthrough registered at FILE:LINE [backend fallback]
_ROW = re.compile(r"(?P<key>\w+): (?P<through>fallthrough )?registered at (?P<place>.+) \[(?P<how>[\w ]+)\]")


def registered_rows(dump: str) -> tuple[str | None, tuple[Registered, ...]]:
    """Where the schema was registered, and the kernels with theirs."""
    place = None
    found = []
    for line in dump.splitlines():
        schema, kernel = _SCHEMA.fullmatch(line.strip()), _REGISTERED.fullmatch(line.strip())
        if schema is not None:
            place = schema["place"]
        elif kernel is not None:
            signature = None if kernel["signature"] == "(none)" else kernel["signature"]
            found.append(
                Registered(kernel["key"], kernel["place"], signature, tuple(kernel["calls"].split()))
            )
    return place, tuple(found)


def table_rows(table: str) -> tuple[TableRow, ...]:
    """What each dispatch key comes to; keys that come to nothing have no row."""
    matches = (_ROW.fullmatch(line.strip()) for line in table.splitlines())
    return tuple(
        TableRow(match["key"], match["place"], match["how"], match["through"] is not None)
        for match in matches
        if match is not None
    )
