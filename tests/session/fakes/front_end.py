"""A front end that listens all the while, and finds what must not be told."""

from __future__ import annotations

import signal

from dualdbg.model import (
    BreakpointChanged,
    Detached,
    Exit,
    Exited,
    Language,
    Notice,
    Output,
    Resumed,
    Stopped,
)
from dualdbg.session.session import Session
from dualdbg.session.state import Grip

from .world import World


class FrontEnd:
    """What it has heard of one session. ``wrong`` is what is against the session's promises."""

    def __init__(self, world: World, session: Session) -> None:
        self._world = world
        self._session = session
        self.stopped = False
        self.last: Language | None = None  # of the stop
        self.over = False
        self.wrong: list[str] = []
        self._epoch = 0
        self._told: set[str] = set()

    def hear(self, event: object) -> None:
        """What is wrong is kept, for the loop would catch it."""
        try:
            self._check(event)
        except AssertionError as error:
            self.wrong.append(str(error))

    def _check(self, event: object) -> None:
        world = self._world
        # A breakpoint may be set while the session ends, and an answer come that debugpy owed.
        assert not self.over or isinstance(event, Notice | Output | BreakpointChanged), (
            f"{event} after the end"
        )
        if isinstance(event, Stopped):
            self._check_stop(event)
        elif isinstance(event, Resumed):
            assert self.stopped, "resumed twice"
            self.stopped, self.last = False, None
        elif isinstance(event, Exited | Detached):
            self.stopped, self.over = False, True
            if isinstance(event, Exited) and world.killed:
                assert event.exit == Exit(signal=signal.SIGKILL), f"it was killed, and {event} is told"
        elif isinstance(event, Notice):
            assert "internal error" not in event.message, event
            assert "debugpy is gone" not in event.message or not world.debugpy_alive, event
            if event.level == "error":  # gdb has refused to interrupt
                world.pause_owed = world.ctrl_c_owed = False

    def _check_stop(self, event: Stopped) -> None:
        stop, world = event.stop, self._world
        overtaken = stop.origin is Language.NATIVE and self.last is Language.PYTHON
        in_call = world.held is not None and world.met_in_call
        assert not self.stopped or overtaken or in_call, f"a second stop without a resume: {stop}"
        if stop.origin is Language.PYTHON:
            assert self._session.loop.state.grip is Grip.FREE, (
                "a Python stop is told, and gdb holds the program"
            )
        assert stop.epoch > self._epoch, f"the epoch stays at {self._epoch}"
        self.stopped, self.last, self._epoch = True, stop.origin, stop.epoch
        world.pause_owed = world.ctrl_c_owed = False
        mark = stop.description
        if stop.origin is Language.NATIVE and world.held is not None:
            met = self._session.loop.state.facts
            assert met is not None and (met.stop is world.held or in_call), (
                f"gdb is at {world.held}, not {met}"
            )
            assert mark == met.stop.words or mark not in world.stops_of_user, f"{mark} is told at {met.stop}"
        if mark in world.stops_of_user:
            assert mark not in self._told or mark == world.not_left, f"{mark} was told twice"
            self._told.add(mark or "")
        if mark == world.mark:
            world.mark_told = True
        for held in world.python.values():
            if held.mark and held.mark == mark:
                held.told = True
