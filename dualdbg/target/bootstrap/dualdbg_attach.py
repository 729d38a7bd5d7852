"""Runs at a safe point of a process that was attached to: connects its pydevd to the session, in a separate thread.

The session has the interpreter execute this file with ``settings`` among its globals. The thread that executes it only
starts another thread, in which everything happens that is slow or may wait. Runs on CPython 3.8 and later with nothing
installed.
"""

from __future__ import annotations

import _thread
import os
import sys
import threading  # here, and not in our thread: threading takes the thread that imports it first for the main thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    settings: dict[str, Any] = {}

BOOTSTRAP_NAME = "_dualdbg_bootstrap"
CLASS_NAME = "dualdbg_original_PyDB"  # the attribute that keeps pydevd's own class, from the first attach on
MADE_OF = "dualdbg_made_of"  # the attribute that says which dualdbg has brought this pydevd
# The attribute with what breakpoint() does while we are there, and afterwards.
HOOK = "dualdbg_breakpointhook"
SWITCH_INTERVAL = 1e-5  # seconds
EXACT = 1  # nanoseconds
PYDEVD_THREADS = 3  # that read, that write, and that take its commands
ALREADY = "%s has replaced the program's threads, and debugpy's would wait for %s: start it with dualdbg run"
started: list[int] = []  # OS thread ids of the threads that are started here


class SessionGone(Exception):
    """The session ended before it let the program be debugged."""


def start_first_thread() -> None:
    """Start our thread, by a function of dualdbg_signals.py: what is slow, as imports are, happens in that thread."""
    path = os.path.join(settings["bootstrap"], "pydevd_patches", "dualdbg_signals.py")
    names: dict[str, Any] = {}
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), names)
    names["start_blocked"](_thread.start_new_thread, run, ())


def bootstrap() -> Any:
    """The functions of sitecustomize.py, without what that file does at the start of a launched program."""
    from importlib import util

    path = os.path.join(settings["bootstrap"], "sitecustomize.py")
    spec: Any = util.spec_from_file_location(BOOTSTRAP_NAME, path)
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pydevd_of(functions: Any) -> Any:
    """pydevd, imported now or at an earlier attach, also by a dualdbg that was installed elsewhere.

    Raises RuntimeError for a pydevd that cannot be used.
    """
    pydevd = sys.modules.get("pydevd")
    if pydevd is None:
        own = sys.breakpointhook
        pydevd = functions.import_pydevd(settings["debugpy"], settings["pycache"])
        functions.changes().undo_side_effects(pydevd)
        hook = functions.load_beside("dualdbg_api").BreakpointHook(own)
        hook.end()  # the import has set it; we are not there before the session is
        setattr(pydevd, HOOK, hook)
    elif not os.path.abspath(str(pydevd.__file__)).startswith(settings["debugpy"] + os.sep):
        if not hasattr(pydevd, "dualdbg_probe"):
            raise RuntimeError("the program has imported a pydevd of its own, %s" % pydevd.__file__)
        package = os.path.abspath(os.path.join(os.path.dirname(str(pydevd.__file__)), "..", ".."))
        if getattr(pydevd, MADE_OF, None) != settings["made_of"] or not os.path.isdir(package):
            left = "another dualdbg, of another version, has left its debugpy in the program, %s: use that one, or "
            left += "start the program anew"
            raise RuntimeError(left % package)
        settings["debugpy"] = package
    if pydevd.get_global_debugger() is not None:
        raise RuntimeError("another Python debugger (debugpy or PyCharm's) is at work in the program")
    setattr(pydevd, MADE_OF, settings["made_of"])
    return pydevd


def attached(pydevd: Any, functions: Any, tracing: Any) -> type:
    """pydevd's debugger for a program that outlives the session: nothing of it stays behind.

    ``tracing`` is a lock that is held until the program's threads are traced.
    """
    original: Any = getattr(pydevd, CLASS_NAME, None) or pydevd.PyDB
    setattr(pydevd, CLASS_NAME, original)
    pydevd.PyDB = original
    base: Any = functions.quick_debugger(pydevd)

    class AttachedDebugger(base):  # type: ignore[misc]
        ready_to_run: bool
        session_gone = False

        def wait_for_ready_to_run(self) -> None:
            while not self.ready_to_run:
                self.process_internal_commands()
                self._py_db_command_thread_event.clear()
                self._py_db_command_thread_event.wait(0.05)
            if self.session_gone:
                raise SessionGone

        def on_configuration_done(self) -> None:
            """Wait for the tracing before the session is answered: from then on it says that breakpoints stop."""
            self._main_lock.release()  # of who reads requests; the thread that begins the tracing needs it
            try:
                with tracing:
                    pass
            finally:
                self._main_lock.acquire()
            super().on_configuration_done()

        def enable_tracing(self, *given: Any, **named: Any) -> None:
            super().enable_tracing(*given, **named)
            if self.pydb_disposed:  # a thread was just about to be traced when the session ended
                stop_tracing(pydevd)

        def dispose_and_kill_all_pydevd_threads(self, wait: bool = True, timeout: float = 0.5) -> None:
            if not self.ready_to_run:
                self.session_gone = self.ready_to_run = True
            if hasattr(pydevd, HOOK):
                getattr(pydevd, HOOK).end()
            connection: Any = self.__dict__.pop("_client_socket", None)
            threads = list(self.created_pydb_daemon_threads)
            with Quickly():
                super().dispose_and_kill_all_pydevd_threads(wait=wait, timeout=timeout)
                stop_tracing(pydevd)
            if connection is not None:
                start = pydevd.dualdbg_signals.start_blocked
                start(_thread.start_new_thread, close_last, (connection, threads))

    return AttachedDebugger


def open_connection(functions: Any) -> Any:
    """A connection that only ``close_last`` closes: pydevd would close it before it has put everything right."""
    connection = functions.open_connection(settings)
    connection.shutdown = lambda how: None
    return connection


def close_last(connection: Any, threads: list[Any]) -> None:
    """Runs in a separate thread: closes the connection, which the session notices, when nothing of pydevd runs."""
    with Quickly():
        for thread in threads:
            thread.join(settings["last_words"])
        threading._active.pop(_thread.get_ident(), None)  # type: ignore[attr-defined]
    connection.close()


def stop_tracing(pydevd: Any) -> None:
    """End the tracing of all threads: at once from 3.12 on, before that in each thread as soon as it runs Python."""
    from _pydev_bundle import pydev_monkey  # type: ignore[import-not-found]
    from _pydevd_bundle import pydevd_constants  # type: ignore[import-not-found]

    pydev_monkey.undo_patch_thread_modules()
    if pydevd_constants.PYDEVD_USE_SYS_MONITORING:
        from _pydevd_sys_monitoring import pydevd_sys_monitoring  # type: ignore[import-not-found]

        pydevd_sys_monitoring.stop_monitoring(all_threads=True)
        return
    import pydevd_tracing  # type: ignore[import-not-found]

    settrace: Any = pydevd_tracing.TracingFunctionHolder._original_tracing or sys.settrace

    def remove(frame: Any, event: str, arg: Any) -> None:
        """A trace function that ends the tracing of the thread that calls it."""
        settrace(None)
        while frame is not None:
            frame.f_trace = None
            frame = frame.f_back

    pydevd_tracing.restore_sys_set_trace_func()
    settrace(None)
    threading.settrace(None)
    for outermost in sys._current_frames().values():
        frame: Any = outermost
        while frame is not None:
            if frame.f_trace is not None:
                frame.f_trace = remove
            frame = frame.f_back
    pydevd_tracing.set_trace_to_threads(remove, create_dummy_thread=False)
    settrace(None)


def forget_stops_and_steps() -> None:
    """Take back what an earlier session has left in the threads: pydevd would stop them at once, or end a step there.

    It lets a thread go that it holds at its end, but leaves the wish that the thread stand still.
    """
    from _pydevd_bundle import pydevd_constants

    for thread in list(threading._active.values()):  # type: ignore[attr-defined]
        info: Any = getattr(thread, "additional_info", None)
        if info is not None:
            info.pydev_state = pydevd_constants.STATE_RUN
            info.pydev_original_step_cmd = info.pydev_step_cmd = -1
            info.pydev_step_stop = None
            info.update_stepping_info()


def untrace_this_thread() -> None:
    """Do what sys.settrace(None) does, but not through pydevd's replacement of it, which warns."""
    tracing = sys.modules.get("pydevd_tracing")
    holder: Any = getattr(tracing, "TracingFunctionHolder", None)
    (getattr(holder, "_original_tracing", None) or sys.settrace)(None)


def check_threads() -> None:
    """Raises RuntimeError where the process cannot start pydevd's threads: it would be left there half started."""
    lock = _thread.allocate_lock()

    def wait() -> None:
        started.append(_thread.get_native_id())
        with lock:
            pass

    with lock:
        for _ in range(PYDEVD_THREADS):
            _thread.start_new_thread(wait, ())


def connect(functions: Any) -> None:
    """Connect pydevd to the session, which listens. Raises where that is not possible."""
    pydevd = pydevd_of(functions)
    pydevd.dualdbg_threads = started  # the session reads it: they have no place in threading that would last
    functions.load_probe(pydevd)
    # First: a session that has gone leaves no half of a debugger here.
    connection = open_connection(functions)
    if hasattr(pydevd, HOOK):  # else the program was launched by us once
        getattr(pydevd, HOOK).begin()
    pydevd.start_client = lambda host, port: connection
    forget_stops_and_steps()
    if sys.version_info < (3, 12):
        functions.load_beside("pydevd_patches/dualdbg_native_threads").install(pydevd)
    tracing = _thread.allocate_lock()
    pydevd.PyDB = attached(pydevd, functions, tracing)
    with tracing:
        pydevd.settrace(
            host="dualdbg",  # start_client knows better
            port=0,
            suspend=False,
            patch_multiprocessing=settings["follow_children"],
            dont_trace_start_patterns=(settings["debugpy"], settings["bootstrap"]),
            access_token=settings["session_token"],
            client_access_token=settings["target_token"],
            notify_stdin=False,
        )
    if not settings["follow_children"] and not hasattr(pydevd, "dualdbg_leaves_children"):
        pydevd.dualdbg_leaves_children = True
        os.register_at_fork(after_in_child=functions.changes().leave_forked_child)


class Quickly:
    """While it is entered, a thread that waits for the GIL asks for it at once, not after 5 ms.

    pydevd's import gives the GIL up some thousand times. A program that gives it up more often than every 5 ms, and
    takes it back at once, would keep it from us for minutes: the waiting thread is woken too late, and each time its
    wait begins anew (CPython, ``take_gil``). So would one that gives it up every 50 us: by so much the kernel lets a
    wait of 10 us last longer, unless the thread wants its timers exact (prctl(2), PR_SET_TIMERSLACK).
    """

    def __enter__(self) -> None:
        self.before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_INTERVAL)
        self.ours = sys.getswitchinterval()
        self.slack = set_timer_slack(EXACT)

    def __exit__(self, *_: object) -> None:
        set_timer_slack(self.slack)
        if sys.getswitchinterval() == self.ours:  # else the program has set its own meanwhile
            sys.setswitchinterval(self.before)


def set_timer_slack(nanoseconds: int) -> int:
    """By how much this thread's waits may last longer. The value before; what was given where the system has none.

    The file exists since Linux 4.6, for threads too (fs/proc/base.c), and is not listed for them.
    """
    try:
        with open("/proc/%d/timerslack_ns" % _thread.get_native_id(), "r+", buffering=1) as file:
            before = int(file.read())
            file.write("%d\n" % nanoseconds)
            return before
    except OSError:  # an older kernel, or none of Linux (gVisor): it takes longer, then
        return nanoseconds


def in_turn() -> Any:
    """While it is entered, code of a later session waits: that of one that was cut off may still import pydevd.

    Python's lock for the import of a module of this name, which is none: nothing of it stays behind.
    """
    import _frozen_importlib

    importing: Any = _frozen_importlib
    return importing._ModuleLockManager(BOOTSTRAP_NAME)


def run() -> None:
    """The body of our thread."""
    started.append(_thread.get_native_id())
    try:
        with Quickly(), in_turn():
            functions = bootstrap()
            with functions.standard_library():
                with functions.load_beside("dualdbg_threads").Unnumbered():
                    ours: Any = threading.current_thread()
                ours.pydev_do_not_trace = ours.is_pydev_daemon_thread = True
                check_threads()
                by = functions.load_beside("dualdbg_patched").patched_by()
                if by is not None:
                    functions.tell_failure(settings, ALREADY % (by, by))
                else:
                    connect(functions)
    except SessionGone:
        pass
    except BaseException:
        tell()
    finally:
        untrace_this_thread()
        threading._active.pop(_thread.get_ident(), None)  # type: ignore[attr-defined]  # the entry for this thread


def tell() -> None:
    """Say what is being handled: why there will be no debugger."""
    import traceback

    try:
        bootstrap().tell_failure(settings, traceback.format_exc())
    except OSError:
        pass  # the session has gone, and the program's own streams are no place for this


try:
    start_first_thread()
except RuntimeError:  # the process can start no thread, and pydevd needs some
    tell()
