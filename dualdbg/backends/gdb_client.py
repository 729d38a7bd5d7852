"""Sends requests to gdb as the commands of gdb_scripts/dualdbg_engine/command.py, and reads their answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from ..errors import CommandError, ProtocolError
from ..protocol import mi
from ..shared.requests import codec
from ..shared.requests.base import Request
from ..system.patience import patient
from .gdb_process import DEADLINE, GdbProcess

# Begins the one line of JSON that gdb_scripts/dualdbg_engine/command.py prints.
_ANSWER_MARK = "dualdbg-answer:"
# Seconds. `torch-types` compiles PyTorch's types, or waits for that. The debug info of a library may be gigabytes.
_LONG_DEADLINE = patient(600.0)
# What the reading of JSON, of files and of answers raises for what is not the answer.
_OTHER_FORM = (
    OSError,
    ValueError,
    RecursionError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
)

Answer = TypeVar("Answer")


class GdbClient:
    """Asks gdb what is declared in :mod:`dualdbg.shared.requests`."""

    def __init__(self, process: GdbProcess) -> None:
        self._process = process
        self._constants: dict[type[Request[Any]], Any] = {}

    async def ask(self, request: Request[Answer], deadline: float | None = None) -> Answer:
        """Return the answer to a request.

        Raises CommandError when gdb or the function in it refuses, ProtocolError for an answer of another form,
        EngineTimeout past ``deadline`` seconds (by default as long as this request may take), EngineLost when gdb is
        gone.
        """
        kind = type(request)
        if kind in self._constants:
            constant: Answer = self._constants[kind]
            return constant
        seconds = deadline or (_LONG_DEADLINE if request.takes_long else DEADLINE)
        text = await self._process.console(f"dualdbg-engine {codec.line_of(request)}", seconds)
        try:
            found = _read(text)
            refused = found.get("error")
            if refused is None:
                answer = codec.answer_of(request, found["result"])
        except _OTHER_FORM as error:
            raise ProtocolError(f"gdb answered {kind.__name__} with {text[:200]!r}") from error
        if refused is not None:
            raise CommandError(f"gdb: {refused}")
        if request.is_constant:
            self._constants[kind] = answer
        return answer

    def tell(self, request: Request[None]) -> None:
        """Send a request behind all earlier ones, and wait for no answer. Raises EngineLost when gdb is gone."""
        self._process.post(_unanswered(request))

    async def order(self, request: Request[None]) -> None:
        """Have a request carried out without an answer, also while the answer of another is awaited."""
        await self._process.command(_unanswered(request))

    def forget_constants(self) -> None:
        """The process runs another program: what was constant may be something else."""
        self._constants.clear()


def _unanswered(request: Request[None]) -> str:
    return f"-interpreter-exec console {mi.quote(f'dualdbg-engine-tell {codec.line_of(request)}')}"


def _read(text: str) -> dict[str, Any]:
    """What gdb's side has answered: in its text, or where that says."""
    _, mark, line = text.partition(_ANSWER_MARK)  # other text from gdb may come in between
    answer: dict[str, Any] = json.loads(line.partition("\n")[0] if mark else text)
    if "memory" in answer:  # a long answer
        answer = json.loads(Path(answer["memory"]).read_bytes())
    elif "file" in answer:
        path = Path(answer["file"])
        answer = json.loads(path.read_bytes())
        path.unlink()
    return answer
