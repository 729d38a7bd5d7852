"""A session that says what a test tells it to, for states that no real target shows on demand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from types import SimpleNamespace
from typing import Any

from dualdbg.errors import WrongState
from dualdbg.model import (
    Event,
    Exit,
    Exited,
    Frame,
    Language,
    PythonFrame,
    Quality,
    Reason,
    Resumed,
    Stack,
    State,
    Stop,
    Stopped,
    Tasks,
    Thread,
    Value,
)

TID = 4711
STOPPED = (State.PYTHON_STOPPED, State.NATIVE_STOPPED)


async def nothing(*_arguments: Any, **_options: Any) -> None:
    """What a command of a real session does, and this one does not."""


class ScriptedInspector:
    """Each answer is what a test has put here: a value, or a function that is awaited."""

    def __init__(self, session: ScriptedSession) -> None:
        self._session = session
        self.answers: dict[str, Any] = {"variables": (), "children": (), "threads": (), "evaluate": None}
        self.thread_list = SimpleNamespace(all=self.threads)
        self.values = None

    async def _answer(self, name: str) -> Any:
        answer = self.answers[name]
        if callable(answer):
            answer = answer()
        return await answer if asyncio.isfuture(answer) or asyncio.iscoroutine(answer) else answer

    async def stack(self, tid: int | None = None) -> Stack:
        return await self._answer("stack")  # type: ignore[no-any-return]

    async def variables(self, tid: int, frame: Frame) -> Sequence[Value]:
        return await self._answer("variables")  # type: ignore[no-any-return]

    async def children(self, reference: int) -> Sequence[Value]:
        return await self._answer("children")  # type: ignore[no-any-return]

    async def threads(self) -> list[Thread]:
        return list(await self._answer("threads"))

    async def threads_and_tasks(self) -> tuple[list[Thread], Tasks]:
        return await self.threads(), Tasks()

    async def evaluate(
        self, expression: str, tid: int, frame: Frame, language: Language, may_stop: bool = False
    ) -> Value:
        return await self._answer("evaluate")  # type: ignore[no-any-return]


class ScriptedSession:
    """As much of a session as the dashboard asks for."""

    def __init__(self) -> None:
        self.pid = TID
        self.state = State.RUNNING
        self.stop: Stop | None = None
        self.exit: Exit | None = None
        self.epoch = 0
        self.ended = asyncio.Event()
        self.end_target = None
        self.has_python = True
        self.native = SimpleNamespace()
        image = SimpleNamespace(
            pid=TID, version=0, prepare_continuations=lambda: None, continuations=lambda _: set()
        )
        self.breakpoints = SimpleNamespace(all=list, image=image)
        self.after_stop: list[Callable[[], None]] = []
        self.inspector = ScriptedInspector(self)
        self.resume = self.pause = self.close = nothing
        self._queues: list[asyncio.Queue[Event]] = []

    def subscribe(self) -> asyncio.Queue[Event]:
        self._queues.append(asyncio.Queue())
        return self._queues[-1]

    def emit(self, event: Event) -> None:
        for queue in self._queues:
            queue.put_nowait(event)

    def require_stopped(self) -> None:
        if self.state not in STOPPED:
            raise WrongState("the target runs", "pause it first")

    async def interrupted(self, work: Callable[[], Awaitable[Any]]) -> Any:
        return await work()

    # -- what tests tell it -----------------------------------------------------------------------

    def stops(self, *frames: Frame, stack: Any = None, **answers: Any) -> None:
        """A stop in Python with these frames, and what is answered when the panes ask."""
        self.epoch += 1
        self.state = State.PYTHON_STOPPED
        self.inspector.answers.update(answers)
        self.inspector.answers["stack"] = Stack(TID, frames, Quality.FULL) if stack is None else stack
        thread = Thread(TID, "MainThread", holds_gil=True)
        frame = frames[0] if frames else None
        self.stop = Stop(self.epoch, Language.PYTHON, Reason.BREAKPOINT, thread, frame, (1,))
        self.emit(Stopped(self.stop))

    def runs(self) -> None:
        self.epoch += 1
        self.state, self.stop = State.RUNNING, None
        self.emit(Resumed(self.epoch))

    def ends(self, event: Event, state: State) -> None:
        self.state, self.stop = state, None
        self.exit = event.exit if isinstance(event, Exited) else None
        self.ended.set()
        self.emit(event)


def frame(function: str = "f", line: int = 1, file: str | None = None) -> PythonFrame:
    return PythonFrame(function, file, line)


def value(name: str, text: str, type_name: str = "str", reference: int = 0) -> Value:
    return Value(name, type_name, text, Language.PYTHON, reference)
