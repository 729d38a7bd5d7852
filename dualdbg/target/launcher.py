"""Starts the target: the program under its interpreter, with our bootstrap in it, naming us as its tracer."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import fcntl
import json
import os
import re
import secrets
import signal
import subprocess
import termios
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, Union

from dualdbg.errors import TargetError, UsageError
from dualdbg.model import Exit
from dualdbg.shortage import shortage

from .guard import KILL_TARGET, Guard
from .terminal import Terminal

BOOTSTRAP = Path(__file__).parent / "bootstrap"
SETTINGS = "DUALDBG_TARGET"  # the name that bootstrap/sitecustomize.py knows

PR_SET_PTRACER = 0x59616D61  # linux/prctl.h; Documentation/admin-guide/LSM/Yama.rst

Stream = Union[Literal["inherit", "pipe"], int]
"""A standard stream of the target: dualdbg's own, a pipe to us, or an open descriptor (a pty)."""

# Options with which the interpreter does not read `site` or PYTHONPATH, and so not the bootstrap. They may be joined
# with other options that take no value (-IB).
FLAGS_WITHOUT_SITE = re.compile(r"-[^-cmWX]*[SEI]")


@dataclass(frozen=True)
class Launch:
    """What to run and how. Exactly one of ``script``, ``module`` and ``code`` is given.

    ``env`` is added to dualdbg's own environment (None takes a variable out of it); ``flags`` are options of the
    interpreter (``-X dev``).
    ``own_terminal``: its standard input is a terminal that only the program uses; it becomes the controlling terminal.
    """

    python: str
    script: str | None = None
    module: str | None = None
    code: str | None = None
    args: tuple[str, ...] = ()
    cwd: str | None = None
    env: Mapping[str, str | None] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    stdin: Stream = "inherit"
    stdout: Stream = "inherit"
    stderr: Stream = "inherit"
    own_terminal: bool = False

    def command(self) -> list[str]:
        """The command line that a user would type without dualdbg."""
        what = {"-m": self.module, "-c": self.code, "": self.script}
        given = [(option, value) for option, value in what.items() if value is not None]
        if len(given) != 1:
            raise UsageError("Give one thing to run: a script, -m MODULE or -c CODE.")
        option, value = given[0]
        return [self.python, *self.flags, *([option] if option else []), value, *self.args]


@dataclass(frozen=True)
class Meeting:
    """Where the target's pydevd finds the session, and the two secrets by which they know each other.

    ``address`` is the path of a Unix socket, or a host and a port. The target shows ``target_token`` with its first
    line, before anything is said to it. Then the session shows ``session_token``, and pydevd obeys it.
    """

    address: Union[str, tuple[str, int]]
    session_token: str = field(default_factory=lambda: secrets.token_hex(32))
    target_token: str = field(default_factory=lambda: secrets.token_hex(32))


class Target:
    """A target that was launched; made by :func:`spawn`. Without a terminal it shares our process group."""

    def __init__(self, process: asyncio.subprocess.Process, guard: Guard, own_group: bool) -> None:
        self.pid = process.pid
        self.stdin = process.stdin
        self.stdout = process.stdout
        self.stderr = process.stderr
        self._process = process
        self._guard = guard
        self._own_group = own_group
        self._end = asyncio.create_task(self._wait_for_end())

    async def _wait_for_end(self) -> Exit:
        status = await self._process.wait()
        self._guard.release()
        return Exit(code=status) if status >= 0 else Exit(signal=-status)

    async def wait(self) -> Exit:
        """Waits for the end of the target and says how it ended. May be awaited many times, by many tasks."""
        return await asyncio.shield(self._end)

    @property
    def exit(self) -> Exit | None:
        """How it ended; None while it lives."""
        return self._end.result() if self._end.done() else None

    def kill(self) -> None:
        """Ends the target and the processes that it started in its own process group; daemons stay."""
        if self._process.returncode is None:
            try:
                (os.killpg if self._own_group else os.kill)(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it ended a moment ago

    def detach(self) -> None:
        """From now on the target outlives dualdbg."""
        self._guard.release()


async def spawn(
    launch: Launch,
    meeting: Meeting | None,
    *,
    cache: Path | None = None,
    terminal: Terminal | None = None,
    tracer: int | None = None,
) -> Target:
    """Starts the target. Its pydevd connects to ``meeting`` and waits there for `configurationDone`; None: no pydevd.

    ``cache`` is a folder for compiled copies of debugpy's files. With a ``terminal`` the target gets a
    process group of its own and the foreground, as a shell would do. It does not outlive dualdbg,
    unless detached: a guard ends it, which unlike PR_SET_PDEATHSIG can be called off from outside.
    ``tracer`` is the process that is to debug the target, when it is not this process.
    Raises TargetError when the process cannot be started, UsageError when the program cannot be debugged.
    """
    command = launch.command()
    for flag in launch.flags:
        if FLAGS_WITHOUT_SITE.match(flag):
            raise UsageError(
                f"The interpreter's option {flag} keeps the debugger out of the program.",
                f"Leave {flag} away; -P and -s are fine.",
            )
    env = plain_environment(launch) if meeting is None else environment(launch, meeting, cache)
    guard = Guard(KILL_TARGET)
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=launch.cwd,
            env=env,
            stdin=_popen_stream(launch.stdin),
            stdout=_popen_stream(launch.stdout),
            stderr=_popen_stream(launch.stderr),
            preexec_fn=_between_fork_and_exec(guard.pipe, terminal, launch.own_terminal, tracer),
            limit=2**20,
        )
    except OSError as error:
        guard.release()
        if terminal is not None:
            terminal.take()
        raise TargetError(*_why_not_started(launch, error)) from error
    if terminal is not None:
        terminal.give(process.pid)
    return Target(process, guard, own_group=terminal is not None or launch.own_terminal)


def plain_environment(launch: Launch) -> dict[str, str]:
    """The environment that the program is to have."""
    wanted = {**os.environ, **launch.env}
    return {name: value for name, value in wanted.items() if value is not None}


def environment(launch: Launch, meeting: Meeting, cache: Path | None) -> dict[str, str]:
    """The environment for exec; the bootstrap puts back what it had to change before the program runs."""
    if os.pathsep in str(BOOTSTRAP):
        raise TargetError(
            f"dualdbg is installed in {BOOTSTRAP.parent}, and PYTHONPATH cannot hold a path with a colon.",
            "Install dualdbg in a folder whose path has no colon.",
        )
    env = plain_environment(launch)
    pythonpath = env.get("PYTHONPATH")
    env["PYTHONPATH"] = os.pathsep.join([str(BOOTSTRAP), *([pythonpath] if pythonpath else [])])
    env[SETTINGS] = json.dumps(
        {
            **settings_for(meeting, cache),
            "parent": os.getpid(),
            "empty_pythonpath": pythonpath == "",
        }
    )
    return env


def settings_for(meeting: Meeting, cache: Path | None) -> dict[str, Any]:
    """What the bootstrap has to know to connect pydevd to the session."""
    return {
        "address": meeting.address,
        "session_token": meeting.session_token,
        "target_token": meeting.target_token,
        "debugpy": str(debugpy_package()),
        "pycache": str(cache) if cache else None,
    }


def debugpy_package() -> Path:
    """The folder of the debugpy that dualdbg brings along, found without importing it."""
    spec = find_spec("debugpy")
    if spec is None or spec.origin is None:
        raise TargetError("debugpy is not installed beside dualdbg.", "pip install debugpy")
    return Path(spec.origin).parent


def _popen_stream(stream: Stream) -> int | None:
    if stream == "inherit":
        return None
    return subprocess.PIPE if stream == "pipe" else int(stream)


def naming_us_as_tracer(tracer: int | None = None) -> Callable[[], None]:
    """For a child to call before exec: Yama then lets us (or ``tracer``) and our descendants, such as gdb, trace it."""
    us = tracer or os.getpid()
    prctl = ctypes.CDLL(None).prctl

    def name_us() -> None:
        prctl(PR_SET_PTRACER, us, 0, 0, 0)  # EINVAL without Yama, which nobody then asks

    return name_us


def _between_fork_and_exec(
    guard: int, terminal: Terminal | None, own_terminal: bool, tracer: int | None
) -> Callable[[], None]:
    """A function that the child calls. Everything that needs an import is done here, before the fork."""
    name_us = naming_us_as_tracer(tracer)
    ignored = {number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN}
    reset = ignored - IGNORED_AT_START

    def prepare() -> None:
        name_us()
        signal.pthread_sigmask(signal.SIG_SETMASK, [signal.SIGTTOU])
        if own_terminal:
            os.setsid()
            os.write(guard, b"-%d\n" % os.getpid())
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        elif terminal is not None:
            os.setpgid(0, 0)
            os.write(guard, b"-%d\n" % os.getpid())
            os.tcsetpgrp(terminal.descriptor, os.getpid())
        else:
            os.write(guard, b"%d\n" % os.getpid())
        for number in reset:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])

    return prepare


# What dualdbg was itself started with (nohup): the target gets it too, as it would from a shell.
# SIGPIPE and SIGXFSZ are ignored by every Python; subprocess gives them back to the child.
IGNORED_AT_START = {
    number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN
} - {signal.SIGPIPE, signal.SIGXFSZ}


def _why_not_started(launch: Launch, error: OSError) -> tuple[str, str]:
    if launch.cwd is not None and not Path(launch.cwd).is_dir():
        return f"The program cannot start in {launch.cwd}: there is no such folder.", "Give another --cwd."
    if (known := shortage(error)) is not None:
        return f"{launch.python} cannot be started: {known.message}.", known.hint
    reasons = {
        errno.ENOENT: "there is no such file",
        errno.EACCES: "it may not be executed",
        errno.ENOEXEC: "it is not a program",
    }
    reason = reasons.get(error.errno or 0, error.strerror)
    return f"{launch.python} cannot be started: {reason}.", "Give a Python interpreter with --python PATH."
