"""Random kills of each process of a session, with fixed numbers; ``python -m bench kills`` has as many as you like."""

from __future__ import annotations

import pytest

from bench import kills
from tests import rows

pytestmark = [pytest.mark.slow, pytest.mark.processes]

SEEDS = [1, 2, 5, 7, 24]
MORE = [3, 4, 6, 8, 9, 10]


@pytest.mark.parametrize("seed", rows.some([*SEEDS, *MORE], len(SEEDS)))
def test_nothing_is_left_behind(seed: int) -> None:
    kill = kills.Kill.of(seed)
    wrong = kills.play(kill)
    assert not wrong or wrong.startswith(kills.LIMIT), f"{kill}: {wrong}"


def test_the_numbers_above_reach_every_front_end_start_and_victim() -> None:
    chosen = [kills.Kill.of(seed) for seed in SEEDS]
    assert {kill.front_end for kill in chosen} == set(kills.FRONT_ENDS)
    assert {kill.start for kill in chosen} == {"launched", "followed", "attached"}
    assert {kill.victim for kill in chosen} == {"dualdbg", "gdb", "target", "child"}
