"""Lives of the races whose course is known, and whose delays a number decides: what walks come to seldom."""

from __future__ import annotations

from functools import partial

from dualdbg.backends.events import PythonCause

from .race_choices import PYTHON_LINE
from .race_machine import Races


def continue_with_something_to_do(seed: int) -> None:
    """A Python breakpoint is set at a native stop: the thread waits for debugpy where it is back in Python."""
    life = Races()
    life.begin(seed, "launched")
    life._at(life.world.get_signal)
    life.time_passes(0.1)
    life._command("break", lambda: life.session.breakpoints.add(PYTHON_LINE))
    life.goes_on("continue", None)
    life.time_passes(0.1)
    for number in list(life.world.step_breakpoints):
        life._at(partial(life.world.hit, number))
    life.teardown()


def call_before_the_stop_is_told(seed: int) -> None:
    """At a native stop that is read still the user has gdb call a function, which may meet another breakpoint; and
    work of ours wants a halt meanwhile.
    """
    life = Races()
    life.begin(seed, "launched")
    state = life.session.loop.state
    for stop in (life.world.fork, life.world.get_signal, life.world.fork):
        life._at(stop)
        for _ in range(100):
            if state.prepared is None and not life.front.stopped:
                life.time_passes(0.001)
        life.asks("call", 1)
        life.halts_beside_the_commands(0.0)
        life.time_passes(0.2)
        life.goes_on("continue", None)
        life.time_passes(7.0)
    life.teardown()


def a_native_stop_while_python_is_read(seed: int) -> None:
    """debugpy holds a thread, and gdb stops the program in the middle of what is read about that, often in vain."""
    life = Races()
    life.begin(seed, "launched")
    life.world.unanswered = 0.5
    for stop in (life.world.fork, life.world.get_signal, life.world.fork):
        if life._python_runs():
            life._at(partial(life.world.stop_in_python, PythonCause.BREAKPOINT))
        life._at(stop)
        life.time_passes(0.2)
        for _ in range(3):
            if life.front.stopped:
                life.goes_on("continue", None)
            life.time_passes(7.0)
    life.teardown()
