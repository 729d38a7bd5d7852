"""Requests that the loop sends to debugpy without waiting, and what becomes of their answers."""

from __future__ import annotations

import asyncio
from functools import partial

from ..errors import CommandError, DualdbgError
from ..system.patience import patient
from . import effects as effect
from .engines import PythonEngine
from .loop import Loop
from .transitions.ending import debugpy_missed
from .transitions.going_on import python_agreed, python_refused
from .transitions.halts import pause_refused

# Seconds for the process to end after debugpy's connection did; then the user is told.
DEBUGPY_GRACE = patient(3.0)


class DebugpyRequests:
    """Performs the effects that are about debugpy."""

    def __init__(self, loop: Loop, python: PythonEngine) -> None:
        self._loop = loop
        self._python = python

    def post(self, what: effect.Post) -> None:
        """Send a request to debugpy. A refusal is listened to only where it would leave the state wrong."""
        heard = partial(self._refused, what) if what.pause or what.departure is not None else None
        try:
            settled = partial(self._unrefused, what)
            self._python.post(what.request, heard, lambda answer: settled(), settled)
        except DualdbgError as error:  # the connection is gone, which is reported by itself
            if self._loop.log is not None:
                self._loop.log(f"{what.request.command} was not sent: {error.message}")
            self._unrefused(what)

    def _unrefused(self, what: effect.Post) -> None:
        """debugpy has agreed, or will not say anything more."""
        if what.answered is not None:
            if what.departure is not None:
                self._loop.put(python_agreed, what.departure)
            what.answered(None)

    def _refused(self, what: effect.Post, error: CommandError) -> None:
        if what.pause:
            self._loop.put(pause_refused, error)
        elif what.departure is not None:
            self._loop.put(python_refused, what.departure, what.request.command, error)
        if what.answered is not None:
            what.answered(error)

    def miss(self, what: effect.MissDebugpy) -> None:
        """debugpy's connection is gone: look after a while whether the process has ended too."""
        asyncio.get_running_loop().call_later(
            DEBUGPY_GRACE, self._loop.put, debugpy_missed, what.detail, what.programs
        )

    def renew(self, what: effect.RenewDebugpy) -> None:
        """The process runs another program, whose debugpy may connect."""
        self._python.renew()
