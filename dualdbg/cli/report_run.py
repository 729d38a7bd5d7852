"""``dualdbg run --report DIR``: the program runs alone; a crash, or no end in time, is written into files."""

from __future__ import annotations

import contextlib
import json
import os
import select
import selectors
import signal
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path

from ..errors import DualdbgError, PermissionRefused, TargetError, TargetGone
from ..known.crash_signals import CRASHES
from ..model import signal_in_words
from ..system.patience import patient
from ..system.private_files import new_file
from ..target.permission import NO_LEAK_CHECK, NO_LEAK_CHECK_HINT, forbids_leak_check, sanitizers_in
from ..watch.hang import BETWEEN_LOOKS, Look, look_at
from ..watch.incident import Incident, of_crash, of_end
from ..watch.tee import Tee
from ..watch.tracer import ChildKilled, Dying, Programs, Tracer, signal_name
from .commands.run import RunOptions
from .crash_details import of_hang, with_details
from .incident_html import incident_html
from .incident_text import incident_text, incident_to_json
from .main import tell

_TO_END = patient(5.0)  # seconds between the request to end and the end
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_SIGNAL_BASE = 128
_FOLLOWED = {None: Programs.NONE, "python": Programs.PYTHON, "children": Programs.ALL}


def run_with_report(options: RunOptions) -> int:
    """Run the program; returns its exit status, as a shell shows it. Raises DualdbgError where it cannot be run."""
    assert options.report is not None
    try:
        options.report.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TargetError(f"the folder {options.report} cannot be made: {error.strerror}") from error
    return _Run(options, options.report).run()


class _Run:
    """One program under our eyes."""

    def __init__(self, options: RunOptions, folder: Path) -> None:
        self._options = options
        self._folder = folder
        self._tracer = Tracer(_FOLLOWED[options.follow], exits=True)
        self._tee = Tee()
        self._pid = 0
        self._refused: PermissionRefused | None = None  # why the program is not traced
        self._deadline = time.monotonic() + options.timeout if options.timeout is not None else None
        self._look: Look | None = None
        self._asked_to_end = False

    def run(self) -> int:
        woken = socket.socketpair()
        for end in woken:
            end.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(woken[1].fileno(), warn_on_full_buffer=False)
        self._start()
        # Ctrl-C is the program's: the terminal sends it there too.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number in _PASSED_ON:
            signal.signal(number, lambda received, _frame: self._send(received))
        try:
            with selectors.DefaultSelector() as selector:
                selector.register(woken[0], selectors.EVENT_READ)
                for stream, descriptor in self._tee.read_ends.items():
                    selector.register(descriptor, selectors.EVENT_READ, stream)
                status = self._watch(selector)
        finally:
            self._tracer.let_go()
        self._tee.pump_all()
        code = os.waitstatus_to_exitcode(status)
        if self._refused is not None and signal_name(-code) in CRASHES and not self._asked_to_end:
            why = f"there are no stacks: {self._refused.message}"
            self._write(replace(of_end(self._pid, status, why), kind="crash"))
        return code if code >= 0 else _SIGNAL_BASE - code

    def _start(self) -> None:
        """The program waits until it is traced. Raises TargetError where it cannot be started.

        Where the kernel lets us trace nothing it runs all the same: how it ends, and what it has written, is known.
        """
        command, environment = _command(self._options), {**os.environ, **dict(self._options.env)}
        told, go = os.pipe()
        failed, failure = os.pipe2(os.O_CLOEXEC)
        sys.stdout.flush()
        sys.stderr.flush()
        self._pid = os.fork()
        if self._pid == 0:
            _become(command, environment, self._options.cwd, self._tee.write_ends, told, go, failure)
        os.close(told)
        os.close(failure)
        self._tee.begin()
        refused = None
        try:
            self._tracer.seize(self._pid)
        except PermissionRefused as error:
            self._refused = error
            tell(
                f"the program runs untraced, and a report of a crash has no stacks: {error.message}",
                error.hint,
            )
        except DualdbgError as error:
            refused = error
        os.write(go, b"+" if refused is None else b"-")
        os.close(go)
        if refused is not None:
            os.waitpid(self._pid, 0)
            raise refused
        number = b""
        while not number:
            for _ in self._tracer.events():
                pass
            readable = select.select([failed], [], [], 0.01)[0]
            if readable:
                number = os.read(failed, 16)
                break
        os.close(failed)
        if number:
            raise TargetError(f"{command[0]} cannot be run: {os.strerror(int(number))}")

    def _watch(self, selector: selectors.BaseSelector) -> int:
        while True:
            for event in self._tracer.events():
                if isinstance(event, Dying):
                    self._exits(event) if event.status is not None else self._crashed(event)
                elif isinstance(event, ChildKilled):
                    self._child_killed(event)
                elif event.pid == self._pid:
                    return event.status
            rest = None if self._deadline is None else self._deadline - time.monotonic()
            if rest is not None and rest <= 0:
                self._late()
                continue
            for key, _ in selector.select(rest):
                if key.data is None:
                    with contextlib.suppress(BlockingIOError):
                        os.read(key.fd, 4096)
                elif not self._tee.pump(key.data):
                    selector.unregister(key.fd)

    def _crashed(self, dying: Dying) -> None:
        folder = self._folder if self._options.asked.core_folder is not None else None
        incident = with_details(of_crash(self._tracer, dying), self._tracer, dying, folder)
        self._write(incident)
        self._tracer.let_die(dying)

    def _exits(self, dying: Dying) -> None:
        """The program ends by itself. Where a sanitizer ends it that is a crash."""
        if dying.status and not os.WIFSIGNALED(dying.status) and sanitizers_in(dying.pid):
            incident = of_crash(self._tracer, dying)
            if forbids_leak_check(dying.pid):
                tell(NO_LEAK_CHECK, NO_LEAK_CHECK_HINT)
            if incident.kind == "crash":
                self._write(with_details(incident, self._tracer, dying, None))
        self._tracer.let_die(dying)

    def _child_killed(self, child: ChildKilled) -> None:
        hint = (
            ""
            if self._options.follow
            else "--report DIR --follow python reports the crashes of Python children too"
        )
        tell(
            f"process {child.pid}, a child of the program, was ended by {signal_in_words(child.number)}", hint
        )

    def _late(self) -> None:
        """The time is over: the report, and then the program is asked to end, and made to where it does not."""
        if self._asked_to_end:
            self._deadline = None
            self._send(signal.SIGKILL)
            return
        assert self._options.timeout is not None
        with contextlib.suppress(TargetGone):  # it has ended in this very moment
            look = look_at(self._tracer, self._pid, stop=self._refused is None)
            if self._look is None and look.needs_another:
                self._look = look
                self._deadline = time.monotonic() + BETWEEN_LOOKS
                return
            self._write(of_hang(self._tracer, look, self._look, self._options.timeout))
        self._asked_to_end = True
        self._deadline = time.monotonic() + _TO_END
        self._send(signal.SIGTERM)

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, number)

    def _write(self, incident: Incident) -> None:
        """The three files, and a word of them to the user."""
        self._tee.pump_all()
        incident = replace(
            incident, output=self._tee.tails() if incident.pid == self._pid else incident.output
        )
        subject = f"process {incident.pid}"
        texts = {
            "txt": incident_text(incident, subject),
            "json": json.dumps(incident_to_json(incident, subject), indent=1) + "\n",
            "html": incident_html(incident, subject),
        }
        try:
            stem = self._stem(incident)
            for ending, text in texts.items():
                with os.fdopen(new_file(self._folder / f"{stem}.{ending}"), "w", encoding="utf-8") as file:
                    file.write(text)
        except OSError as error:
            tell(f"the report could not be written to {self._folder}: {error.strerror}")
            sys.stderr.write(texts["txt"])
            return
        tell(f"{subject} {incident.title}", f"the report is {self._folder / stem}.txt, .json and .html")

    def _stem(self, incident: Incident) -> str:
        """``crash-4711``, with a number where that is taken."""
        first = f"{incident.kind}-{incident.pid}"
        names = (first if number == 1 else f"{first}.{number}" for number in count(1))
        return next(name for name in names if not any(self._folder.glob(f"{name}.[tjh]*")))


def _command(options: RunOptions) -> list[str]:
    program = options.program
    if options.native:
        assert program.script is not None
        return [program.script, *program.args]
    what = (["-m", program.module] if program.module is not None else
            ["-c", program.code] if program.code is not None else [program.script])  # fmt: skip
    return [options.python, *(word for word in what if word is not None), *program.args]


def _become(
    command: list[str],
    environment: Mapping[str, str],
    folder: str | None,
    streams: Mapping[int, int],
    told: int,
    go: int,
    failure: int,
) -> None:
    """In the child: the program, as soon as it is traced. Does not return."""
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.close(go)
        if os.read(told, 1) != b"+":
            os._exit(0)
        os.close(told)
        for number, end in streams.items():
            os.dup2(end, number)
        if folder is not None:
            os.chdir(folder)
        os.execve(command[0], command, environment)
    except OSError as error:
        os.write(failure, str(error.errno).encode())
    finally:
        os._exit(127)
