"""Every way to start a program under dualdbg, and to end it in good order: what the tables of this folder go over."""

from __future__ import annotations

import io
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pexpect

from dualdbg.system.patience import patient
from tests import warm
from tests.cli.driver import DUALDBG, environment
from tests.dap.client import Client, StdioAdapter
from tests.dap.test_launch import Terminals
from tests.terminals import Terminal

SECONDS = patient(180.0)


@dataclass(frozen=True)
class Started:
    """``pid`` is dualdbg's. ``finish`` waits for its end, and returns what it wrote and its status.

    ``client`` is that of a debug adapter. ``type`` types on its terminal; ``written`` is what came there so far.
    """

    pid: int
    finish: Callable[[], tuple[str, int | None]]
    client: Client | None = None
    type: Callable[[str], object] = lambda text: None
    written: Callable[[], str] = lambda: ""


Start = Callable[..., AbstractContextManager[Started]]


def command_line(*options: str) -> Start:
    """``dualdbg run`` without a terminal."""

    @contextmanager
    def start(program: Path, *words: str, env: dict[str, str] | None = None) -> Iterator[Started]:
        given = [f"--env={name}={value}" for name, value in (env or {}).items()]
        with warm.Popen(
            [*DUALDBG, "run", *options, *given, str(program), *words],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                yield Started(
                    process.pid, lambda: (process.communicate(timeout=SECONDS)[0], process.returncode)
                )
            finally:
                process.kill()

    return start


def on_a_terminal(*options: str) -> Start:
    """``dualdbg run`` at the prompt, or in the dashboard."""

    @contextmanager
    def start(program: Path, *words: str, env: dict[str, str] | None = None) -> Iterator[Started]:
        given = [f"--env={name}={value}" for name, value in (env or {}).items()]
        child = Terminal(
            DUALDBG[0],
            [*DUALDBG[1:], "run", *options, *given, str(program), *words],
            env=environment(),
            encoding="utf-8",
            codec_errors="replace",
            timeout=SECONDS,
            dimensions=(40, 100),
        )

        log = child.logfile_read = io.StringIO()
        # A terminal that nobody reads is full.
        reader = threading.Thread(target=child.expect, args=(pexpect.EOF,))
        reader.start()

        def finish() -> tuple[str, int | None]:
            reader.join(SECONDS)
            child.wait()
            return log.getvalue(), child.exitstatus

        try:
            yield Started(child.pid, finish, type=child.send, written=log.getvalue)
        finally:
            child.kill(signal.SIGKILL)
            reader.join(SECONDS)
            child.close()

    return start


def adapter(in_terminal: bool = False, **arguments: Any) -> Start:
    """``dualdbg dap``, launched with these arguments."""

    @contextmanager
    def start(program: Path, *words: str, env: dict[str, str] | None = None) -> Iterator[Started]:
        started = StdioAdapter()
        client = started.client
        terminals = Terminals(client) if in_terminal else None
        more = {"console": "integratedTerminal"} if in_terminal else {}

        def finish() -> tuple[str, int | None]:
            client.wait_end()
            return client.output, started.process.wait(SECONDS)

        launch = {"program": str(program), "args": list(words), "env": env or {}, **more, **arguments}
        client.initialize()
        launched = client.send("launch", launch)
        if not arguments.get("noDebug"):
            client.initialized(launched)
            client.request("configurationDone")
        client.answer(launched)
        try:
            yield Started(started.process.pid, finish, client)
        finally:
            started.close()
            if terminals is not None:
                terminals.close()

    return start


COMMAND_LINES: dict[str, Start] = {
    "batch": command_line("--batch"),
    "json": command_line("--json", "--batch"),
    "follow": command_line("--batch", "--follow=python"),
    "prompt": on_a_terminal(),
    "dashboard": on_a_terminal("--tui"),
}
ADAPTERS: dict[str, Start] = {
    "dap": adapter(),
    "dap, noDebug": adapter(noDebug=True),
    "dap, subProcess false": adapter(subProcess=False),
    "dap, terminal": adapter(in_terminal=True),
    "dap, noDebug in a terminal": adapter(in_terminal=True, noDebug=True),
}
EVERY = {**COMMAND_LINES, **ADAPTERS}
