"""One decision is one line of session.log that a person can read: short, without the insides of objects."""

from __future__ import annotations

import pytest

from dualdbg.backends.events import NativeStopped, PythonCause, StopCause
from dualdbg.errors import WrongState
from dualdbg.session.decision_log import brief, decision
from dualdbg.session.effects import AnswerHalt, Halt, ReadNative, Resume
from dualdbg.session.stepping.step import Step
from dualdbg.session.stops.facts import NativeFacts, Need
from dualdbg.session.transitions.going_on import departed, leave_natively
from dualdbg.session.transitions.native import native_stopped
from tests.session.test_races import Races

LONGEST = 240  # characters


def a_life(seed: int) -> list[str]:
    """What is logged of a session that meets every kind of stop, steps, halts and ends."""
    machine = Races()
    machine.begin(seed, "launched")
    lines: list[str] = []
    machine.session.loop.log = lines.append
    machine._at(lambda: machine.world.change(StopCause.LIBRARIES))
    machine.time_passes(2.0)
    machine._at(lambda: machine.world.hit(min(machine.world.points)))
    machine.time_passes(2.0)
    machine.goes_on("next", None)
    machine.time_passes(2.0)
    if machine.world.stepping is not None:
        machine._at(machine.world.end_native_step)
    machine.time_passes(2.0)
    machine.goes_on("continue", None)
    machine._at(lambda: machine.world.stop_in_python(PythonCause.BREAKPOINT))
    machine.time_passes(2.0)
    machine.look_at_everything(0.002)
    machine.time_passes(2.0)
    machine.goes_on("continue", None)
    machine._at(lambda: machine.world.interrupt("other"))
    machine.time_passes(2.0)
    machine.pause(None)
    machine.time_passes(2.0)
    machine._at(machine.world.exit)
    machine.time_passes(2.0)
    machine.teardown()
    return lines


@pytest.mark.parametrize("seed", range(5))
def test_a_decision_is_a_line_for_people(seed: int) -> None:
    lines = a_life(seed)
    transitions = {line.partition("(")[0] for line in lines}
    assert {"native_stopped", "native_fact_read", "native_ready", "halt_wanted", "halt_done"} <= transitions
    assert {"python_stopped", "python_ready", "leave_natively", "exited"} <= transitions
    for line in lines:
        assert len(line) < LONGEST and "\n" not in line and "\t" not in line, line
        assert " object at 0x" not in line and "<" not in line and "Unread" not in line, line


def test_what_came_the_states_and_what_is_done() -> None:
    stop = NativeStopped(StopCause.BREAKPOINT, 5551, 1, gdb_breakpoint=3, words="breakpoint-hit")
    facts = NativeFacts(stop, met=((1,), None))
    line = decision(native_stopped, (stop,), "running, free", "running, judging", [Resume(True)])
    assert line == "native_stopped(breakpoint 3 in 5551): running, free -> judging: Resume(signal=True)"
    assert decision(departed, (), "running", "running", []) == "departed(): running: nothing"
    leaving = (Step("next", 5551, 1), True, None, False)
    line = decision(leave_natively, leaving, "shown", "shown", [])
    words = "the next, gdb_steps=True, with_signal=False"
    assert line == f"leave_natively({words}): shown: nothing"
    assert brief(facts) == "breakpoint 3 in 5551 met=((1), None)"
    assert brief(ReadNative(facts, Need.THREAD)) == "read thread"
    halt = Halt()
    assert brief(AnswerHalt(halt, True)) == f"AnswerHalt(halt={brief(halt)}, outcome=True)"
    assert brief(WrongState("it runs", "pause it")) == "WrongState 'it runs'"
    assert len(brief("x" * 5000)) < 100
