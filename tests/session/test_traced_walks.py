"""Random walks against traces that were made without a debugger; ``python -m bench walks`` has as many as you like."""

from __future__ import annotations

import pytest

from bench import walks
from tests import rows

pytestmark = pytest.mark.processes

SEEDS = range(1, 5)
MORE = range(5, 9)


@pytest.mark.parametrize("seed", rows.some([*SEEDS, *MORE], len(SEEDS)))
def test_each_step_ends_where_the_trace_says(seed: int) -> None:
    walk = walks.Walk.of(seed)
    assert walks.play(walk) == "", str(walk)


def test_the_numbers_above_reach_both_levels_and_every_command() -> None:
    chosen = [walks.Walk.of(seed) for seed in SEEDS]
    assert {walk.optimize for walk in chosen} == {"0", "2"}
    assert {kind for walk in chosen for kind in walk.kinds} == {"next", "step", "finish"}
    assert {letter for walk in chosen for letter in walk.plan} >= set("nprgytqw")
