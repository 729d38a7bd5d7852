"""Runs the real command line for a test: to its end, over JSON lines, or on a terminal."""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pexpect
import psutil
import pytest

from dualdbg.system.patience import patient
from tests import terminals, warm
from tests.support import ROOT, name_of, wait_until

SECONDS = patient(600.0)  # for anything that has to happen; a loaded machine is slow, a hang is for ever
DUALDBG = [sys.executable, "-m", "dualdbg"]
# ECMA-48 control sequences, and what a terminal does with the cursor.
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|\r")

# Bracketed paste is switched on and off with prompt_toolkit's line editor.
_EDITOR_ON, _EDITOR_OFF = "\x1b[?2004h", "\x1b[?2004l"

Event = dict[str, Any]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Ours, with this checkout on the path, whatever the working folder is; an interpreter as by default."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **(extra or {})}
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX", "NO_COLOR", "COLUMNS", "LINES"):
        env.pop(name, None)
    return {**env, **(extra or {})}


@dataclass(frozen=True)
class Done:
    """A command line that ran to its end."""

    status: int
    stdout: str
    stderr: str

    @property
    def events(self) -> list[Event]:
        return [json.loads(line) for line in self.stdout.splitlines()]

    def of(self, name: str) -> list[Event]:
        return [event for event in self.events if event["event"] == name]

    def complains(self, *parts: str) -> None:
        """Fails unless standard error is one message of ours with a hint, with all of ``parts`` in it."""
        assert self.stderr.startswith("dualdbg: "), self
        assert "Traceback" not in self.stdout + self.stderr, self
        assert "did not foresee" not in self.stderr, self
        for part in parts:
            assert part in self.stderr, (part, self)


def dualdbg(
    *words: str | Path,
    cwd: Path | str | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str = "",
    prefix: Sequence[str] = (),
) -> Done:
    """Run the command line to its end, with ``stdin`` as its input."""
    command = [*prefix, *DUALDBG, *map(str, words)]
    pipe = subprocess.PIPE
    with warm.Popen(command, cwd=cwd, env=environment(env), stdin=pipe, stdout=pipe, stderr=pipe) as process:
        does = None
        try:
            out, errors = process.communicate(stdin.encode(), SECONDS)
        except subprocess.TimeoutExpired:
            does = what_it_does(process.pid)
            process.kill()
            out, errors = process.communicate()
        except BaseException:
            process.kill()
            raise
    if does is not None:
        pytest.fail(f"{command} hangs.\n{text_of(out)}\n{text_of(errors)}\n{does}", pytrace=False)
    return Done(process.returncode, text_of(out), text_of(errors))


def at_one_stop(scenes: Mapping[str, Sequence[str]], *words: str | Path, cwd: Path) -> dict[str, Done]:
    """The answers to the commands of each scene, of which none lets the program run: all in one session, each in the
    innermost frame. ``words`` lead to the stop."""
    commands = []
    for name, scene in scenes.items():
        commands += ["frame 0", f"help begin-{name}", *scene, f"help end-{name}"]
    given = [word for command in commands for word in ("-x", command)]
    done = dualdbg("run", "--batch", "--json", *words[:-1], *given, words[-1], cwd=cwd)
    assert "Traceback" not in done.stdout + done.stderr, done
    found = {}
    for name in scenes:
        part = re.search(rf"'begin-{name}'.*\n((?:.*\n)*?).*'end-{name}'", done.stdout)
        assert part is not None, (name, done)
        found[name] = Done(done.status, part[1], done.stderr)
    return found


def text_of(output: bytes) -> str:
    """What a program has written, whatever it is."""
    return output.decode("utf-8", "replace")


def what_it_does(pid: int) -> str:
    """The stacks and tasks of a process that hangs, and of those that it has started."""
    stacks = [*DUALDBG, "stacks", "--tree", str(pid), "--tasks", "--locals"]
    done = subprocess.run(stacks, env=environment(), capture_output=True, timeout=SECONDS)
    return text_of(done.stdout + done.stderr)


class JsonRun:
    """``dualdbg run --json``, steered line by line. Every event is in ``seen``."""

    def __init__(
        self, *words: str | Path, cwd: Path | str | None = None, env: Mapping[str, str] | None = None
    ) -> None:
        self.process = warm.Popen(
            [*DUALDBG, "run", "--json", *map(str, words)],
            cwd=cwd,
            env=environment(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.seen: list[Event] = []
        self._queue: queue.Queue[Event | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._queue.put(json.loads(line))
        self._queue.put(None)

    def next(self, name: str) -> Event:
        """The next event of this name; fails when the stream ends first."""
        deadline = time.monotonic() + SECONDS
        while True:
            event = self._queue.get(timeout=max(deadline - time.monotonic(), 0.001))
            assert event is not None, f"no more events while waiting for {name}: {self.seen}"
            self.seen.append(event)
            if event["event"] == name:
                return event

    def send(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def finish(self) -> int:
        """Read the rest of the events and return the exit status."""
        while (event := self._queue.get(timeout=SECONDS)) is not None:
            self.seen.append(event)
        return self.process.wait(SECONDS)

    def gdb(self) -> psutil.Process:
        """The gdb of this session."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        return next(child for child in children if name_of(child) == "gdb")

    def family(self) -> list[psutil.Process]:
        """dualdbg and everything that it started."""
        us = psutil.Process(self.process.pid)
        return [us, *us.children(recursive=True)]

    def close(self) -> None:
        if self.process.poll() is None:
            for process in self.family()[::-1]:
                with suppress(psutil.NoSuchProcess):  # the end of one before it ended it
                    process.kill()
        self.process.wait(SECONDS)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


@contextmanager
def json_run(*words: str | Path, cwd: Path | str | None = None) -> Iterator[JsonRun]:
    run = JsonRun(*words, cwd=cwd)
    try:
        yield run
    finally:
        run.close()


class Terminal:
    """``dualdbg`` on a terminal of its own."""

    def __init__(
        self,
        *words: str | Path,
        cwd: Path | str | None = None,
        columns: int = 100,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.child = terminals.Terminal(
            DUALDBG[0],
            [*DUALDBG[1:], *map(str, words)],
            cwd=None if cwd is None else os.fspath(cwd),
            env=environment(env),
            encoding="utf-8",
            timeout=SECONDS,
            dimensions=(40, columns),
        )
        self.child.delaybeforesend = None

    def expect(self, text: str) -> str:
        """Wait for ``text``; returns what came before it, without control sequences."""
        self.child.expect_exact(text)
        return plain(self.child.before)

    def prompt(self) -> str:
        """Wait until the line editor is ready for input; returns what was written before it."""
        before = self.expect(_EDITOR_ON)
        self.child.expect_exact("\x1b[?25h")  # the cursor is shown again: the prompt is drawn
        return before

    def question(self) -> str:
        """Wait until the user is asked something in place of the prompt; returns the question."""
        self.child.expect_exact(_EDITOR_ON)
        return self.expect("(y or n)")

    def send(self, line: str) -> None:
        """Type a line at the prompt."""
        self.child.send(line + "\r")
        self.child.expect_exact(_EDITOR_OFF)

    def ask(self, line: str) -> str:
        """Type a line at the prompt; returns what is written until the next prompt."""
        self.send(line)
        return self.prompt()

    def in_step(self) -> None:
        """Pass over what was told, with a prompt of its own, beside the answers so far. Nothing more may be told."""
        self.child.send("help nonsense\r")
        self.expect("'nonsense'")
        self.prompt()

    def type(self, text: str) -> None:
        """Type for the program, or keys that are no whole line."""
        self.child.send(text)

    def run_on(self, line: str) -> None:
        """Type a command that lets the program run, and wait until it has the terminal."""
        self.send(line)
        ours = os.getpgid(self.child.pid)
        wait_until(
            lambda: os.tcgetpgrp(self.child.child_fd) != ours, SECONDS, "the program is in the foreground"
        )

    def control(self, letter: str) -> None:
        self.child.sendcontrol(letter)

    def finish(self) -> tuple[int, str]:
        """Wait for the end; returns the exit status and the last that was written."""
        self.child.expect(pexpect.EOF)
        rest = plain(self.child.before)
        self.child.close()
        assert self.child.signalstatus is None, f"dualdbg was ended by signal {self.child.signalstatus}"
        return self.child.exitstatus, rest


def plain(text: str) -> str:
    return _CONTROL.sub("", text)


@contextmanager
def terminal(
    *words: str | Path,
    cwd: Path | str | None = None,
    columns: int = 100,
    env: Mapping[str, str] | None = None,
) -> Iterator[Terminal]:
    one = Terminal(*words, cwd=cwd, columns=columns, env=env)
    try:
        yield one
    finally:
        if one.child.isalive():
            with suppress(psutil.NoSuchProcess):  # it is ending
                for process in psutil.Process(one.child.pid).children(recursive=True):
                    process.kill()
        one.child.close(force=True)
