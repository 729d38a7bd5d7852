"""Starts the target: the program under its interpreter, with our bootstrap in it, naming us as its tracer."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import fcntl
import json
import os
import secrets
import signal
import subprocess
import termios
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Literal, Union

from dualdbg.errors import TargetError, UsageError
from dualdbg.model import Exit
from dualdbg.shared.python_command import without_site
from dualdbg.system.open_files import passed_on, restore_limit
from dualdbg.system.shortage import shortage

from .keeping import KeptProgram
from .permission import check_not_blocked, yama_scope
from .terminal import Terminal

BOOTSTRAP = Path(__file__).parent / "bootstrap"
SETTINGS = "DUALDBG_TARGET"  # the name that bootstrap/sitecustomize.py knows

PR_SET_PTRACER = 0x59616D61  # linux/prctl.h; Documentation/admin-guide/LSM/Yama.rst

Stream = Union[Literal["inherit", "pipe"], int]
"""A standard stream of the target: dualdbg's own, a pipe to us, or an open descriptor (a pty)."""


@dataclass(frozen=True)
class Launch:
    """What to run and how. Exactly one of ``script``, ``module``, ``code`` and ``native`` is given.

    ``native`` is a program that is no interpreter; it may have Python in it. ``python`` is then an interpreter that is
    known to look names up as the program would. ``python`` is empty where none is to be asked; ``unasked`` says why.
    ``env`` is added to dualdbg's own environment (None takes a variable out of it); ``flags`` are options of the
    interpreter (``-X dev``).
    ``is_wrapped``: ``python`` is a program that starts the interpreter as a process of its own; ``flags`` may be its.
    ``own_terminal``: its standard input is a terminal that only the program uses; it becomes the controlling terminal.
    ``through`` are words before the command line: what starts the interpreter in our place. ``sudo`` is the path of a
    sudo that is to start it all.
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
    native: str | None = None
    unasked: str = ""
    is_wrapped: bool = False
    through: tuple[str, ...] = ()
    sudo: str | None = None

    def command(self) -> list[str]:
        """The command line that a user would type without dualdbg."""
        if self.native is not None:
            return [self.native, *self.args]
        return [self.python, *self.flags, *self.what(), *self.args]

    def started(self, env: Mapping[str, str]) -> list[str]:
        """The command line that is executed, with ``env`` as its environment."""
        command = [*self.through, *self.command()]
        if self.sudo is None:
            return command
        # -E keeps the environment, but for what would have other code run, as PYTHONPATH does (sudoers(5), env_delete).
        kept = [f"PYTHONPATH={env['PYTHONPATH']}"] if "PYTHONPATH" in env else []
        return [self.sudo, "-E", "env", *kept, *command]

    def what(self) -> list[str]:
        """What the interpreter is told to run: a script, or ``-m`` or ``-c`` and a value. Raises UsageError."""
        what = {"-m": self.module, "-c": self.code, "": self.script}
        given = [(option, value) for option, value in what.items() if value is not None]
        if len(given) != 1:
            raise UsageError("Give one thing to run: a script, -m MODULE or -c CODE.")
        option, value = given[0]
        return [*([option] if option else []), value]


@dataclass(frozen=True)
class Meeting:
    """Where the target's pydevd finds the session, and the two secrets by which they know each other.

    ``address`` is the path of a Unix socket, or a host and a port. The target shows ``target_token`` with its first
    line, before anything is said to it. Then the session shows ``session_token``, and pydevd obeys it.
    """

    address: Union[str, tuple[str, int]]
    session_token: str = field(default_factory=lambda: secrets.token_hex(32))
    target_token: str = field(default_factory=lambda: secrets.token_hex(32))


@dataclass(frozen=True)
class _Pipes:
    stdin: asyncio.StreamWriter | None
    stdout: asyncio.StreamReader | None
    stderr: asyncio.StreamReader | None


class Target:
    """A target that was launched; made by :func:`spawn`. Its parent is a keeper, which is told what is to become of it.

    Without a terminal it shares our process group.
    """

    def __init__(self, kept: KeptProgram, pipes: _Pipes) -> None:
        self.pid = kept.pid
        self.stdin, self.stdout, self.stderr = pipes.stdin, pipes.stdout, pipes.stderr
        self._kept = kept

    async def wait(self) -> Exit:
        """Waits for the end of the target and says how it ended. May be awaited many times, by many tasks."""
        return await asyncio.shield(self._kept.exit)

    def let_go(self) -> None:
        """A native program is to run when gdb lets it: it is no longer a stopped process."""
        self._kept.let_go()

    @property
    def exit(self) -> Exit | None:
        """How it ended; None while it lives."""
        return self._kept.exit.result() if self._kept.exit.done() else None

    def kill(self) -> None:
        """Ends the target, and every process that descends from it, whatever group or session it is in."""
        self._kept.kill()

    @property
    def left(self) -> Sequence[str]:
        """Return what outlived the target and was ended, ``PID NAME`` each; known when all is :meth:`cleared`."""
        return self._kept.left

    async def cleared(self) -> None:
        """Waits until nothing is left that :meth:`kill` ends."""
        await self._kept.gone.wait()

    def detach(self) -> None:
        """From now on the target and all that descends from it outlive dualdbg."""
        self._kept.tell("release")

    def spare(self, pid: int) -> None:
        """From now on this descendant, with its own descendants, outlives dualdbg."""
        self._kept.spare(pid)

    def keep(self, pid: int) -> None:
        """Takes :meth:`spare` back; it is a descendant of which :meth:`how_ended` may be asked."""
        self._kept.keep(pid)

    async def how_ended(self, pid: int) -> Exit:
        """How a descendant ended that was given to :meth:`keep` and is reaped; empty where its own parent did that."""
        return await self._kept.how_ended(pid)


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
    process group of its own and the foreground, as a shell would do. Neither it nor what descends from it outlives
    dualdbg, unless detached: a keeper sees to that, which unlike PR_SET_PDEATHSIG can be told to let go.
    A native program is stopped then, before its first instruction, until :meth:`Target.let_go`.
    ``tracer`` is the process that is to debug the target, when it is not this process.
    Raises TargetError when the process cannot be started, UsageError when the program cannot be debugged,
    PermissionRefused where a native one could not wait, because nothing may be traced.
    """
    flag = without_site(launch.flags)
    if flag is not None:
        raise UsageError(
            f"The interpreter's option {flag} keeps the debugger out of the program.",
            f"Leave {flag} away; -P and -s are fine.",
        )
    if launch.native is not None:
        check_not_blocked()
    env = plain_environment(launch) if meeting is None else environment(launch, meeting, cache, tracer)
    kept: KeptProgram | None = None
    try:
        kept = KeptProgram(hold=launch.native is not None)
        with _signals_blocked():
            process = subprocess.Popen(
                launch.started(env),
                cwd=launch.cwd,
                env=env,
                stdin=_popen_stream(launch.stdin),
                stdout=_popen_stream(launch.stdout),
                stderr=_popen_stream(launch.stderr),
                pass_fds=passed_on(),
                preexec_fn=_between_fork_and_exec(kept, terminal, launch.own_terminal, tracer),
            )
        await kept.begin(process)
        if launch.native is not None:
            await kept.held()
    except (OSError, subprocess.SubprocessError) as error:
        if terminal is not None:
            terminal.take()
        trouble = kept.close() if kept is not None else None
        raise TargetError(*_why_not_started(launch, trouble or error)) from error
    if terminal is not None:
        terminal.give(kept.pid, is_held=launch.native is not None)
    return Target(kept, await _pipes_of(process))


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """No signal is taken: one that comes to a child before exec must not meet our handlers there."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


async def _pipes_of(process: subprocess.Popen[bytes]) -> _Pipes:
    """Our ends of the pipes to its standard streams, for the event loop."""
    return _Pipes(
        await _writing(process.stdin) if process.stdin else None,
        await _reading(process.stdout) if process.stdout else None,
        await _reading(process.stderr) if process.stderr else None,
    )


async def _reading(pipe: IO[bytes]) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=2**20)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return reader


async def _writing(pipe: IO[bytes]) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    transport, protocol = await loop.connect_write_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    return asyncio.StreamWriter(transport, protocol, reader, loop)


def plain_environment(launch: Launch) -> dict[str, str]:
    """The environment that the program is to have."""
    wanted = {**os.environ, **launch.env}
    return {name: value for name, value in wanted.items() if value is not None}


def environment(
    launch: Launch, meeting: Meeting, cache: Path | None, tracer: int | None = None
) -> dict[str, str]:
    """The environment for exec; the bootstrap puts back what it had to change before the program runs.

    Of a wrapper it stays until the program's own process. That names ``tracer``, by default us, for its own.
    """
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
            "host": launch.native is not None,
            "launcher": os.getpid(),
            "empty_pythonpath": pythonpath == "",
            **(_of_wrapped(launch, tracer) if launch.is_wrapped else {}),
        }
    )
    return env


def _of_wrapped(launch: Launch, tracer: int | None) -> dict[str, Any]:
    """How the program's own process knows itself among those that its wrapper starts; and its tracer (Yama)."""
    return {
        "flags": list(launch.flags),
        "what": launch.what(),
        "joins": True,
        "tracer": (tracer or os.getpid()) if yama_scope() == 1 else 0,
    }


def settings_for(meeting: Meeting, cache: Path | None) -> dict[str, Any]:
    """What the bootstrap has to know to connect pydevd to the session."""
    return {
        "address": meeting.address,
        "session_token": meeting.session_token,
        "target_token": meeting.target_token,
        "debugpy": str(debugpy_package()),
        "pycache": str(cache) if cache else None,
    }


def check_view(pid: int) -> None:
    """Raises TargetError when the process does not see the files that it is to run.

    (mount_namespaces(7), chroot(2))
    """
    for path in (debugpy_package(), BOOTSTRAP):
        if not Path(f"/proc/{pid}/root{path}").exists():
            raise TargetError(
                f"the process does not see {path}: it has a file system of its own",
                "install dualdbg in there, in the same folder as out here",
            )


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
    kept: KeptProgram, terminal: Terminal | None, own_terminal: bool, tracer: int | None
) -> Callable[[], None]:
    """A function that the child calls, with all signals blocked. What needs an import is done here, before the fork."""
    name_us = naming_us_as_tracer(tracer)
    ours = {number for number in signal.valid_signals() if callable(signal.getsignal(number))}
    ignored = {number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN}
    reset = ours | (ignored - IGNORED_AT_START)

    def prepare() -> None:
        kept.fork(own_group=terminal is not None and not own_terminal)
        restore_limit()
        name_us()
        if own_terminal:
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        elif terminal is not None:
            os.setpgid(0, 0)
            os.tcsetpgrp(terminal.descriptor, os.getpid())
        for number in reset:
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, BLOCKED_AT_START)

    return prepare


# What dualdbg was itself started with (nohup): the target gets it too, as it would from a shell.
# SIGPIPE and SIGXFSZ are ignored by every Python; subprocess gives them back to the child.
IGNORED_AT_START = {
    number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN
} - {signal.SIGPIPE, signal.SIGXFSZ}
BLOCKED_AT_START = signal.pthread_sigmask(signal.SIG_BLOCK, [])


def _why_not_started(launch: Launch, error: Exception) -> tuple[str, str]:
    if launch.cwd is not None and not Path(launch.cwd).is_dir():
        return f"The program cannot start in {launch.cwd}: there is no such folder.", "Give another --cwd."
    program = launch.native or launch.python
    if (known := shortage(error)) is not None:
        return f"{program} cannot be started: {known.message}.", known.hint
    reasons = {
        errno.ENOENT: "there is no such file",
        errno.EACCES: "it may not be executed",
        errno.ENOEXEC: "it is not a program",
    }
    number = error.errno if isinstance(error, OSError) else None
    reason = reasons.get(number or 0) or (os.strerror(number) if number else str(error))
    hint = "Give a Python interpreter with --python PATH."
    if launch.native is not None:
        hint = "run --native wants a program: its path, or a command on PATH."
    return f"{program} cannot be started: {reason}.", hint
