"""A short campaign: random records of gdb. ``python -m bench fuzz --mi 100000`` is the long one."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import fuzz


@pytest.mark.processes
@pytest.mark.parametrize("session", [0, 1, 2])
def test_whatever_gdb_answers_is_an_answer_or_refused(tmp_path: Path, session: int) -> None:
    figures = fuzz.mi_session(1, session, str(tmp_path), None)
    assert figures.unforeseen == []
    assert figures.sent == fuzz.A_GDB


def test_the_same_seed_gives_the_same_records() -> None:
    from bench._mi_records import Records

    first, second, other = Records(3), Records(3), Records(4)
    lines = [first.line(number) for number in range(50)]
    assert lines == [second.line(number) for number in range(50)]
    assert lines != [other.line(number) for number in range(50)]
