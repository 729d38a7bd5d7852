"""A program that counts and then asks for a name, for tests of the dashboard."""

from __future__ import annotations

from pathlib import Path

import pytest

COUNTER = """\
def count(limit):
    total = 0
    for number in range(limit):
        total += number
        names = {"number": number, "twice": [number, number]}
    return total


print(count(3))
answer = input("name? ")
print("hello", answer)
"""


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    path = tmp_path / "counter.py"
    path.write_text(COUNTER)
    return path
