"""The only writer of a session's state: one inbox, one entry at a time, and the effects of each performed in order.

An entry is a transition of the state with its arguments: an engine's report, a command, the result of a read, a
timer. Code that reads or waits does so in a task of its own, and puts the result into the inbox.
"""

from __future__ import annotations

import asyncio
import traceback
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec

from ..errors import DualdbgError, EngineLost, WrongState
from ..model import Event, Notice, Output
from .decision_log import decision
from .effects import Effect, Effects, Tell
from .invariants import check_effects
from .state import TargetState, described_transition
from .transition_table import check_transition

# Events that wait for one front end. Beyond it the target's texts are left out: log points write without end, and
# debugpy would keep in the target what is not read here. Everything else is told: it is little, and must not be lost.
MOST_UNREAD = 100_000

P = ParamSpec("P")
Transition = Callable[Concatenate[TargetState, P], Effects]


@dataclass(frozen=True)
class _Entry:
    """``taken``: somebody waits for it. ``programs``: as many had run before the one that it is of."""

    transition: Transition[...]
    arguments: tuple[Any, ...]
    taken: asyncio.Future[None] | None = None
    programs: int | None = None


class Loop:
    """The inbox of one session.

    ``perform`` does what a transition asks for. It neither waits nor changes the state.
    """

    def __init__(self, state: TargetState, perform: Callable[[Effect], None]) -> None:
        self.state = state
        self.log: Callable[[str], None] | None = None
        self._perform = perform
        self._inbox: deque[_Entry] = deque()
        self._scheduled = False
        self._open = False
        self._over = False
        self._subscribers: list[asyncio.Queue[Event]] = []
        # Texts that a front end which does not read has missed.
        self._left_out: dict[asyncio.Queue[Event], int] = {}
        self._background: set[asyncio.Task[bool]] = set()
        self.ended = asyncio.Event()  # nothing follows any more
        self.native_held = asyncio.Event()  # set while gdb shows a stop: debugpy is mute then

    @property
    def is_open(self) -> bool:
        """Whether entries are taken."""
        return self._open

    @property
    def waiting(self) -> int:
        """How many entries have not been taken."""
        return len(self._inbox)

    # -- entries ----------------------------------------------------------------------------------

    def open(self) -> None:
        """Begin to take entries, those that came before included."""
        self._open = True
        self._schedule()

    def put(self, transition: Transition[P], *arguments: P.args, **named: P.kwargs) -> None:
        """Add an entry. Nobody waits for it."""
        assert not named
        self._inbox.append(_Entry(transition, arguments))
        self._schedule()

    def put_of_program(self, transition: Transition[P], *arguments: P.args, **named: P.kwargs) -> None:
        """Add what debugpy says of the program that runs now. It means nothing of one that took its place before the
        entry is taken: the connection closes with the program, and gdb's report of that may come first."""
        assert not named
        self._inbox.append(_Entry(transition, arguments, programs=self.state.programs))
        self._schedule()

    async def ask(self, transition: Transition[P], *arguments: P.args, **named: P.kwargs) -> None:
        """Add an entry, and wait until it was taken. Raises what the transition refuses it with."""
        assert not named
        if self._over:
            raise _too_late()
        taken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._inbox.append(_Entry(transition, arguments, taken))
        self._schedule()
        await taken

    def _schedule(self) -> None:
        if self._open and self._inbox and not self._scheduled:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._take_one)

    def _take_one(self) -> None:
        self._scheduled = False
        if not self._inbox:  # the session ended meanwhile
            return
        entry = self._inbox.popleft()
        transition, arguments, taken = entry.transition, entry.arguments, entry.taken
        if entry.programs not in (None, self.state.programs):
            if self.log is not None:
                self.log(f"{transition.__name__} dropped: it is of the program that was there before")
            self._schedule()
            return
        before = described_transition(self.state) if self.log is not None else ""
        restore = self.state.kept()
        where = self.state.phase, self.state.grip
        try:
            effects = transition(self.state, *arguments)
            check_transition(transition.__name__, where, (self.state.phase, self.state.grip))
            self.state.check()
            check_effects(self.state, effects)
        except DualdbgError as error:
            restore()
            if self.log is not None:
                self.log(f"{transition.__name__} refused in {before}: {error.message}")
            self._answer(taken, error)
        except Exception as error:  # a defect of ours: the loop goes on, and the user is told
            restore()  # else the next entry would fail too, were it the target's end
            self._tell_defect(error)
            self._answer(taken, error)
        else:
            if self.log is not None:
                after = described_transition(self.state)
                self.log(decision(transition, arguments, before, after, effects))
            for effect in effects:
                self._carry_out(effect)
            self._mirror()
            self._answer(taken, None)
        self._schedule()

    def _carry_out(self, effect: Effect) -> None:
        """Perform one effect. A failure is told, and the other effects are performed all the same."""
        try:
            if isinstance(effect, Tell):
                self.tell(effect.event)
            else:
                self._perform(effect)
        except Exception as error:
            self._tell_defect(error)

    def _mirror(self) -> None:
        """Set or clear the event by which tasks wait for gdb to hold the target."""
        if self.state.is_mute:
            self.native_held.set()
        else:
            self.native_held.clear()

    @staticmethod
    def _answer(taken: asyncio.Future[None] | None, error: Exception | None) -> None:
        if taken is None or taken.done():
            return
        if error is None:
            taken.set_result(None)
        else:
            taken.set_exception(error)

    # -- events -----------------------------------------------------------------------------------

    def subscribe(self) -> asyncio.Queue[Event]:
        """A queue that gets every event from now on; one that is not read misses texts beyond ``MOST_UNREAD``."""
        queue: asyncio.Queue[Event] = asyncio.Queue()
        self._subscribers.append(queue)
        return queue

    def tell(self, event: Event) -> None:
        """Every subscriber gets the event."""
        if self.log is not None and isinstance(event, Notice) and event.level != "info":
            self.log(f"told, {event.level}: {event.message}")
        for queue in self._subscribers:
            if isinstance(event, Output) and queue.qsize() >= MOST_UNREAD:
                self._left_out[queue] = self._left_out.get(queue, 0) + 1
                continue
            if missed := self._left_out.pop(queue, 0):
                queue.put_nowait(
                    Notice(
                        "warning", f"{missed} texts are left out here: they came faster than they were read"
                    )
                )
            queue.put_nowait(event)

    # -- work beside the loop ---------------------------------------------------------------------

    def background(self, work: Awaitable[Any]) -> None:
        """Run a coroutine beside the loop; its failure is told to the user, never lost."""
        task = asyncio.get_running_loop().create_task(self.guarded(work))
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        if asyncio.iscoroutine(work):  # one that has not begun when the session ends is not complained of
            task.add_done_callback(lambda done: work.close())

    async def guarded(self, work: Awaitable[Any]) -> bool:
        """Do the work. Returns whether it succeeded; why it failed is told."""
        try:
            await work
            return True
        except EngineLost as error:  # the engine's end is an entry of its own, and is told with that
            if self.log is not None:
                self.log(f"given up: {error.message}")
        except DualdbgError as error:
            if not self.ended.is_set():
                self.tell(Notice("error", error.message, error.hint))
        except Exception as error:  # a defect of ours: the target may stay frozen, so the user is told
            self._tell_defect(error)
        return False

    def _tell_defect(self, error: Exception) -> None:
        if self.log is not None:
            self.log("".join(traceback.format_exception(error)))
        text = f"internal error, {type(error).__name__}: {error}"
        self.tell(Notice("error", text, "run again with --log-dir DIR: session.log says where"))

    async def end_tasks(self) -> None:
        """Take no more entries, because the engines are gone. Tasks that wait for one get an error."""
        self._open = False
        self._over = True
        for taken in (entry.taken for entry in self._inbox):
            self._answer(taken, _too_late())
        self._inbox.clear()
        own = asyncio.current_task()
        tasks = [task for task in self._background if task is not own]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _too_late() -> WrongState:
    return WrongState("the session is over", "type quit")
