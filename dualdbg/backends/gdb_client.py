"""Sends our own commands to gdb, and takes their answers: JSON, of which the caller's shape makes typed facts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ..errors import CommandError, ProtocolError
from ..patience import patient
from ..protocol import mi
from ..shared.requests import codec
from ..shared.requests.base import Request
from . import gdb_answers as shapes
from .gdb_process import DEADLINE, GdbProcess

# Begins the one line of JSON that gdb_scripts/dualdbg_engine/command.py prints.
_ANSWER_MARK = "dualdbg-answer:"
_MOST_NAMED = 60  # characters of a request in a message about it
# Seconds. `torch-types` compiles PyTorch's types, or waits for that. The debug info of a library may be gigabytes.
LONG_DEADLINE = patient(600.0)

Answer = TypeVar("Answer")
T = TypeVar("T")


def _without_answer(name: str, arguments: Sequence[object]) -> str:
    words = json.dumps([name, *arguments], ensure_ascii=True)
    return f"-interpreter-exec console {mi.quote(f'dualdbg-engine-tell {words}')}"


def _unanswered(request: Request[None]) -> str:
    return f"-interpreter-exec console {mi.quote(f'dualdbg-engine-tell {codec.line_of(request)}')}"


class GdbClient:
    """What sends a command of gdb_scripts/dualdbg_engine, with an answer or without."""

    def __init__(self, process: GdbProcess) -> None:
        self._process = process
        self._constants: dict[type[Request[Any]], Any] = {}

    async def _helper(
        self,
        shape: Callable[[Any], T],
        name: str,
        *arguments: object,
        deadline: float = DEADLINE,
    ) -> T:
        """Run one of the commands; its answer is JSON, of which ``shape`` makes what the caller returns.

        Raises CommandError when the command refuses, ProtocolError for an answer that is not what it has to be.
        """
        return await self._answer(json.dumps([name, *arguments], ensure_ascii=True), shape, deadline)

    async def _answer(self, words: str, shape: Callable[[Any], T], deadline: float) -> T:
        text = await self._process.console(f"dualdbg-engine {words}", deadline)
        _, mark, line = text.partition(_ANSWER_MARK)  # other text from gdb may come in between
        try:
            answer = json.loads(line.partition("\n")[0] if mark else text)
            if "memory" in answer:  # a long answer
                answer = json.loads(Path(answer["memory"]).read_bytes())
            elif "file" in answer:
                path = Path(answer["file"])
                answer = json.loads(path.read_bytes())
                path.unlink()
            refused = answer.get("error")
            if refused is None:
                return shape(answer["result"])
        except shapes.OTHER_FORM as error:
            raise ProtocolError(f"the gdb helper {words[:_MOST_NAMED]} answered {text[:200]!r}") from error
        raise CommandError(f"gdb: {refused}")

    async def ask(self, request: Request[Answer], deadline: float | None = None) -> Answer:
        """Return the answer to a request.

        Raises CommandError when gdb or the function in it refuses, ProtocolError for an answer of another form,
        EngineTimeout past ``deadline`` seconds (by default as long as this request may take), EngineLost when gdb is
        gone.
        """
        if request.is_constant and type(request) in self._constants:
            constant: Answer = self._constants[type(request)]
            return constant
        seconds = deadline or (LONG_DEADLINE if request.takes_long else DEADLINE)
        answer = await self._answer(codec.line_of(request), partial(codec.answer_of, request), seconds)
        if request.is_constant:
            self._constants[type(request)] = answer
        return answer

    def tell(self, request: Request[None]) -> None:
        """Send a request behind all earlier ones, and wait for no answer. Raises EngineLost when gdb is gone."""
        self._process.post(_unanswered(request))

    async def order(self, request: Request[None]) -> None:
        """Have a request carried out without an answer, also while the answer of another is awaited."""
        await self._process.command(_unanswered(request))

    def forget(self) -> None:
        """The process runs another program: what was constant may be something else."""
        self._constants.clear()

    def _tell(self, name: str, *arguments: object) -> None:
        """Run a command without an answer. It runs after all earlier requests, and nobody waits for it."""
        self._process.post(_without_answer(name, arguments))

    async def _order(self, name: str, *arguments: object) -> None:
        """Run a command without an answer, also while the answer of another is awaited."""
        await self._process.command(_without_answer(name, arguments))
