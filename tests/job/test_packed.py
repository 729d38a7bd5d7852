"""What a node packs is found again among whatever else its shell writes."""

from __future__ import annotations

import gzip

import pytest

from dualdbg.snapshot.packed import pack, unpack

TEXT = "".join(f'{{"event": "process", "pid": {number}}}\n' for number in range(5000))


@pytest.mark.parametrize("before", ["", "Welcome to node7\n", "\x1b[2Jdualdbg-packed 1 \n"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_greeting_and_other_line_ends_do_no_harm(before: str, end: str) -> None:
    sent = (before + pack(TEXT, "1.2.3") + "logout\n").replace("\n", end).encode()
    found = unpack(sent)
    assert found is not None
    assert gzip.decompress(found[0]).decode() == TEXT and found[1] == "1.2.3"


def test_a_part_is_nothing() -> None:
    sent = pack(TEXT, "1").encode()
    assert all(unpack(sent[:end]) is None for end in (0, 5, 30, len(sent) // 2, len(sent) - 2))


def test_other_lines_between_are_refused() -> None:
    first, *rest = pack(TEXT, "1").splitlines()
    with pytest.raises(ValueError):
        unpack("\n".join([first, "a message!", *rest, ""]).encode())
