"""Runs in a terminal that does not belong to dualdbg: starts the program there, and tells dualdbg how it ends.

``python -I in_terminal.py SOCKET TOKEN``. An editor runs this in its terminal for us (DAP's runInTerminal). It asks the
session at the other end of the socket what to run, with one line of JSON, starts it as the launcher does everywhere,
and stays its parent: the terminal's shell waits for it. The program's arguments are those of its own command line
(``PATH TOKEN -- PROGRAM ARGUMENT…``), where the shell has expanded them. One JSON object a line, both ways:

    > {"token": …}                    < {"launch": …, "meeting": … (null: no debugger), "tracer": PID, "copied": …,
                                                "words": how many of PROGRAM are no arguments}
    > {"pid": …} or {"error": …}      < {"order": "kill" or "detach"}, {"order": "spare", "keep" or "how", "pid": PID}
    > {"stream": …, "output": …}, where output is to be copied: what the program writes, which is shown here too
    > {"code": …, "signal": …}, of the program; with "pid" the answer to "how"

It ends when the program has ended and nothing descends from it any more, or the session has gone.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # run by its path: dualdbg need not be importable there
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from dualdbg.errors import DualdbgError
from dualdbg.system.terminal_text import visible_text
from dualdbg.target.copied_output import CopiedOutput
from dualdbg.target.launcher import Launch, Meeting, Target, spawn
from dualdbg.target.terminal import Terminal

_TROUBLE_STATUS = 3
_SIGNAL_BASE = 128


async def run(path: str, token: str, words: list[str]) -> int:
    """Start what the session wants; returns the exit status that the shell is to see.

    ``words`` are the program and its arguments as the terminal's shell has expanded them.
    """
    try:
        reader, writer = await asyncio.open_unix_connection(path, limit=1 << 24)
        _send(writer, {"token": token})
        wanted = json.loads(await _line(reader) or b"{}")
    except (OSError, ValueError):  # nobody listens any more, or went in the middle of a line
        wanted = {}
    if "launch" not in wanted:
        print("dualdbg: the debug session is over", file=sys.stderr)
        return _TROUBLE_STATUS
    terminal = Terminal.open()
    launch = Launch(**{**wanted["launch"], "args": tuple(words[wanted["words"] :])})
    copied = CopiedOutput(partial(_tell, writer), writer.drain) if wanted["copied"] else None
    if copied is not None:
        launch = replace(launch, stdout=copied.write_ends["stdout"], stderr=copied.write_ends["stderr"])
    try:
        target = await spawn(
            launch,
            Meeting(**wanted["meeting"]) if wanted["meeting"] else None,
            terminal=terminal,
            tracer=wanted["tracer"],
        )
    except DualdbgError as error:
        _send(writer, {"error": error.message, "hint": error.hint})
        print(f"dualdbg: {visible_text(str(error))}", file=sys.stderr)
        return _TROUBLE_STATUS
    if copied is not None:
        copied.begin()
    _send(writer, {"pid": target.pid})
    obeying = asyncio.create_task(_obey(reader, writer, target))
    exit = await target.wait()
    if copied is not None:
        await copied.finish()
    _send(writer, {"code": exit.code, "signal": exit.signal})
    try:
        await writer.drain()
    except OSError:
        pass  # the session has gone; the shell still learns the status
    cleared = asyncio.create_task(target.cleared())
    await asyncio.wait({obeying, cleared}, return_when=asyncio.FIRST_COMPLETED)
    obeying.cancel()
    cleared.cancel()
    if terminal is not None:
        terminal.take()
    return exit.code if exit.code is not None else _SIGNAL_BASE + (exit.signal or 0)


async def _obey(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, target: Target) -> None:
    """Do what the session says. When the session is gone, the program ends too, unless it was detached."""
    while line := await _line(reader):
        order = json.loads(line)
        if order["order"] == "detach":
            target.detach()
            return
        if order["order"] == "kill":
            target.kill()
        elif order["order"] == "spare":
            target.spare(order["pid"])
        elif order["order"] == "keep":
            target.keep(order["pid"])
        elif order["order"] == "how":
            end = await target.how_ended(order["pid"])
            _send(writer, {"pid": order["pid"], "code": end.code, "signal": end.signal})
    target.kill()
    await target.cleared()


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next line; nothing when the session is gone."""
    try:
        return await reader.readline()
    except OSError:
        return b""


def _tell(writer: asyncio.StreamWriter, stream: str, text: str) -> None:
    _send(writer, {"stream": stream, "output": text})


def _send(writer: asyncio.StreamWriter, row: dict[str, Any]) -> None:
    if not writer.is_closing():
        writer.write(json.dumps(row).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(asyncio.run(run(sys.argv[1], sys.argv[2], sys.argv[4:])))
