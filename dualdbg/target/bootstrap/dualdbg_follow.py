"""Runs in the target's descendants: each new Python process asks the session whether it is to join, before it goes on.

A Python that is started finds this by ``sitecustomize``, whose folder stays in PYTHONPATH while children are followed;
a forked one by a hook of ``os.register_at_fork``. A process that gets no answer, because the session is over, runs on
without a debugger. Runs on CPython 3.8 and later with nothing installed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PR_SET_PTRACER = 0x59616D61
LONGEST_WORK = 1000  # characters


def ask(where: dict[str, Any], kind: str, functions: Any, work: str = "") -> dict[str, Any] | None:
    """The session's settings for this process; None when it is to run on without a debugger.

    ``kind`` is ``fork`` or ``exec``; ``work`` says what the process is for. The session asks the kernel who we are. We
    ask the kernel who listens: the session's folder may be gone, and a folder of another user may have its name.
    """
    import json
    import socket
    import struct

    if where["name_tracer"]:
        name_tracer(where["session_pid"])
    hello = {
        "token": where["token"],
        "kind": kind,
        "work": work[:LONGEST_WORK],
        "python": sys.executable or "python",
    }
    try:
        connection = functions.call(where["path"])
        with connection:
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            if struct.unpack("iII", credentials)[1] != where["user"]:
                return None
            connection.sendall((json.dumps(hello) + "\n").encode())
            connection.settimeout(None)
            with connection.makefile("rb") as answers:
                line = answers.readline()
    except (OSError, ValueError):  # nobody listens there, or the path cannot be one of a socket
        return None
    settings: dict[str, Any] | None = json.loads(line) if line else None
    return settings


def name_tracer(pid: int) -> None:
    """Yama's scope 1: a child does not inherit the tracer that its parent has named."""
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PTRACER, pid, 0, 0, 0)


def is_about_to_exec(frame: Any) -> bool:
    """Whether subprocess forked this process to run a preexec_fn and a program: the program asks for itself."""
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


_hook: Any = None  # the registration that counts: an earlier one does nothing any more


def begin(where: dict[str, Any] | None, settings: dict[str, Any] | None, functions: Any) -> None:
    """At the start of a Python: ``settings`` are those of the launched one; another asks for its own.

    ``where`` is where the session listens for descendants, ``functions`` the module of sitecustomize.py. A program that
    takes the place of an earlier one ``joins``: it would run without a debugger too.
    """
    if settings is not None and settings.get("tracer"):
        name_tracer(settings["tracer"])
    if settings is not None and not settings.get("joins"):
        functions.connect(settings)
    elif settings is not None or (
        where is not None and (settings := ask(where, "exec", functions)) is not None
    ):
        join(settings, functions)
    if where is not None:
        follow_forks(where, functions)


def follow_forks(where: dict[str, Any], functions: Any) -> None:
    """From now on every child of os.fork asks. Called after pydevd's import, so that pydevd's hooks run first."""
    global _hook

    def joins() -> None:
        if _hook is not joins:
            return
        has_debugger = "pydevd" in sys.modules
        if has_debugger:
            functions.keep_log_private()
            functions.changes().leave_forked_child()
        frame: Any = sys._getframe(1)
        if is_about_to_exec(frame):
            return
        settings = ask(where, "fork", functions, work_of(frame))
        if settings is not None:
            join(settings, functions)
            if not has_debugger:
                follow_forks(where, functions)

    _hook = joins
    os.register_at_fork(after_in_child=joins)


def join(settings: dict[str, Any], functions: Any) -> None:
    """Gives this process its own debugger. In a forked child nothing is left of the parent's debugger."""
    try:
        pydevd: Any = sys.modules.get("pydevd")
        if pydevd is None:
            functions.connect(settings, lambda pydevd: followed(functions.quick_debugger(pydevd)))
            return
        forget_parents_threads()
        pydevd.PyDB = followed(pydevd.PyDB)
        functions.load_probe(pydevd)
        functions.settrace(pydevd, settings)
    except SessionGone:
        functions.changes().leave_forked_child()
    except Exception:  # it runs on without a debugger; the session says why
        import traceback

        why = traceback.format_exc()
        if "pydevd" in sys.modules:
            functions.changes().leave_forked_child()
        functions.tell_failure(settings, why)


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
    """In a forked child: drop pydevd's notes on threads, which describe the threads of the parent."""
    import threading

    from _pydevd_bundle import pydevd_constants  # type: ignore[import-not-found]
    from _pydevd_bundle.pydevd_custom_frames import custom_frames_container_init  # type: ignore[import-not-found]

    pydevd_constants.clear_cached_thread_id(threading.current_thread())
    threading.current_thread().additional_info = None  # type: ignore[attr-defined]
    custom_frames_container_init()
    if pydevd_constants.PYDEVD_USE_SYS_MONITORING:
        from _pydevd_sys_monitoring import pydevd_sys_monitoring  # type: ignore[import-not-found]

        pydevd_sys_monitoring.reset_thread_local_info()
