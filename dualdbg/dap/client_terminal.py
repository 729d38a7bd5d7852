"""The program in the editor's terminal: the editor runs a small helper of dualdbg there, which starts the program."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import shlex
import signal
import sys
from dataclasses import asdict, replace
from typing import Any, Literal

from ..errors import EngineLost, TargetError, UsageError
from ..model import Exit
from ..protocol.dap_types import RunInTerminalRequestArguments
from ..system.folders import here
from ..system.patience import patient
from ..system.process_end import HeldProcess
from ..target import become, in_terminal, peers
from ..target.calls import ListeningSocket
from ..target.launcher import Launch, Meeting
from ..target.terminal import Terminal
from .client.conventions import Client
from .client.port import ClientPort
from .configuration import Configuration
from .streams import Streams

_START_DEADLINE = patient(60.0)  # seconds; the user's shell may read long start-up files first
_KINDS: dict[str, Literal["integrated", "external"]] = {
    "integratedTerminal": "integrated",
    "externalTerminal": "external",
}


class ClientTerminal(Streams):
    """The program's streams are the editor's terminal. :meth:`start_target` starts a program there."""

    def __init__(self, connection: ClientPort, client: Client, wanted: Configuration) -> None:
        if "RunInTerminalRequest" not in client.supports:
            raise UsageError(
                f'the editor has no terminal for "console": "{wanted.console}"',
                'use "console": "internalConsole"',
            )
        self._connection = connection
        self._kind = _KINDS[wanted.console]
        self._title = wanted.title
        self._token = secrets.token_hex(16)
        self._copied = bool(wanted.redirect_output)
        program = wanted.program
        # Text that is the shell's to split and to expand; without such an editor it is split as a shell would.
        can_expand = "ArgsCanBeInterpretedByShell" in client.supports
        self._shell_arguments = program.shell_arguments if program is not None and can_expand else None

    def launch(self, what: Launch) -> Launch:
        return replace(what, env={"PYTHONUNBUFFERED": "1", **what.env}) if self._copied else what

    async def start_target(
        self, launch: Launch, meeting: Meeting | None, *, terminal: Terminal | None = None
    ) -> TerminalTarget:
        """Ask the editor to run the helper, and the helper to start the program. Raises TargetError."""
        joined: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = (
            asyncio.get_running_loop().create_future()
        )

        async def helper(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            hello = await _receive(reader)
            if joined.done() or not secrets.compare_digest(str(hello.get("token")), self._token):
                writer.close()
                return
            joined.set_result((reader, writer))

        try:
            place = await ListeningSocket.open(helper)
        except OSError as error:
            raise TargetError(
                f"the terminal cannot call dualdbg: no folder for a socket: {error.strerror or error}",
                "TMPDIR names a folder that can be written to",
            ) from error
        try:
            reader, writer = await self._join(joined, launch, place.path)
        finally:
            place.close()
        wanted = {
            "launch": {**asdict(replace(launch, env={})), "env": dict(launch.env)},
            "meeting": asdict(meeting) if meeting else None,
            "tracer": os.getpid(),
            "copied": self._copied,
            "words": len(_program(launch)),
        }
        _send(writer, wanted)
        answer = await _receive(reader)
        if "pid" not in answer:
            writer.close()
            raise TargetError(
                str(answer.get("error") or "the terminal was closed"), str(answer.get("hint") or "")
            )
        return TerminalTarget(int(answer["pid"]), reader, writer, self._connection)

    def _command(self, launch: Launch, path: str) -> tuple[list[str], bool]:
        """The command line of the helper, and whether a shell is to read it.

        It shows what is run: the interpreter, the program and its arguments.
        """
        # A wrapper may do more than to start an interpreter: it is run once, by the helper.
        direct = launch.native is None and not launch.is_wrapped
        starter = [launch.python, "-I", "-S", become.__file__] if direct else []
        helper = [sys.executable, "-I", in_terminal.__file__, path, self._token, "--"]
        words = [*starter, *helper, *_program(launch)]
        if self._shell_arguments is None:
            return [*words, *launch.args], False
        # What is given to a shell as it is has to be quoted here, but for what it is to expand.
        expanded = [self._shell_arguments] if self._shell_arguments else []
        return [*map(shlex.quote, words), *expanded], True

    async def _join(
        self,
        joined: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]],
        launch: Launch,
        path: str,
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        words, for_a_shell = self._command(launch, path)
        arguments: RunInTerminalRequestArguments = {
            "kind": self._kind,
            "title": self._title,
            "cwd": launch.cwd or str(here()),
            "args": words,
        }
        if for_a_shell:
            arguments["argsCanBeInterpretedByShell"] = True
        # The answer may come at once, or only when the command has ended. So only a refusal counts.
        asked = asyncio.ensure_future(self._connection.ask("runInTerminal", arguments, _START_DEADLINE))
        try:
            waiting: set[asyncio.Future[Any]] = {asked, joined}
            await asyncio.wait(waiting, timeout=_START_DEADLINE, return_when=asyncio.FIRST_COMPLETED)
            if asked.done() and not joined.done():
                try:
                    asked.result()
                except EngineLost as error:
                    raise TargetError(f"the editor opened no terminal: {error.message}") from error
            return await asyncio.wait_for(joined, _START_DEADLINE)
        except asyncio.TimeoutError:
            raise TargetError(
                f"the editor's terminal did not start the program within {_START_DEADLINE:g} s",
                'look at that terminal, or use "console": "internalConsole"',
            ) from None
        finally:
            asked.cancel()
            with contextlib.suppress(asyncio.CancelledError, EngineLost):
                await asked


def _program(launch: Launch) -> list[str]:
    """What is run, without its interpreter and its arguments."""
    words = replace(launch, args=()).command()
    return words if launch.native is not None else words[1 + len(launch.flags) :]


class TerminalTarget:
    """A program that the helper started. It is the helper's descendant, so the helper tells how it ended."""

    left = ()  # what it leaves is ended by the helper

    def __init__(
        self, pid: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: ClientPort
    ) -> None:
        self.pid = pid
        self._connection = connection
        self._reader, self._writer = reader, writer
        self._helper: HeldProcess | None = None
        with contextlib.suppress(ProcessLookupError):  # it has ended, which the connection says too
            self._helper = HeldProcess(peers.of_unix_socket(writer.get_extra_info("socket")).pid)
        self._end: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self._others: dict[int, asyncio.Future[Exit]] = {}
        self._over = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        """Hear how the program ends, and others that were asked for, until the helper ends."""
        while row := await _receive(self._reader):
            if "output" in row:
                self._connection.output(str(row["stream"]), str(row["output"]))
                if (room := self._connection.room()) is not None:
                    await room
                continue
            end = self._others.get(row["pid"]) if "pid" in row else self._end
            if end is not None and not end.done():
                end.set_result(Exit(row["code"], row["signal"]))
        if not self._end.done():
            # The terminal was closed: the helper is gone, and the keeper ends the program.
            self._end.set_result(Exit(signal=9))
        for end in self._others.values():
            if not end.done():
                end.set_result(Exit())
        self._writer.close()
        if self._helper is not None:
            self._helper.close()

    async def wait(self) -> Exit:
        """How the program ended, when it has. May be awaited many times."""
        return await asyncio.shield(self._end)

    def let_go(self) -> None:
        """A native program is to run when gdb lets it. Nobody has reaped it, so the number is its own."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """End the program and all that descends from it; the helper does it."""
        self._order("kill")

    async def cleared(self) -> None:
        """The helper ends when nothing descends from it any more."""
        await asyncio.shield(self._over)

    def detach(self) -> None:
        """From now on the program outlives dualdbg, and so does the helper."""
        self._order("detach")

    def spare(self, pid: int) -> None:
        """From now on this descendant, with its own descendants, outlives dualdbg."""
        self._order("spare", pid=pid)

    def keep(self, pid: int) -> None:
        """Take back what :meth:`spare` has said."""
        self._order("keep", pid=pid)

    def _order(self, order: str, **about: int) -> None:
        """Tell the helper, which somebody may have stopped (SIGSTOP)."""
        _send(self._writer, {"order": order, **about})
        if self._helper is not None:
            self._helper.send(signal.SIGCONT)

    async def how_ended(self, pid: int) -> Exit:
        """How a process ended that was kept, and is reaped; empty where the helper does not know it."""
        if self._over.done():
            return Exit()
        if pid not in self._others or self._others[pid].done():
            self._others[pid] = asyncio.get_running_loop().create_future()
            self._order("how", pid=pid)
        return await asyncio.shield(self._others[pid])


async def _receive(reader: asyncio.StreamReader) -> dict[str, Any]:
    """The next object; an empty one when the other side is gone."""
    try:
        line = await reader.readline()
        row = json.loads(line) if line else {}
    except (OSError, ValueError):
        return {}
    return row if isinstance(row, dict) else {}


def _send(writer: asyncio.StreamWriter, row: dict[str, Any]) -> None:
    if not writer.is_closing():
        writer.write(json.dumps(row).encode() + b"\n")
