"""Runs in the target's descendants: each new Python process asks the session whether it is to join, before it goes on.

A Python that is started finds this by ``sitecustomize``, whose folder stays in PYTHONPATH while children are followed;
a forked one by a hook of ``os.register_at_fork``. Whoever cannot be told anything, because the session is over, runs on
without a debugger. Runs on CPython 3.8 and later with nothing installed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ENVIRONMENT = "DUALDBG_FOLLOW"  # where the session listens, as JSON; inherited by every descendant
PR_SET_PTRACER = 0x59616D61
_CALL_DEADLINE = 10.0  # seconds to reach the session; its answer may take as long as it likes


def wanted() -> dict[str, Any] | None:
    """Where the session listens; None when children are not followed."""
    raw = os.environ.get(ENVIRONMENT)
    if not raw:
        return None
    import json

    found: dict[str, Any] = json.loads(raw)
    return found


def ask(where: dict[str, Any], kind: str, work: str = "") -> dict[str, Any] | None:
    """The session's settings for this process; None when it is to run on without a debugger.

    ``kind`` is ``fork`` or ``exec``; ``work`` says what the process is for.
    """
    import json
    import socket

    if where["name_tracer"]:  # Yama's scope 1: children do not inherit whom their parent has named
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PTRACER, where["session_pid"], 0, 0, 0)
    hello = {
        "token": where["token"],
        "pid": os.getpid(),
        "parent": os.getppid(),
        "kind": kind,
        "work": work,
        "python": sys.executable,
        "command": command_line(),
        "cwd": folder(),
    }
    try:
        connection = socket.create_connection((where["host"], where["port"]), timeout=_CALL_DEADLINE)
        with connection:
            connection.sendall((json.dumps(hello) + "\n").encode())
            connection.settimeout(None)
            with connection.makefile("rb") as answers:
                line = answers.readline()
    except OSError:
        return None
    settings: dict[str, Any] | None = json.loads(line) if line else None
    return settings


def command_line() -> list[str]:
    with open("/proc/self/cmdline", "rb") as file:
        return file.read().decode("utf-8", "backslashreplace").split("\0")[:-1]


def folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return "/"


def is_about_to_exec(frame: Any) -> bool:
    """Whether a fork is one of subprocess with a preexec_fn: the program that it runs asks for itself."""
    while frame is not None:
        if frame.f_code.co_name == "_execute_child" and frame.f_globals.get("__name__") == "subprocess":
            return True
        frame = frame.f_back
    return False


def work_of(frame: Any) -> str:
    """The name and the function of the multiprocessing.Process that is being started, if that is what forks."""
    while frame is not None:
        process = frame.f_locals.get("process_obj")
        if process is not None and frame.f_code.co_name in ("_launch", "__init__"):
            function = getattr(process, "_target", None)
            module = getattr(function, "__module__", "")
            name = getattr(function, "__qualname__", type(process).__name__)
            return "%s %s" % (process.name, "%s.%s" % (module, name) if module else name)
        frame = frame.f_back
    return ""


class SessionGone(Exception):
    """The session ended before it let the process be debugged."""


_hook: Any = None  # the one that counts: what was registered before it does nothing any more


def begin(settings: dict[str, Any] | None, functions: Any) -> None:
    """At the start of a Python: ``settings`` are those of the launched one; another asks for its own.

    ``functions`` is the module of sitecustomize.py.
    """
    where = wanted()
    if where is None:
        return
    if settings is not None:
        functions.connect(settings)
    else:
        settings = ask(where, "exec")
        if settings is not None:
            join(settings, functions)
    follow_forks(where, functions)


def follow_forks(where: dict[str, Any], functions: Any) -> None:
    """From now on every child of os.fork asks. To be called after pydevd's import, whose own hooks come first then."""
    global _hook

    def joins() -> None:
        if _hook is not joins:
            return
        has_debugger = "pydevd" in sys.modules
        if has_debugger:
            functions.leave_forked_child()
        frame: Any = sys._getframe(1)
        if is_about_to_exec(frame):
            return
        settings = ask(where, "fork", work_of(frame))
        if settings is not None:
            join(settings, functions)
            if not has_debugger:
                follow_forks(where, functions)

    _hook = joins
    os.register_at_fork(after_in_child=joins)


def join(settings: dict[str, Any], functions: Any) -> None:
    """Gives this process a debugger of its own; nothing is left of one that the parent of a forked child had."""
    try:
        pydevd: Any = sys.modules.get("pydevd")
        if pydevd is None:
            functions.connect(settings, lambda pydevd: followed(functions.quick(pydevd)))
            return
        forget_parents_threads()
        pydevd.PyDB = followed(pydevd.PyDB)
        functions.load_probe(pydevd)
        functions.settrace(pydevd, settings)
    except SessionGone:
        functions.leave_forked_child()


def followed(base: Any) -> type:
    """pydevd's debugger for a process that goes on without it when the session ends early."""
    if getattr(base, "dualdbg_followed", False):
        return base  # type: ignore[no-any-return]

    class FollowedDebugger(base):  # type: ignore[misc]
        dualdbg_followed = True
        ready_to_run: bool
        session_gone = False

        def wait_for_ready_to_run(self) -> None:
            super().wait_for_ready_to_run()
            if self.session_gone:
                raise SessionGone

        def dispose_and_kill_all_pydevd_threads(self, wait: bool = True, timeout: float = 0.5) -> None:
            if not self.ready_to_run:
                self.session_gone = self.ready_to_run = True
            super().dispose_and_kill_all_pydevd_threads(wait=wait, timeout=timeout)

    return FollowedDebugger


def forget_parents_threads() -> None:
    """In a forked child: pydevd's notes on threads, which are those of the parent."""
    import threading

    from _pydevd_bundle import pydevd_constants  # type: ignore[import-not-found]
    from _pydevd_bundle.pydevd_custom_frames import custom_frames_container_init  # type: ignore[import-not-found]

    pydevd_constants.clear_cached_thread_id(threading.current_thread())
    threading.current_thread().additional_info = None  # type: ignore[attr-defined]
    custom_frames_container_init()
    if pydevd_constants.PYDEVD_USE_SYS_MONITORING:
        from _pydevd_sys_monitoring import pydevd_sys_monitoring  # type: ignore[import-not-found]

        pydevd_sys_monitoring.reset_thread_local_info()
