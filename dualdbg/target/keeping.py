"""A launched program under its keeper (``keeper.py``), seen from dualdbg: how it is forked, told orders, and ends."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from dualdbg.model import Exit
from dualdbg.shared.pidfds import pidfd_open
from dualdbg.system.environment import for_tools
from dualdbg.system.process_end import exit_of
from dualdbg.system.waking import wake

_KEEPER = Path(__file__).with_name("keeper.py")
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
_PTRACE_TRACEME = 0  # sys/ptrace.h
_CHUNK = 4096


class KeptProgram:
    """The program is the keeper's child. :meth:`fork` makes both, :meth:`begin` begins to listen to the keeper.

    ``exit`` is how the program ended, ``gone`` is set when the keeper has: then nothing descends from the program any
    more, apart from what was spared. ``left`` are those that had outlived the program, ``PID NAME``, and
    were ended with the session. With ``hold`` the program is stopped by SIGSTOP before its first instruction, and
    :meth:`held` waits for that.
    """

    def __init__(self, hold: bool = False) -> None:
        self._hold = hold
        self._waits = asyncio.Event()
        self.pid = 0
        self.left: list[str] = []
        self.exit: asyncio.Future[Exit] = asyncio.get_running_loop().create_future()
        self.gone = asyncio.Event()
        self.trouble: OSError | None = None  # why there is no program, where the keeper met it
        self._ours, self._theirs = socket.socketpair()
        self._command = [sys.executable, "-I", "-S", str(_KEEPER)]
        self._environment = for_tools(os.environ)
        library = ctypes.CDLL(None)
        self._prctl, self._ptrace = library.prctl, library.ptrace
        self._null: int | None = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        self._program: int | None = None  # a pidfd (pidfd_open(2)), for when the keeper is lost
        self._keeper: subprocess.Popen[bytes] | None = None
        self._others: dict[int, asyncio.Future[Exit]] = {}  # how those ended that were kept by name
        self._listening: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None

    def fork(self, own_group: bool) -> None:
        """For a child of dualdbg to call before exec, with all signals blocked: it returns in the program.

        The child itself becomes the keeper. ``own_group``: the program is going to make a process group of its own, in
        our session. Raises OSError when there can be no program.
        """
        link = self._theirs.fileno()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored the kernel keeps no status
        self._prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            pid = os.fork()
        except OSError as error:
            os.write(link, b"failed %d\n" % (error.errno or 0))
            raise
        if pid == 0:
            if self._hold:  # exec stops then, and the keeper sees to the rest
                self._ptrace(_PTRACE_TRACEME, 0, None, None)
            return
        try:
            # A process group whose members have no parent in another group of their session is orphaned: terminal
            # stops (SIGTSTP) are discarded there, and when it becomes so with a stopped member the kernel hangs all of
            # it up (setpgid(2), credentials(7)). A group of the program's own needs the keeper as that parent; our
            # group, where it stays else, is what it was without us only if the keeper is in another session.
            if own_group:
                os.setpgid(0, 0)
            else:
                os.setsid()
            for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD}:
                signal.signal(number, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            os.write(link, b"started %d\n" % pid)
            os.dup2(link, 0)
            os.dup2(link, 1)
            assert self._null is not None
            os.dup2(self._null, 2)
            os.execve(self._command[0], [*self._command, str(pid)], self._environment)
        except OSError as error:
            os.write(link, b"failed %d\n" % (error.errno or 0))
        finally:
            os.kill(pid, signal.SIGKILL)
            os._exit(1)

    async def begin(self, keeper: subprocess.Popen[bytes]) -> None:
        """``keeper`` is the child that called :meth:`fork`, and has become what it was to be. Raises OSError."""
        self._give_away()
        said = self._ours.recv(_CHUNK)
        self._hear(said)
        if not said:
            self.trouble = OSError("somebody has ended the process that was to keep it")
        if self.trouble is not None:
            keeper.wait()
            raise self.trouble
        self._keeper = keeper
        if self._program is not None:  # it is the keeper that says how the program ended
            asyncio.get_running_loop().add_reader(self._program, self._wake_once)
        reader, self._writer = await asyncio.open_unix_connection(sock=self._ours)
        self._listening = asyncio.create_task(self._listen(reader, keeper), name="keeper")

    async def held(self) -> None:
        """Waits until the program stands before its first instruction, or has ended."""
        waits: asyncio.Future[Any] = asyncio.ensure_future(self._waits.wait())
        either: set[asyncio.Future[Any]] = {waits, self.exit}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waits.cancel()

    def let_go(self) -> None:
        """A held program is no longer stopped; nothing when it has ended."""
        self._send(signal.SIGCONT)

    def kill(self) -> None:
        """End the program, and by the keeper all that descends from it.

        The program is killed here already: gdb may leave before the keeper's turn comes, and would let it run on.
        """
        self._send(signal.SIGKILL)
        self.tell("kill")

    def _send(self, number: int) -> None:
        # Without right over it (it changed its user), or when it has ended, the keeper's word is all there is.
        if self._program is not None:
            with suppress(ProcessLookupError, PermissionError):
                signal.pidfd_send_signal(self._program, number)

    def tell(self, order: str) -> None:
        """An order to the keeper, see there; nothing when it has ended."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(order.encode() + b"\n")
            self._wake()

    def _wake(self) -> None:
        assert self._keeper is not None
        wake(self._keeper)

    def _wake_once(self) -> None:
        assert self._program is not None
        asyncio.get_running_loop().remove_reader(self._program)
        self._wake()

    def spare(self, pid: int) -> None:
        """The process and what descends from it are not ended with the rest."""
        self.tell(f"spare {pid}")

    def keep(self, pid: int) -> None:
        """They are after all; and from now on it is taken note of how the process ends."""
        if pid not in self._others or self._others[pid].done():
            self._others[pid] = asyncio.get_running_loop().create_future()
        self.tell(f"keep {pid}")

    async def how_ended(self, pid: int) -> Exit:
        """How a process ended that was kept, and is reaped; empty where the keeper is not who has reaped it."""
        if self.gone.is_set():
            self._ends(pid, Exit())
        else:
            self.tell(f"how {pid}")
        return await asyncio.shield(self._others[pid])

    def close(self) -> OSError | None:
        """There is no program: the start failed before :meth:`begin` was done. Returns why, if the keeper said it."""
        self._ours.setblocking(False)
        try:
            self._hear(self._ours.recv(_CHUNK))
        except BlockingIOError:
            pass
        self._ours.close()
        self._give_away()
        return self.trouble

    def _give_away(self) -> None:
        """What was for the keeper: its end of the socket closes with it then. May be called again."""
        self._theirs.close()
        null, self._null = self._null, None
        if null is not None:
            os.close(null)

    async def _listen(self, reader: asyncio.StreamReader, keeper: subprocess.Popen[bytes]) -> None:
        assert self._writer is not None
        try:
            while line := await reader.readline():
                self._hear(line)
        except ConnectionError:
            pass  # it ended before it had read our orders
        keeper.wait()
        if not self.exit.done():  # somebody has killed the keeper: without it the program cannot be kept
            await self._end_without_keeper()
        self._writer.close()
        for pid in self._others:
            self._ends(pid, Exit())
        self.gone.set()

    async def _end_without_keeper(self) -> None:
        if self._program is not None:
            loop, ended = asyncio.get_running_loop(), asyncio.Event()
            loop.add_reader(self._program, ended.set)
            try:
                signal.pidfd_send_signal(self._program, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended too
            await ended.wait()
            loop.remove_reader(self._program)
        self._ended(Exit(signal=signal.SIGKILL))

    def _hear(self, lines: bytes) -> None:
        for line in lines.split(b"\n")[:-1]:
            word, _, rest = line.partition(b" ")
            number, _, status = rest.partition(b" ")
            if word == b"waits":
                self._waits.set()
            elif word == b"started":
                self.pid = int(number)
                try:
                    self._program = pidfd_open(self.pid)
                except ProcessLookupError:
                    pass  # it has ended already, and the keeper has seen it
            elif word == b"failed":
                self.trouble = OSError(int(number), os.strerror(int(number)))
            elif word == b"left":
                self.left.append(rest.decode(errors="replace"))
            elif word == b"ended":
                self._ended(exit_of(int(number)))
            elif word == b"reaped":
                self._ends(int(number), exit_of(int(status)))
            elif word == b"unknown":
                self._ends(int(number), Exit())

    def _ends(self, pid: int, exit: Exit) -> None:
        end = self._others.get(pid)
        if end is not None and not end.done():
            end.set_result(exit)

    def _ended(self, exit: Exit) -> None:
        if self._program is not None:
            asyncio.get_running_loop().remove_reader(self._program)
            os.close(self._program)
            self._program = None
        self.exit.set_result(exit)
