"""Halts of a running target for work of our own: asked for here, given by the transitions."""

from __future__ import annotations

import asyncio

from ..errors import EngineTimeout, WrongState
from ..system.patience import patient
from ..system.waiting import settled
from .effects import AnswerHalt, Halt
from .loop import Loop
from .transitions.halts import halt_done, halt_wanted

HALT_DEADLINE = patient(10.0)


class Halts:
    """Who waits for a halt, and the answers."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._waiting: dict[Halt, asyncio.Future[bool]] = {}

    async def begin(self, deadline: float = HALT_DEADLINE) -> Halt:
        """Halt the running target until :meth:`end`.

        Raises WrongState when the target stopped for another reason first, EngineTimeout after ``deadline`` seconds.
        """
        halt = Halt()
        halted = self._waiting[halt] = asyncio.get_running_loop().create_future()
        self._loop.put(halt_wanted, halt)
        try:
            stands = await settled(asyncio.shield(halted), deadline)
        except asyncio.TimeoutError:
            self.end(halt)
            raise EngineTimeout(f"the target did not halt within {deadline:g} s", "try again") from None
        except asyncio.CancelledError:
            self.end(halt)  # also when the halt has not come yet
            raise
        if not stands:
            raise WrongState("the target stopped for another reason meanwhile", "look at the new stop")
        return halt

    def end(self, halt: Halt) -> None:
        """The work of a halt is done, or is not wanted any more."""
        self._loop.put(halt_done, halt)

    def answer(self, what: AnswerHalt) -> None:
        """The halt came, or another stop, or gdb is gone."""
        halted = self._waiting.pop(what.halt, None)
        if halted is None or halted.done():
            return
        if isinstance(what.outcome, bool):
            halted.set_result(what.outcome)
        else:
            halted.set_exception(what.outcome)
