"""Where processes call us: a Unix socket in a folder that only we may enter, or else a loopback port."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import secrets
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

from dualdbg.errors import TargetError
from dualdbg.system import session_folders

from .launcher import Meeting
from .peers import is_ours, of_unix_socket, user_of_loopback

LOOPBACK = "127.0.0.1"
_LONGEST_PATH = 107  # bytes of sun_path (unix(7)), without the final zero
_LONGEST_LINE = 1 << 16
_STRANGERS = 64  # connections that have not proved who they are; with one more, the oldest has to go

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Accept = Union[Handler, Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]]


@dataclass(frozen=True)
class Folder:
    """A folder for a socket. ``here`` is its path for us, ``there`` its path for the process that is to find it."""

    here: Path
    there: Path

    @classmethod
    def make(cls, pid: int | None = None) -> Folder:
        """A folder that process ``pid`` sees too, which may be in a container, and that only we may enter.

        Without a ``pid`` the process sees what we see. Raises OSError when no such folder can be made.
        """
        trouble: OSError = FileNotFoundError("no folder for temporary files")
        for base in folders():
            try:
                here = session_folders.make(_seen_by(pid, base))
            except OSError as error:
                trouble = error
                continue
            return cls(here, base / here.name)
        raise trouble

    def give(self, path: Path, user: int | None) -> None:
        """The folder, and ``path`` in it, belong to ``user`` from now on. Raises OSError.

        Nothing may be done in it after that: its owner could put a link to any file of ours in the place of ours.
        """
        if user is not None and user != os.geteuid():
            for one in (path, self.here):
                os.chown(one, user, -1, follow_symlinks=False)

    def remove(self) -> None:
        """Remove it with what is in it."""
        session_folders.remove(self.here)


def folders() -> list[Path]:
    """Where a folder for a socket may be, best first: paths that leave room for a name."""
    return [base for base in session_folders.bases() if len(os.fsencode(base)) < _LONGEST_PATH - 50]


def _seen_by(pid: int | None, base: Path) -> Path:
    """The folder that the process calls ``base``: its root or its mounts may differ from ours (proc(5)).

    In a user namespace of its own, any user has made the mounts, and changes them as we look. For root that is no
    place to write to: raises PermissionError.
    """
    if pid is None:
        return base
    inside = Path(f"/proc/{pid}/root{base}")
    try:
        if base.samefile(inside):
            return base
    except OSError:
        pass
    if os.geteuid() == 0 and not Path("/proc/self/ns/user").samefile(f"/proc/{pid}/ns/user"):
        raise PermissionError(errno.EPERM, "its files are those of a user namespace of its own")
    return inside


class ListeningSocket:
    """A listening Unix socket. ``path`` is what a process connects to."""

    def __init__(self, server: asyncio.base_events.Server, folder: Folder, path: str) -> None:
        self._server = server
        self._folder = folder
        self.path = path

    @classmethod
    async def open(
        cls,
        handler: Accept,
        *,
        pid: int | None = None,
        user: int | None = None,
        everyone: bool = False,
        limit: int = _LONGEST_LINE,
    ) -> ListeningSocket:
        """``pid`` as in :meth:`Folder.make`; ``user`` may connect, and ``everyone`` who knows the path.

        Raises OSError.
        """
        folder = Folder.make(pid)
        here = folder.here / "session"
        try:
            server = await asyncio.start_unix_server(handler, here, limit=limit)
            here.chmod(0o666 if everyone else 0o600)
            folder.here.chmod(0o711 if everyone else 0o700)
            folder.give(here, user)
        except BaseException:
            folder.remove()
            raise
        return cls(server, folder, str(folder.there / "session"))

    @property
    def folder(self) -> Path:
        """The folder with the socket, as we see it."""
        return self._folder.here

    def close(self) -> None:
        """Accept no more calls, and remove the folder. Connections stay."""
        self._server.close()
        self._folder.remove()


class MeetingPoint:
    """Where the target's pydevd calls. The first that proves to be the target gets the session; then it closes.

    Any number of callers may be connected until then. A caller gets no answer before it has proved who it is.
    ``failure`` is a traceback with which the target says that no pydevd will call. ``caller`` is done when it has.
    """

    def __init__(self, arrived: Handler) -> None:
        self._arrived = arrived
        self._place: ListeningSocket | asyncio.base_events.Server | None = None
        self._meeting: Meeting | None = None
        self._user: int | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._strangers: list[asyncio.StreamWriter] = []
        self.failure: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        # The process id of the target that has called; 0 where neither the kernel nor the target tells it.
        self.caller: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self.why_a_port = ""

    async def open(self, *, pid: int | None = None, user: int | None = None) -> Meeting:
        """What the target has to know. ``pid`` is the target where it runs already, ``user`` its user.

        Where a Unix socket is not possible, the place is a loopback port, and ``why_a_port`` says why. Raises
        TargetError when a port is not possible either.
        """
        self._user = user
        address: Union[str, tuple[str, int]]
        try:
            self._place = place = await ListeningSocket.open(self._call, pid=pid, user=user)
            address = place.path
        except OSError as error:
            self.why_a_port = f"no folder for a socket: {error.strerror or error}"
            try:
                self._place = server = await asyncio.start_server(
                    self._call, LOOPBACK, 0, limit=_LONGEST_LINE
                )
            except OSError as second:
                raise TargetError(
                    f"the program cannot call dualdbg: {self.why_a_port}; no port of loopback: {second.strerror}",
                    "TMPDIR names a folder that can be written to",
                ) from second
            address = LOOPBACK, int(server.sockets[0].getsockname()[1])
        self._meeting = Meeting(address)
        return self._meeting

    def close(self) -> None:
        """Nobody can call any more. Callers that have not proved who they are are disconnected."""
        place, self._place = self._place, None
        if place is not None:
            place.close()
        for writer in self._strangers:
            writer.close()
        self._strangers.clear()

    # -- a call -----------------------------------------------------------------------------------

    def _call(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Our own task: the one that asyncio makes would print a traceback when it is cancelled (3.11, streams.py).
        task = asyncio.create_task(self._receive(reader, writer), name="debugpy")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._place is None:  # it closed before this call was looked at
            writer.close()
            return
        self._strangers.append(writer)
        if len(self._strangers) > _STRANGERS:
            self._strangers.pop(0).close()
        try:
            proved = self._may_be_ours(writer) and self._read(await reader.readline())
        except (OSError, ValueError):  # the caller has gone, or its line does not end
            proved = None
        if writer in self._strangers:
            self._strangers.remove(writer)
        if not proved or self._place is None:
            writer.close()
        elif "failed" in proved:
            writer.close()
            if not self.failure.done():
                self.failure.set_result(str(proved["failed"]).strip() or "it gave no reason")
        else:
            self.close()
            if not self.caller.done():
                self.caller.set_result(self._pid_of(writer, proved))
            await self._arrived(reader, writer)

    def _pid_of(self, writer: asyncio.StreamWriter, hello: dict[str, Any]) -> int:
        """The process that has called. A caller by a port says it itself."""
        connection = writer.get_extra_info("socket")
        if connection.family == socket.AF_UNIX:
            return of_unix_socket(connection).pid
        told = hello.get("pid")
        return told if isinstance(told, int) else 0

    def _may_be_ours(self, writer: asyncio.StreamWriter) -> bool:
        """Whether the user at the other end may call. A folder lets only such users in; at a port it is asked here."""
        if isinstance(self._place, ListeningSocket):
            return True
        connection = writer.get_extra_info("socket")
        user = user_of_loopback(connection.getsockname()[:2], connection.getpeername()[:2])
        return is_ours(user) or (user is not None and user == self._user)

    def _read(self, line: bytes) -> dict[str, Any] | None:
        """The first line of a caller that knows the target's token; None for any other."""
        assert self._meeting is not None
        try:
            hello = json.loads(line)
            shown = str(hello["token"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        if not secrets.compare_digest(shown.encode(), self._meeting.target_token.encode()):
            return None
        return dict(hello)
