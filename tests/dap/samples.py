"""Where things are in the native samples: lines are found by their text, so that they may move."""

from __future__ import annotations

from pathlib import Path

from tests.support import SAMPLES

HELPER = SAMPLES / "native" / "helper.cpp"
PYBIND = SAMPLES / "native" / "sample_pybind.cpp"


def line_of(file: Path, text: str, number: int = 1) -> int:
    """The line of the ``number``-th occurrence of ``text``, from 1."""
    found = [index for index, line in enumerate(file.read_text().splitlines(), 1) if text in line]
    return found[number - 1]


def paths(frames: list[dict[str, object]]) -> list[str]:
    """Each frame in short: ``name`` of native ones, ``name:line`` of Python ones, ``--`` for a label."""
    rows = []
    for frame in frames:
        source = frame.get("source")
        if frame.get("presentationHint") == "label":
            rows.append("--")
        elif isinstance(source, dict) and str(source.get("path", "")).endswith(".py"):
            rows.append(f"{frame['name']}:{frame['line']}")
        else:
            rows.append(str(frame["name"]))
    return rows
