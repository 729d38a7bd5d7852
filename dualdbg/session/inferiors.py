"""Follows the descendants of a launched program: each that is wanted gets a session of its own, before it runs.

A new Python process calls here (``target/bootstrap/dualdbg_follow.py``) and waits. It gets a session like that of the
launched program: its own gdb, its own pydevd, the same breakpoints. Another program calls too (``join.c``) and gets
gdb alone. A process that is not wanted goes on at once.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import DualdbgError, TargetError, TargetGone
from ..model import Notice
from ..shared.proc_files import stat_of
from ..symbols.cache import cache_directory
from ..symbols.torch.operators import OperatorTable
from ..system.in_thread import in_thread
from ..system.log_names import of_child
from ..target import joiner, preload
from ..target.calls import ListeningSocket
from ..target.child import Child
from ..target.descent import descends_from
from ..target.launcher import Launch, Meeting, settings_for
from ..target.peers import Peer, is_ours, of_unix_socket, user_of
from ..target.permission import yama_scope
from ..target.terminal import Terminal
from .breakpoints.shared import SharedBreakpoints, SharedTable
from .options import Options
from .preloads import compiled
from .session import Session
from .start import launch
from .transitions.ending import detached

ENVIRONMENT = "DUALDBG_FOLLOW"  # dualdbg_follow.py reads it
EVERY_PYTHON = "python"
EVERYTHING = "children"
_LONGEST_LINE = 1 << 16
# Helper processes of Python's multiprocessing, which run no code of the program.
_HELPERS = ("multiprocessing.resource_tracker import main", "multiprocessing.semaphore_tracker import main")


@dataclass(frozen=True)
class Caller:
    """A process that calls.

    It says three things itself. ``kind`` is fork or exec. ``work`` is what multiprocessing started it for, or empty.
    ``python`` is its interpreter, empty for a program that is not Python. The kernel says the rest: ``started`` is
    when it began, ``uid`` its user.
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
        """How people know it: by its work, else by its command line."""
        return self.work or " ".join(self.command)


def is_wanted(wanted: str, caller: Caller) -> bool:
    """Whether ``--follow wanted`` means this process.

    ``wanted`` is python, children, or a pattern that its command line or its work matches.
    """
    command = " ".join(caller.command)
    if wanted in (EVERY_PYTHON, EVERYTHING):
        return not any(helper in command for helper in _HELPERS)
    return any(fnmatchcase(text, f"*{wanted}*") for text in (command, caller.work))


@dataclass(frozen=True)
class Process:
    """One of the processes of a run. Number 1 is the launched one; ``title`` says what it is and whose child."""

    number: int
    session: Session
    title: str = ""


class Group:
    """The processes of one run. ``subscribe`` gets each that joins, before anything happens in it.

    ``configure`` is awaited before a process that joins runs its first line. With it, each process has breakpoints of
    its own; without it, all share one set.
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
        self._socket: ListeningSocket | None = None
        self._calls: set[asyncio.Task[None]] = set()
        self._told: set[int] = set()  # users whose processes were turned away
        self._leader: Session | None = None
        self._what: Launch | None = None
        self._last_number = 1
        self._sessions: dict[int, Session] = {}  # by process id
        self._trouble: TargetError | None = None  # told once there is a session to tell it in

    async def listen(self, what: Launch) -> Launch:
        """What is to be launched, such that its descendants call here. Raises TargetError when they could not.

        Root lets every user connect, because a descendant may run as another user. The kernel says who calls.
        """
        everyone = os.geteuid() == 0
        try:
            self._socket = await ListeningSocket.open(self._called, everyone=everyone, limit=_LONGEST_LINE)
        except OSError as error:
            why = f"child processes cannot call dualdbg: no folder for a socket: {error.strerror or error}"
            raise TargetError(why, "TMPDIR names a folder that can be written to") from error
        try:
            return await self._launched_with(self._socket, what)
        except BaseException:
            await self.close()
            raise

    async def _launched_with(self, socket: ListeningSocket, what: Launch) -> Launch:
        where = {
            "path": socket.path,
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
        """Variables by which a program that is not Python calls here. Raises TargetError when there can be none.

        With a pattern, perhaps no such program was meant. The error is kept then, and told in :meth:`lead`.
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
        """The session of the launched program begins."""
        self._leader = session
        self._sessions[session.pid] = session
        if self._trouble is not None:
            session.emit(Notice("warning", self._trouble.message, "Python processes join all the same"))

    async def close(self) -> None:
        """No process joins any more. Those on their way are let go of: they run on unless the program is ended."""
        if self._socket is not None:
            self._socket.close()
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
            began = stat_of(peer.pid).began
            if self._is_stranger(peer):
                return
            caller = self._read(await reader.readline(), peer)
            if caller is None or caller.started != began:  # it has ended, and another has its number by now
                return
            await self._answer(caller, writer)
        except TargetGone:
            pass  # it ended while it waited
        except DualdbgError as error:
            self._tell(error.message, error.hint)
        except PermissionError as error:
            self._tell(f"the kernel does not let us look at it: {error.strerror}", "")
        except OSError:
            pass  # the same
        except ValueError:
            pass  # the line is too long
        except Exception as error:  # a defect of ours must not leave a process waiting without a word
            self._tell(f"internal error, {type(error).__name__}: {error}", "run again with --log-dir DIR")
        finally:
            writer.close()

    def _is_stranger(self, peer: Peer) -> bool:
        """Whether the process of another user has no business here, because it is not a descendant of ours.

        Processes of our own user only need to know the token: a service may have started one for the program. Such a
        process can only name itself. Raises OSError when the process has ended.
        """
        if peer.pid == 0 or peer.uid is None or user_of(peer.pid) != peer.uid:
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
        """The caller, or None when it does not know the token. Raises OSError when it has ended."""
        try:
            hello = json.loads(line)
            if not secrets.compare_digest(str(hello["token"]).encode(), self._token.encode()):
                return None
            kind, work, python = (str(hello[name]) for name in ("kind", "work", "python"))
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        assert peer.uid is not None
        command, cwd = _seen_from_outside(peer.pid)
        stat = stat_of(peer.pid)
        return Caller(peer.pid, peer.uid, stat.began, stat.parent, kind, work, python, command, cwd)

    async def _answer(self, caller: Caller, writer: asyncio.StreamWriter) -> None:
        leader, what = self._leader, self._what
        if leader is None or what is None or caller.pid == leader.pid or not is_wanted(self._wanted, caller):
            return
        earlier = self._sessions.get(caller.pid)
        if earlier is not None and not earlier.ended.is_set():
            return  # it has joined, and runs another program since: its session takes that (new_program.py)
        self._last_number += 1
        number = self._last_number

        async def invite(
            launch: Launch, meeting: Meeting | None, *, terminal: Terminal | None = None
        ) -> Child:
            assert meeting is not None
            child = Child(caller.pid, leader.target)
            if stat_of(caller.pid).began != caller.started:  # another process has this number by now
                child.close()
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
            child: Child = session.target
            session.end_target = child.end
            session.at_close.append(child.close)
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
        session.target.joined()

    def _give_up(self, pid: int) -> None:
        """The process could not join. If it has a session already, that is over; the process runs on."""
        session = self._sessions.pop(pid, None)
        if session is not None:
            session.loop.open()  # perhaps it had not begun to take entries
            session.loop.put(detached)

    def _options_of_child(self, number: int) -> Options:
        log_dir = of_child(self.options.log_dir, number)
        own = self.options.breakpoints if self._configure is not None else ()
        child = replace(self.options, breakpoints=own, stop_on_entry=False, terminal=None, log_dir=log_dir)
        return replace(child, notices=())  # they were told already

    async def _join(self, session: Session) -> None:
        assert isinstance(session.breakpoints, SharedTable)
        await self._breakpoints.join(session.breakpoints)

    def _tell(self, why: str, hint: str) -> None:
        if self._leader is not None:
            self._leader.emit(Notice("warning", f"a child process runs without dualdbg: {why}", hint))


def _launched(caller: Caller, leader: Launch) -> Launch:
    """How the process is launched, for those who ask where names and files are.

    That is as for the launched program, except that a child may have a script of its own. The process of another user
    has no say in it: its interpreter would be run here, with our rights, to be asked about names.
    """
    if not is_ours(caller.uid):
        return leader
    script = next((word for word in caller.command[1:] if word.endswith(".py")), None)
    if caller.kind == "exec" and script is not None:
        return Launch(python=caller.python, script=script, cwd=caller.cwd, env=leader.env)
    return replace(leader, python=caller.python or leader.python)


def _seen_from_outside(pid: int) -> tuple[tuple[str, ...], str]:
    """What the kernel says of a process: its command line, its folder. Raises OSError."""
    process = Path(f"/proc/{pid}")
    words = process.joinpath("cmdline").read_bytes().decode("utf-8", "backslashreplace").split("\0")[:-1]
    return tuple(words), str(process.joinpath("cwd").readlink())


async def launch_group(
    wanted: str,
    what: Launch,
    options: Options,
    operators: OperatorTable | None,
    started: float,
    subscribe: Callable[[Session | Process], None],
) -> Session:
    """The session of a launched program, as ``launch`` makes it.

    ``subscribe`` gets each process that joins as well. No process joins any more once that session is closed.
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
