"""The parent of the tests processes: starts them, traces them, and writes down what becomes of them.

It is the process that was started as pytest. As their parent it may trace them also where tracing is restricted, and
when one has died it starts the next from the state before any of the user's code was imported.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import selectors
import signal
import socket
import struct
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import page
from .annotations import annotation
from .journal import Journal
from .records import Record

if TYPE_CHECKING:
    import psutil

    from ...watch.hang import Look
    from ...watch.incident import Incident
    from ...watch.tracer import Dying, Tracer

_SOCKET = "watch"
_CREDENTIALS = struct.Struct("3i")  # struct ucred of socket(7)
_REQUESTS_TO_END = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)  # nothing is broken then
_MOST_CHILDREN = 5  # of one test, whose stacks are read when they crash
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@dataclass(frozen=True)
class Wishes:
    """What the user asked for. ``timeout``: seconds that a test may take. ``rootpath``: what node ids begin at.

    ``programs``: which programs that tests start are traced too.
    """

    timeout: float | None
    core: Path | None
    rootpath: Path
    programs: Literal["none", "python", "all"] = "python"


@dataclass(frozen=True)
class Started:
    """What a tests process is told. ``is_traced``: a crash will be seen, so that faulthandler is not needed."""

    folder: Path
    is_traced: bool


class Supervisor:
    """Runs the tests in child processes, one after the other, until one of them comes to an end of its own."""

    def __init__(self, wishes: Wishes) -> None:
        self._wishes = wishes
        self._folder: Path | None = None
        self._refused = ""  # why nothing can be traced
        self._records = 0
        self._children: Counter[tuple[int, str]] = Counter()  # that crashed, by the owner and its test
        self._watched: list[int] = []  # the tests processes
        self._tracer: Tracer | None = None
        self._listener: socket.socket | None = None
        self._main = 0
        self._looks: dict[int, tuple[page.Doing, Look]] = {}  # the first of two, at what may hang
        self._hung: set[int] = set()  # those that we have ended
        self._handlers: dict[int, Any] = {}
        self._woken = socket.socketpair()

    def run(self) -> Started:
        """Returns in each tests process. In the parent it raises SystemExit with the status of the run."""
        try:
            while True:
                started = self._start()
                if started is not None:
                    return started
                status = self._watch()
                if status is not None:
                    raise SystemExit(status)
        except BaseException:
            self._end()
            raise

    def _start(self) -> Started | None:
        """A new tests process. None in the parent."""
        sys.stdout.flush()
        sys.stderr.flush()
        reader, writer = os.pipe()
        gc.freeze()  # as Python's manual has it for fork; for the parent alone, which ends without what the tests make
        pid = os.fork()
        if pid == 0:
            os.close(writer)
            self._become_tests_process()
            with open(reader, encoding="utf-8") as told:
                words = told.readline()
            if not words:  # the parent is gone, or could not do its part and says why
                os._exit(3)
            said = json.loads(words)
            return Started(Path(said["folder"]), said["is_traced"])
        os.close(reader)
        self._main = pid
        with open(writer, "w", encoding="utf-8") as told:
            self._begin_to_watch(pid)
            json.dump({"folder": str(self._folder), "is_traced": not self._refused}, told)
            told.write("\n")
        return None

    def _become_tests_process(self) -> None:
        gc.unfreeze()  # else what hangs on pytest's own objects would not be let go at the end
        signal.set_wakeup_fd(-1)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        for one in (*self._woken, self._listener):
            if one is not None:
                one.close()

    def _begin_to_watch(self, pid: int) -> None:
        from ...errors import DualdbgError
        from ...system import session_folders
        from ...watch.tracer import Programs, Tracer

        if self._folder is None:
            self._folder = session_folders.make()
            self._listener = socket.socket(socket.AF_UNIX)
            self._listener.bind(str(self._folder / _SOCKET))
            self._listener.listen()
            self._listener.setblocking(False)
            for end in self._woken:
                end.setblocking(False)
            self._tracer = Tracer(Programs(self._wishes.programs), exits=True)
        if not self._handlers:
            self._handle_signals()
        signal.set_wakeup_fd(self._woken[1].fileno(), warn_on_full_buffer=False)
        try:
            assert self._tracer is not None
            self._tracer.seize(pid)
        except DualdbgError as error:
            self._refused = error.message
        self._watched.append(pid)

    def _handle_signals(self) -> None:
        """Ctrl-C reaches the tests by the terminal itself; what ends us otherwise is to end them first."""

        def pass_on(number: int, _frame: object) -> None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._main, number)

        wanted: dict[int, Any] = {signal.SIGCHLD: lambda *_: None, signal.SIGINT: signal.SIG_IGN}
        wanted |= dict.fromkeys(_PASSED_ON, pass_on)
        for number, handler in wanted.items():
            if signal.getsignal(number) is not signal.SIG_IGN or number == signal.SIGCHLD:
                self._handlers[number] = signal.signal(number, handler)

    # -- while they run ----------------------------------------------------------------------------

    def _watch(self) -> int | None:
        """Until the first tests process has ended: the status for the user, or None where the rest has to be run."""
        from ...watch.tracer import Dying, Ended

        assert self._tracer is not None and self._listener is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._woken[0], selectors.EVENT_READ)
            selector.register(self._listener, selectors.EVENT_READ)
            while True:
                for event in self._tracer.events():
                    if isinstance(event, Dying):
                        self._exits(event) if event.status is not None else self._crashed(event)
                    elif isinstance(event, Ended) and event.pid in self._watched:
                        self._watched.remove(event.pid)
                        if event.pid == self._main:
                            return self._ended(event.status)
                        self._worker_ended(event.pid, event.status)
                self._look_for_hangs()
                for key, _ in selector.select(self._until_the_next_hang()):
                    if key.fileobj is self._listener:
                        self._let_join()
                    else:
                        with contextlib.suppress(BlockingIOError):
                            self._woken[0].recv(4096)

    def _until_the_next_hang(self) -> float | None:
        limit = self._wishes.timeout
        if limit is None:
            return None
        return max(0.01, min([limit, *(self._until_the_look_at(pid, limit) for pid in self._watched)]))

    def _until_the_look_at(self, pid: int, limit: float) -> float:
        """Seconds until a process is looked at, for the first time or the second; ``limit`` for one without a test."""
        age = self._age(pid)
        if age is None:
            return limit
        if pid in self._looks:
            from ...watch.hang import BETWEEN_LOOKS

            return self._looks[pid][1].ended + BETWEEN_LOOKS - time.monotonic()
        return limit - age

    def _age(self, pid: int) -> float | None:
        """How long the test of a process has been running, in seconds."""
        assert self._folder is not None
        doing = page.read(self._folder, pid) if pid not in self._hung else None
        return time.monotonic() - doing.began if doing is not None and doing.began else None

    def _let_join(self) -> None:
        """A worker of pytest-xdist has come. Who it is, the kernel says."""
        from ...errors import DualdbgError

        assert self._listener is not None and self._tracer is not None
        connection, _ = self._listener.accept()
        with connection:
            raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
            pid = _CREDENTIALS.unpack(raw)[0]
            try:
                self._tracer.seize(pid)
            except DualdbgError as error:
                self._refused = error.message
                answer = b"-"
            else:
                answer = b"+"
            self._watched.append(pid)
            with contextlib.suppress(OSError):
                connection.sendall(answer)

    def _look_for_hangs(self) -> None:
        limit = self._wishes.timeout
        if limit is None:
            return
        assert self._folder is not None and self._tracer is not None
        for pid in list(self._watched):
            before = page.read(self._folder, pid)
            if pid in self._looks and not _is_same_test(self._looks[pid][0], before):
                del self._looks[pid]  # it came to its end between the looks
            if before is None or self._until_the_look_at(pid, limit) > 0:
                continue
            from ...cli.crash_details import of_hang
            from ...errors import TargetGone
            from ...watch.hang import look_at  # what this imports would be felt in every run

            descendants = _descendants(pid)
            try:
                look = look_at(self._tracer, pid)
            except TargetGone:
                continue
            if not _is_same_test(before, page.read(self._folder, pid)):
                continue  # it came to its end while we looked
            _, earlier = self._looks.pop(pid, (None, None))
            if earlier is None and look.needs_another:
                self._looks[pid] = before, look
                continue
            incident = of_hang(self._tracer, look, earlier, limit)
            if not _is_same_test(before, page.read(self._folder, pid)):
                continue
            self._note(incident, pid, limit)
            self._hung.add(pid)
            _end_all(descendants)
            os.kill(pid, signal.SIGKILL)

    # -- when one has ended ------------------------------------------------------------------------

    def _crashed(self, dying: Dying) -> None:
        from ...cli.crash_details import with_details
        from ...watch.incident import of_crash

        assert self._tracer is not None
        owner = self._owner_of(dying.pid)
        if owner not in (None, dying.pid) and not self._is_read(owner, dying):
            self._tracer.let_die(dying)
            return
        incident = with_details(of_crash(self._tracer, dying), self._tracer, dying, self._wishes.core)
        if owner is not None:
            self._note(incident, owner)
        else:
            _tell(incident)
        descendants = _descendants(dying.pid) if dying.pid == owner else []
        self._tracer.let_die(dying)
        _end_all(descendants)

    def _exits(self, dying: Dying) -> None:
        """A tests process ends by itself, or was killed: in a test that is told with the stacks, and the output."""
        assert self._tracer is not None and dying.status is not None
        is_told = dying.pid in self._hung or self._told_of(dying.pid) is not None
        is_asked = -os.waitstatus_to_exitcode(dying.status) in _REQUESTS_TO_END
        if not (is_told or is_asked) and self._is_at_work(dying.pid):
            from ...cli.crash_details import with_details
            from ...watch.incident import of_crash  # what this imports would be felt in every run

            self._note(with_details(of_crash(self._tracer, dying), self._tracer, dying, None), dying.pid)
        self._tracer.let_die(dying)

    def _is_at_work(self, pid: int) -> bool:
        """Whether a tests process runs a test; also whether the first one collects: a worker's controller sees that."""
        assert self._folder is not None
        doing = page.read(self._folder, pid)
        if doing is None or pid == self._main:
            return doing is not None and (doing.is_test or doing.phase == page.COLLECTING)
        return doing.is_test and doing.began > 0

    def _is_read(self, owner: int, dying: Dying) -> bool:
        """Whether the stacks of a child are read; a test that makes many crash on purpose is not to wait for all."""
        from ...snapshot.facts import Failure
        from ...watch.incident import of_crash_unread

        assert self._folder is not None
        doing = page.read(self._folder, owner)
        key = owner, doing.what if doing is not None else ""
        self._children[key] += 1
        if self._children[key] == _MOST_CHILDREN + 1:
            why = f"only the first {_MOST_CHILDREN} crashes of children of a test are read, and no later one is told"
            self._note(replace(of_crash_unread(dying), failures=(Failure(dying.pid, why, ""),)), owner)
        return self._children[key] <= _MOST_CHILDREN

    def _owner_of(self, pid: int) -> int | None:
        """The tests process that a process is, or descends from."""
        from ...shared.proc_files import stat_of

        while pid > 1:
            if pid in self._watched:
                return pid
            try:
                pid = stat_of(pid).parent
            except OSError:
                return None
        return None

    def _ended(self, status: int) -> int | None:
        """The first tests process is no more."""
        assert self._folder is not None
        code = os.waitstatus_to_exitcode(status)
        told = self._told_of(self._main)
        broken = self._is_at_work(self._main)
        if told is None and (broken or code < 0) and -code not in _REQUESTS_TO_END:
            from ...watch.incident import of_end

            why = f"there are no stacks: {self._refused}" if self._refused else ""
            told = self._note(of_end(self._main, status, why), self._main)
        if told is None:
            from ...target.permission import NO_LEAK_CHECK, NO_LEAK_CHECK_HINT, forbids_leak_check

            if code and not self._refused and forbids_leak_check(os.getpid()):
                print(f"dualdbg: {NO_LEAK_CHECK}\n  {NO_LEAK_CHECK_HINT}", file=sys.stderr)
            return code if code >= 0 else 128 - code
        if not broken or (self._folder / "no-journal").exists():
            print(told.text, file=sys.stderr)
            if os.environ.get("GITHUB_ACTIONS") == "true":
                print(annotation(told, os.environ.get("GITHUB_WORKSPACE", "")))
            return code if code > 0 else 128 - code
        journal = Journal(self._folder)
        journal.add(told.number)
        journal.close()
        return None

    def _worker_ended(self, pid: int, status: int) -> None:
        """A worker of pytest-xdist is no more; its controller waits for what is told of one that died in a test."""
        assert self._folder is not None
        if self._is_at_work(pid) and self._told_of(pid) is None:
            from ...watch.incident import of_end

            self._note(of_end(pid, status), pid)
        page.tell_of_end(self._folder, pid)

    def _told_of(self, pid: int) -> Record | None:
        from .records import read_all

        assert self._folder is not None
        return next((one for one in read_all(self._folder) if one.pid == pid), None)

    def _note(self, incident: Incident, owner: int, seconds: float = 0.0) -> Record:
        """Write down what has happened."""
        from .wording import record_of

        assert self._folder is not None
        doing = page.read(self._folder, owner) or page.Doing(page.STARTING, "", 0.0)
        if not seconds and doing.began:
            seconds = time.monotonic() - doing.began
        self._records += 1
        record = record_of(incident, self._records, owner, doing, seconds, self._wishes.rootpath)
        record.write(self._folder)
        if record.is_child and page.path_of(self._folder, owner).exists():
            page.count_child(self._folder, owner)
        return record

    def _end(self) -> None:
        """Nothing of ours stays. In a tests process there is nothing to do."""
        if self._folder is None:
            return
        from ...system import session_folders

        if self._tracer is not None:
            self._tracer.let_go()
        session_folders.remove(self._folder)


def _is_same_test(before: page.Doing, now: page.Doing | None) -> bool:
    return now is not None and (before.what, before.began) == (now.what, now.began)


def _descendants(pid: int) -> list[psutil.Process]:
    """What descends from a process now."""
    import psutil

    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _end_all(processes: list[psutil.Process]) -> None:
    """What a dead process has started: a server of a session fixture, say, which the next process starts anew."""
    import psutil

    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            process.kill()


def _tell(incident: Incident) -> None:
    from ...cli.incident_text import incident_text
    from ...console.style import Style

    print(incident_text(incident, "a process", Style.of(sys.stderr)), file=sys.stderr)


def join(folder: Path) -> Started:
    """A worker of pytest-xdist has itself traced by the supervisor of its run."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(folder / _SOCKET))
        return Started(folder, connection.recv(1) == b"+")
