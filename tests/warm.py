"""Start dualdbg from a process that has imported it already: the imports are half of what a short session costs.

`Popen` is subprocess's with one difference. A plain `python -m dualdbg …` is forked from a process of this module,
which stays for the whole run of the tests (one for each kind in ``_PRELOADS``). Whatever the start of the interpreter
has a part in is started as ever: other variables for Python or another locale, options, descriptors or a mask of
signals to inherit. ``tests/terminals.py`` is the same on a terminal.
"""

from __future__ import annotations

import array
import atexit
import fcntl
import functools
import gc
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
from importlib import import_module
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parent.parent
_COMMAND = [sys.executable, "-m", "dualdbg"]
_PRELOADS = {
    "session": [
        *(
            f"dualdbg.cli.commands.{name}"
            for name in ("run", "attach", "core", "stacks", "trace", "dap", "ps")
        ),
        *(f"dualdbg.session.{name}" for name in ("start", "attaching", "beginning", "host_python")),
        *(
            f"dualdbg.cli.{name}"
            for name in ("run_session", "attach_session", "event_loop", "json_lines", "script", "prompt")
        ),
        "dualdbg.snapshot.take",
        "dualdbg.stack_listing",
        *(
            f"dualdbg.console.commands.{name}"
            for name in ["gdb_commands", "general", "processes", "run_control", "sources", "torch", "tracing"]
        ),
        "dualdbg.dap.server",
        "dualdbg.dap.offer",
    ],
    "tui": [
        *(f"dualdbg.cli.{name}" for name in ("commands.run", "commands.attach", "dashboard")),
        *(f"dualdbg.session.{name}" for name in ("start", "attaching", "beginning")),
        "dualdbg.tui.app",
    ],
    "mcp": [
        "dualdbg.plugins.mcp.command",
        "dualdbg.session.start",
        "dualdbg.plugins.mcp.server",
        "dualdbg.plugins.mcp.transports",
    ],
}
_LONGEST = 1 << 20
_NUMBER = struct.Struct("i")
_END = struct.Struct(
    "id"
)  # how it ended, as waitpid has it, and the seconds of the processor that it and its own used

usual: dict[str, str] = {}  # the environment in which the tests began
spent = 0.0  # by all that have ended: nobody but their parent gets to know


class Popen(subprocess.Popen[Any]):
    """As subprocess.Popen. The process is our child's child, so that who it is and how it ended come by a pipe."""

    _report: socket.socket | None = None
    leads_terminal = False  # its standard input is the terminal that it shall have

    def _execute_child(  # type: ignore[no-untyped-def]
        self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest
    ) -> None:
        _, _, shell, stdin, in_pipe, out_pipe, stdout, error_pipe, stderr, *_ = rest
        new_session = rest[14]
        environ = dict(os.environ if env is None else env)
        if shell or preexec_fn or pass_fds or executable or not can_be_warm(args, environ):
            begin: Any = super()._execute_child  # type: ignore[misc]
            begin(args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest)
            return
        sys.audit("subprocess.Popen", args[0], args, cwd, env)
        words = list(map(str, args[len(_COMMAND) :]))
        kind = "mcp" if words[:1] == ["mcp"] else "tui" if "--tui" in words else "session"
        self._report, theirs = socket.socketpair()
        with theirs:
            asked = json.dumps(
                [words, str(cwd or Path.cwd()), environ, new_session, self.leads_terminal]
            ).encode()
            streams = [given if given != -1 else usual for usual, given in enumerate((stdin, stdout, stderr))]
            descriptors = array.array("i", [*streams, theirs.fileno()])
            _server(kind).sendmsg([asked], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
        self.pid = _NUMBER.unpack(self._report.recv(_NUMBER.size))[0]
        self._child_created = True
        close: Any = self._close_pipe_fds  # type: ignore[attr-defined]
        close(stdin, in_pipe, out_pipe, stdout, error_pipe, stderr)

    def _try_wait(self, flags: int) -> tuple[int, int]:
        if self._report is None:
            begin: Any = super()._try_wait  # type: ignore[misc]
            return begin(flags)  # type: ignore[no-any-return]
        if flags & os.WNOHANG and not select.select([self._report], [], [], 0)[0]:
            return 0, 0
        global spent
        told = self._report.recv(_END.size)
        assert told, "the process that starts dualdbg has ended"
        self._report.close()
        status, seconds = _END.unpack(told)
        spent += seconds
        return self.pid, status

    def _internal_poll(self, *given: Any, **more: Any) -> int | None:
        if self._report is None:
            begin: Any = super()._internal_poll  # type: ignore[misc]
            return begin(*given, **more)  # type: ignore[no-any-return]
        with self._waitpid_lock:  # type: ignore[attr-defined]
            if self.returncode is None:
                pid, status = self._try_wait(os.WNOHANG)
                if pid:
                    self._handle_exitstatus(status)  # type: ignore[attr-defined]
        return self.returncode


def run(
    args: list[str],
    *,
    input: Any = None,
    timeout: float | None = None,
    check: bool = False,
    capture_output: bool = True,
    **more: Any,
) -> subprocess.CompletedProcess[Any]:
    """As subprocess.run with ``capture_output``, where no stream is given."""
    pipes = {name: subprocess.PIPE for name in ("stdout", "stderr") if name not in more}
    if input is not None:
        more["stdin"] = subprocess.PIPE
    with Popen(args, **pipes, **more) as process:
        try:
            output, errors = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(args, process.returncode, output, errors)
    if check:
        done.check_returncode()
    return done


def servers() -> set[int]:
    """The processes that stay."""
    return set(_started)


_started: list[int] = []


@functools.cache
def _server(kind: str) -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.warm", kind, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            cwd=_ROOT,
            env={**usual, "PYTHONPATH": str(_ROOT)},
        )
    _started.append(process.pid)
    atexit.register(lambda: (ours.close(), process.wait()))
    return ours


def can_be_warm(args: Any, environ: dict[str, str]) -> bool:
    """Whether it is dualdbg, and all that its interpreter reads at its start is as usual."""
    if signal.pthread_sigmask(signal.SIG_BLOCK, []):
        return False  # inherited by a process that is started, as are the variables
    alike = usual, {**usual, "PYTHONPATH": str(_ROOT)}
    return list(args[: len(_COMMAND)]) == _COMMAND and _of_the_start(environ) in map(_of_the_start, alike)


def _of_the_start(environ: dict[str, str]) -> dict[str, str]:
    """What the interpreter has read before the first line of dualdbg runs."""
    names = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "GLIBC_")
    return {name: value for name, value in environ.items() if name.startswith(names)}


def _serve(kind: str, place: socket.socket) -> list[str]:
    """Fork at each request, until nobody can ask any more. Returns only in the new process, with its words."""
    for module in ("dualdbg.cli.main", *_PRELOADS[kind]):
        import_module(module)
    gc.collect()
    gc.freeze()
    reports: dict[int, socket.socket] = {}
    woken, wakes = socket.socketpair()
    for end in (woken, wakes):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes.fileno())
    while True:
        ready = select.select([place, woken], [], [])[0]
        if woken in ready:
            woken.recv(_LONGEST)
            while reports and (ended := os.wait4(-1, os.WNOHANG))[0]:
                with reports.pop(ended[0]) as report:
                    _tell(report, _END.pack(ended[1], ended[2].ru_utime + ended[2].ru_stime))
        if place not in ready:
            continue
        asked, descriptors, _, _ = socket.recv_fds(place, _LONGEST, 4)
        if not asked:
            os._exit(0)
        report = socket.socket(fileno=descriptors.pop())
        pid = os.fork()
        if not pid:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for one in (place, woken, wakes, report, *reports.values()):
                one.detach()  # closed below, with all else
            return _become(*json.loads(asked), descriptors)
        reports[pid] = report
        for one in descriptors:
            os.close(one)
        _tell(report, _NUMBER.pack(pid))


def _tell(report: socket.socket, data: bytes) -> None:
    try:
        report.send(data)
    except BrokenPipeError:  # nobody waits for it
        pass


def _become(
    words: list[str],
    cwd: str,
    environ: dict[str, str],
    new_session: bool,
    leads_terminal: bool,
    streams: list[int],
) -> list[str]:
    for standard, given in enumerate(streams):
        os.dup2(given, standard)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    if new_session:
        os.setsid()
    if leads_terminal:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    sys.path[0] = cwd
    sys.argv = [str(_ROOT / "dualdbg" / "__main__.py"), *words]
    return words


if __name__ == "__main__":
    import time

    _serve(sys.argv[1], socket.socket(fileno=int(sys.argv[2])))
    from dualdbg.cli import main

    main.STARTED = time.monotonic()
    sys.exit(main.main())
