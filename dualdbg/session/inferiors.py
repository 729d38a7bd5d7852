"""Follows the descendants of a launched program: each that is wanted joins as a session of its own, before it runs.

A new Python process calls here (``target/bootstrap/dualdbg_follow.py``) and waits. It gets a session like the launched
program's: its own gdb, its own pydevd, the same breakpoints. Another program calls too (``join.c``) and gets gdb alone.
Who is not wanted is sent on at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from ..backends.events import NativeExited
from ..errors import DualdbgError, TargetError, TargetGone
from ..in_thread import in_thread
from ..model import Exit, Notice
from ..symbols.cache import cache_directory
from ..symbols.torch.operators import OperatorTable
from ..target import joiner, preload
from ..target.calls import UnixPlace
from ..target.child import Child
from ..target.guard import Guard
from ..target.launcher import Launch, Meeting, settings_for
from ..target.peers import Peer, descends_from, is_ours, of_unix_socket, parent_of, started_at
from ..target.permission import yama_scope
from ..target.terminal import Terminal
from .breakpoints.shared import SharedBreakpoints, SharedTable
from .death_watch import watch_death
from .preloads import compiled
from .session import Session
from .start import Options, launch
from .state import TargetState

ENVIRONMENT = "DUALDBG_FOLLOW"  # the name that dualdbg_follow.py knows
EVERY_PYTHON = "python"
EVERYTHING = "children"
# When dualdbg is gone, however it went.
_REMOVE = 'read -r folder || exit 0; read released && exit 0; rm -rf -- "$folder"'
_LONGEST_LINE = 1 << 16
# Python's own helpers of multiprocessing, which run nothing of the program's.
_HELPERS = ("multiprocessing.resource_tracker import main", "multiprocessing.semaphore_tracker import main")


@dataclass(frozen=True)
class Caller:
    """A process that asks. ``kind`` is fork or exec; ``work`` what multiprocessing started it for, or nothing.

    It says these two itself, and ``python``, which is empty for a program that is no Python. All else the kernel says:
    ``started`` is when it began, ``uid`` whose it is.
    """

    pid: int
    uid: int
    started: int
    parent: int
    kind: str
    work: str
    python: str
    command: tuple[str, ...]
    cwd: str

    @property
    def text(self) -> str:
        """How people know it."""
        return self.work or " ".join(self.command)


def is_wanted(wanted: str, caller: Caller) -> bool:
    """Whether ``--follow wanted`` means this process: python, children, or a pattern in its command line or work."""
    command = " ".join(caller.command)
    if wanted in (EVERY_PYTHON, EVERYTHING):
        return not any(helper in command for helper in _HELPERS)
    return any(fnmatchcase(text, f"*{wanted}*") for text in (command, caller.work))


@dataclass(frozen=True)
class Process:
    """One of the processes of a run; 1 is the launched one. ``title`` says what it is and whose child."""

    number: int
    session: Session
    title: str = ""


class Group:
    """The processes of one run. ``subscribe`` gets each that joins before anything happens in it.

    With ``configure``, which is awaited before a process that joins runs its first line, each has breakpoints of its
    own; without, they have one set.
    """

    def __init__(
        self,
        wanted: str,
        options: Options,
        operators: OperatorTable | None,
        subscribe: Callable[[Process], None],
        configure: Callable[[Session], Awaitable[None]] | None = None,
    ) -> None:
        self._wanted = wanted
        self._configure = configure
        self._breakpoints = SharedBreakpoints()
        self.options = options
        if configure is None:
            table = partial(SharedTable, self._breakpoints)
            self.options = replace(options, table=table, before_run=self._join)
        self._operators = operators
        self._subscribe = subscribe
        self._token = secrets.token_hex(32)
        self._place: UnixPlace | None = None
        self._guard: Guard | None = None
        self._calls: set[asyncio.Task[None]] = set()
        self._told: set[int] = set()  # users whose processes were turned away
        self._leader: Session | None = None
        self._what: Launch | None = None
        self._last_number = 1
        self._sessions: dict[int, Session] = {}  # by process id
        self._trouble: TargetError | None = None  # to be told once there is somebody to tell

    async def listen(self, what: Launch) -> Launch:
        """What is to be launched, such that its descendants call here. Raises TargetError when they could not.

        Root lets every user connect, because a descendant may have become another; who calls the kernel says.
        """
        everyone = os.geteuid() == 0
        try:
            self._place = await UnixPlace.open(self._called, everyone=everyone, limit=_LONGEST_LINE)
        except OSError as error:
            why = f"child processes cannot call dualdbg: no folder for a socket: {error.strerror or error}"
            raise TargetError(why, "TMPDIR names a folder that can be written to") from error
        try:
            self._guard = Guard(_REMOVE)
            os.write(self._guard.pipe, os.fsencode(self._place.folder) + b"\n")
            return await self._launched_with(self._place, what)
        except BaseException:
            await self.close()
            raise

    async def _launched_with(self, place: UnixPlace, what: Launch) -> Launch:
        where = {
            "path": place.path,
            "token": self._token,
            "user": os.geteuid(),
            "session_pid": os.getpid(),
            "name_tracer": yama_scope() == 1,
        }
        env: dict[str, str | None] = {**what.env, ENVIRONMENT: json.dumps(where)}
        if self._wanted != EVERY_PYTHON:
            env |= await self._for_other_programs(where, env)
        self._what = replace(what, env=env)
        return self._what

    async def _for_other_programs(
        self, where: dict[str, Any], env: Mapping[str, str | None]
    ) -> dict[str, str]:
        """Variables by which a program that is no Python calls here. Raises TargetError when that cannot be.

        With a pattern it may never have been meant: the trouble is told then.
        """
        before = env[preload.VARIABLE] if preload.VARIABLE in env else os.environ.get(preload.VARIABLE)
        words = [
            *(where["session_pid"], int(where["name_tracer"]), where["user"]),
            *(where["token"], where["path"]),
        ]
        try:
            value = joiner.JOINER.preload(await in_thread(compiled, joiner.JOINER), before)
        except TargetError as error:
            if self._wanted == EVERYTHING:
                raise
            self._trouble = error
            return {}
        return {preload.VARIABLE: value, joiner.ENVIRONMENT: " ".join(map(str, words))}

    def lead(self, session: Session) -> None:
        """``session`` is that of the launched program."""
        self._leader = session
        self._sessions[session.pid] = session
        if self._trouble is not None:
            session.emit(Notice("warning", self._trouble.message, "Python processes join all the same"))

    async def close(self) -> None:
        """No process joins any more. Those on their way are let go of: they run on unless the program is ended."""
        if self._place is not None:
            self._place.close()
        if self._guard is not None:
            self._guard.release()
        calls = list(self._calls)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    # -- a process calls ------------------------------------------------------------------------

    def _called(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Our own task: the one that asyncio makes would print a traceback when it is cancelled (3.11, streams.py).
        call = asyncio.create_task(self._serve(reader, writer), name="a process calls")
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            peer = of_unix_socket(writer.get_extra_info("socket"))
            if self._is_stranger(peer):
                return
            caller = self._read(await reader.readline(), peer)
            if caller is not None:
                await self._answer(caller, writer)
        except DualdbgError as error:
            self._tell(error.message, error.hint)
        except PermissionError as error:
            self._tell(f"the kernel does not let us look at it: {error.strerror}", "")
        except OSError:
            pass  # it ended while it waited
        except ValueError:
            pass  # a line without an end
        except Exception as error:  # a defect of ours must not leave a process waiting without a word
            self._tell(f"internal error, {type(error).__name__}: {error}", "run again with --log-dir DIR")
        finally:
            writer.close()

    def _is_stranger(self, peer: Peer) -> bool:
        """Whether a process has no business here: it is another user's, and no descendant of ours.

        Of our own user's we believe that it belongs to the program when it knows the token, because a service may have
        started it for the program. It can only name itself. Raises OSError when it has ended.
        """
        if peer.pid == 0 or peer.uid is None:
            return True
        if is_ours(peer.uid):
            return False
        alive = {pid for pid, session in self._sessions.items() if not session.ended.is_set()}
        if descends_from(peer.pid, alive | {os.getpid()}):
            return False
        if peer.uid not in self._told:  # once: a stranger may call as often as it likes
            self._told.add(peer.uid)
            why = f"process {peer.pid} of user {peer.uid} called, and descends from none of the program's that run"
            self._tell(why, "")
        return True

    def _read(self, line: bytes, peer: Peer) -> Caller | None:
        """None for who does not know the token. Raises OSError when it has ended."""
        try:
            hello = json.loads(line)
            if not secrets.compare_digest(str(hello["token"]).encode(), self._token.encode()):
                return None
            kind, work, python = (str(hello[name]) for name in ("kind", "work", "python"))
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        assert peer.uid is not None
        parent, command, cwd = _seen_from_outside(peer.pid)
        return Caller(peer.pid, peer.uid, started_at(peer.pid), parent, kind, work, python, command, cwd)

    async def _answer(self, caller: Caller, writer: asyncio.StreamWriter) -> None:
        leader, what = self._leader, self._what
        if leader is None or what is None or caller.pid == leader.pid or not is_wanted(self._wanted, caller):
            return
        earlier = self._sessions.pop(caller.pid, None)
        if earlier is not None and not earlier.ended.is_set():  # it forked, joined, and ran another program
            await earlier.detach()
        self._last_number += 1
        number = self._last_number

        async def invite(
            launch: Launch, meeting: Meeting | None, *, terminal: Terminal | None = None
        ) -> Child:
            assert meeting is not None
            child = Child(caller.pid, leader.target)
            if started_at(caller.pid) != caller.started:  # the number is another's by now
                raise TargetGone(f"process {caller.pid} has ended")
            if not caller.python:
                return child  # it waits until we hang up
            settings = settings_for(meeting, cache_directory() / "pycache")
            writer.write((json.dumps(settings) + "\n").encode())
            await writer.drain()
            return child

        async def let_go() -> None:
            writer.close()

        def subscribe(session: Session) -> None:
            session.wait_for_exit = None  # gdb says how it ended: nobody else but its parent can
            self._sessions[caller.pid] = session
            self._subscribe(Process(number, session, f"{caller.kind} of {caller.parent}, {caller.text}"))

        try:
            session = await launch(
                _launched(caller, what),
                self._options_of_child(number),
                self._operators,
                leader.started,
                subscribe,
                self._configure,
                invite,
                let_go=None if caller.python else let_go,
                user=caller.uid,
            )
        except BaseException:
            self._give_up(caller.pid)
            raise
        if session.ended.is_set():  # it ended while it joined
            return
        child: Child = session.target
        child.joined()

        def tell(exit: Exit) -> None:
            name = signal.Signals(exit.signal).name if exit.signal is not None else None
            session.report(NativeExited(exit.code, name))

        session.background(child.watch(session.ended, tell))
        session.background(watch_death(session.loop))

    def _give_up(self, pid: int) -> None:
        """It could not join: its session, if it has one already, is over, and the process runs on."""
        session = self._sessions.pop(pid, None)
        if session is not None:
            session.loop.open()  # it may not have come so far as to take entries
            session.loop.put(TargetState.detached)

    def _options_of_child(self, number: int) -> Options:
        log_dir = self.options.log_dir / f"process-{number}" if self.options.log_dir is not None else None
        own = self.options.breakpoints if self._configure is not None else ()
        child = replace(self.options, breakpoints=own, stop_on_entry=False, terminal=None, log_dir=log_dir)
        return replace(child, notices=())  # they were told

    async def _join(self, session: Session) -> None:
        assert isinstance(session.breakpoints, SharedTable)
        await self._breakpoints.join(session.breakpoints)

    def _tell(self, why: str, hint: str) -> None:
        if self._leader is not None:
            self._leader.emit(Notice("warning", f"a child process runs without dualdbg: {why}", hint))


def _launched(caller: Caller, leader: Launch) -> Launch:
    """Names and files mean what they mean for the launched program, and for the script of a child that has its own.

    A process of another user's has no say in it: its interpreter would be run here, to be asked about names.
    """
    if not is_ours(caller.uid):
        return leader
    script = next((word for word in caller.command[1:] if word.endswith(".py")), None)
    if caller.kind == "exec" and script is not None:
        return Launch(python=caller.python, script=script, cwd=caller.cwd, env=leader.env)
    return replace(leader, python=caller.python or leader.python)


def _seen_from_outside(pid: int) -> tuple[int, tuple[str, ...], str]:
    """What a process need not tell of itself: its parent, its command line, its folder. Raises OSError."""
    process = Path(f"/proc/{pid}")
    words = process.joinpath("cmdline").read_bytes().decode("utf-8", "backslashreplace").split("\0")[:-1]
    return parent_of(pid), tuple(words), str(process.joinpath("cwd").readlink())


async def launch_group(
    wanted: str,
    what: Launch,
    options: Options,
    operators: OperatorTable | None,
    started: float,
    subscribe: Callable[[Session | Process], None],
) -> Session:
    """The session of a launched program, as ``launch`` makes it; ``subscribe`` gets each process that joins as well.

    No process joins any more once that session is closed.
    """
    group = Group(wanted, options, operators, subscribe)

    def lead(session: Session) -> None:
        session.at_end.append(group.close)
        subscribe(session)
        group.lead(session)

    try:
        return await launch(await group.listen(what), group.options, operators, started, lead)
    except BaseException:
        await group.close()
        raise
