"""What GitHub shows beside a file: workflow commands, one line each."""

from __future__ import annotations

import os

from .records import Record

# GitHub, "Workflow commands for GitHub Actions"; the escapes are those of @actions/core (command.ts).
_IN_MESSAGE = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTY = {**_IN_MESSAGE, ":": "%3A", ",": "%2C"}


def annotation(record: Record, workspace: str) -> str:
    """``::error file=…,line=…,title=…::…``. ``workspace``: the folder that files are named from."""
    file = os.path.relpath(record.file, workspace or os.curdir) if record.file else None
    rows = {"file": file, "line": record.line, "title": f"{record.what or 'pytest'} crashed or hung"}
    properties = ",".join(
        f"{name}={_escaped(str(value), _IN_PROPERTY)}" for name, value in rows.items() if value
    )
    return f"::error {properties}::{_escaped(record.summary, _IN_MESSAGE)}"


def _escaped(text: str, table: dict[str, str]) -> str:
    return "".join(table.get(letter, letter) for letter in text)
