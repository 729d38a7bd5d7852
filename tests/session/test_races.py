"""Stops, commands, deaths, refusals and delays in every order, on a session with fake engines.

What the session promises is looked at all the while: no stop is lost, none is told twice, nothing is asked of a mute
engine, no breakpoint of a step is forgotten, nothing is read while the program runs, no stack of an earlier stop is
shown, a frozen thread does not run, one stop follows each resume, and every command ends. Time is virtual: a second of
the session's costs nothing. When a program is over, the next one begins.

Of forks a session hears this: the program stops where the user has gdb catch them (``gdb catch fork``); the end of a
process that was forked off and is followed is told twice, by gdb and by who watches it; and such a process may be
given up while it joins. gdb lets go of a child by itself, and pydevd is told to look at none. How a process joins is in
tests/follow.
"""

from __future__ import annotations

import os
import random

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import (
    run_state_machine_as_test,
)

from dualdbg.model import Exit

from .race_choices import STEPS_OF_A_LIFE
from .race_lives import (
    a_native_stop_while_python_is_read,
    call_before_the_stop_is_told,
    continue_with_something_to_do,
)
from .race_machine import Races

pytestmark = pytest.mark.pure  # the session's own parts could start processes, for what no rule asks
LIVES = 80
WALKS = 250
# Every transition but that of a core's end, which has a test of its own.
REACHED = {
    *("begin", "expect_entry", "attached", "run_for_a_moment", "keep_held", "attach_ready", "tell_attached"),
    *("take_interrupts", "native_stopped", "native_fact_read", "native_ready", "native_unjudged"),
    *("resume_failed", "letting_go", "target_died", "gdb_lost", "repaired", "debugpy_lost", "debugpy_missed"),
    *("halt_wanted", "halt_done", "pause_wanted", "pause_look_due", "pause_refused", "interrupt_failed"),
    *(
        "python_stopped",
        "python_continued",
        "python_position_read",
        "python_hits_read",
        "python_leaving_read",
    ),
    *(
        "python_unread",
        "python_unjudged",
        "python_ready",
        "library_passed_over",
        "answer_owed",
        "answer_came",
    ),
    *(
        "leave_natively",
        "departed",
        "native_refused",
        "leave_in_python",
        "python_agreed",
        "python_refused",
        "step_forgotten",
    ),
    *("kill_wanted", "exited", "detached"),
}


def test_races() -> None:
    run_state_machine_as_test(
        Races,
        settings=settings(
            max_examples=LIVES,
            stateful_step_count=STEPS_OF_A_LIFE,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
            database=None,
            phases=[Phase.generate],
        ),
    )


def test_walks_take_every_transition() -> None:
    """The same lives each time. With DUALDBG_RACES so many others, each time new ones."""
    wanted = os.environ.get("DUALDBG_RACES")
    seeds = range(WALKS) if wanted is None else random.sample(range(2**32), int(wanted))
    before = Races.steps
    for seed in seeds:
        try:
            Races().walk(seed)
        except Exception as error:
            raise AssertionError(f"Races().walk({seed}) does it again") from error
    assert Races.steps - before > 25 * len(seeds)
    for live in (
        continue_with_something_to_do,
        call_before_the_stop_is_told,
        a_native_stop_while_python_is_read,
    ):
        for seed in range(30):
            live(seed)
    assert set(Races.taken) >= REACHED, f"never taken: {REACHED - set(Races.taken)}"


def test_exit_status_is_told_once() -> None:
    """The plainest life: run, end."""
    machine = Races()
    machine.begin(1, "launched")
    machine._at(machine.world.exit)
    machine._at(lambda: None)
    assert machine.session.exit == Exit(0)
    machine.teardown()
