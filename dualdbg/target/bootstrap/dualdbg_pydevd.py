"""Runs in the target: what dualdbg changes in pydevd, which stays as it is on the disk.

Its fixed delays, its helper threads, what it leaves in the program for features that dualdbg does not use, and what it
does to a program that forks. CPython 3.8 and later.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

JOINED = "dualdbg_held"  # stands in the condition of several breakpoints at one place (python_suffixes.py)
PYDEVD_BUILTINS = ("execfile", "runfile")  # names that the import of pydevd's console adds to builtins


def undo_side_effects(pydevd: Any) -> None:
    """Takes back what pydevd changes in the program for features that dualdbg does not use."""
    import builtins

    for name in PYDEVD_BUILTINS:
        builtins.__dict__.pop(name, None)
    # With DISPLAY set it replaces builtins.__import__, to serve matplotlib windows while a thread is
    # stopped; that frame would stand in every traceback of an import.
    pydevd.INTERACTIVE_MODE_AVAILABLE = False
    if os.environ.get("PYTHONBREAKPOINT"):
        sys.breakpointhook = sys.__breakpointhook__
    pydevd.settrace = settrace_that_stops(pydevd, pydevd.settrace)
    sys.modules["pydevd_tracing"].TracingFunctionHolder._warnings_shown = Shown()


class Shown(dict):  # type: ignore[type-arg]
    """What pydevd has warned of: all. It writes to standard error where the program calls sys.settrace (doctest).

    ``tell_of_another_tracer`` says when that matters.
    """

    def __contains__(self, warning: object) -> bool:
        return True


def settrace_that_stops(pydevd: Any, own: Any) -> Any:
    """pydevd.settrace, which debugpy calls for ``breakpoint()``, so that it stops where no line follows, too."""

    def settrace(*given: Any, **named: Any) -> None:
        own(*given, **named)
        debugger = pydevd.get_global_debugger()
        thread = pydevd.threading.current_thread()
        info = getattr(thread, "additional_info", None)
        if info is None or debugger is None or debugger.pydb_disposed:
            return
        if info.pydev_original_step_cmd == pydevd.CMD_SET_BREAK:
            beside = pydevd.dualdbg_presentation.beside
            beside("dualdbg_last_line").stop_at_once(debugger, pydevd, thread, sys._getframe(1))

    return settrace


def quick(pydevd: Any, failed: int) -> type:
    """pydevd's debugger class without its fixed delays: 0.1 s at the start, up to 0.7 s at the end.

    ``failed`` is the exit status of a program whose session hangs up before the program may start.
    """
    from _pydevd_bundle import pydevd_api, pydevd_comm  # type: ignore[import-not-found]
    from _pydevd_bundle._debug_adapter import pydevd_base_schema  # type: ignore[import-not-found]

    def answer(request: Any, body: Any) -> Any:
        response = pydevd_base_schema.build_response(request, kwargs={"body": body})
        return pydevd_comm.NetCommand(pydevd_comm.CMD_RETURN, 0, response, is_json=True)

    def evaluate_without_frame(*given: Any) -> None:
        """Run code of the user, in a thread of ours unless a stopped one comes first."""
        evaluate = pydevd_api.internal_evaluate_expression_json  # which dualdbg_expressions.py replaces
        if getattr(pydevd.threading.current_thread(), "is_pydev_daemon_thread", False):
            pydevd.dualdbg_signals.call_unblocked(evaluate, *given)
        else:
            evaluate(*given)

    asking: Any = set()  # numbers of threads
    told: Any = set()  # of conditions

    class Processor(pydevd.PyDevJsonCommandProcessor):  # type: ignore[misc]
        def _handle_launch_or_attach_request(self, py_db: Any, request: Any, start_reason: str) -> Any:
            shown, given = pydevd.dualdbg_presentation, request.arguments.kwargs
            shown.runs = given.get("reprs") == "run"
            shown.limit = given.get("dualdbgLimit", shown.limit)
            py_db.conditions_may_fail = given.get("dualdbgConditions") == "may fail"
            return super()._handle_launch_or_attach_request(py_db, request, start_reason)

        def on_evaluate_request(self, py_db: Any, request: Any) -> Any:
            if request.arguments.frameId is not None:
                return super().on_evaluate_request(py_db, request)
            pydevd_comm._global_frame = MainModule()
            py_db.post_method_as_internal_command("*", evaluate_without_frame, request, "*")
            return None

        def on_continue_request(self, py_db: Any, request: Any) -> Any:
            if not request.arguments.kwargs.get("dualdbgUnlessStopped"):
                return super().on_continue_request(py_db, request)
            resumed = py_db.stepping().resume_unless_stopped(py_db, request.arguments.threadId)
            return answer(request, {"allThreadsContinued": resumed})

    class Debugger(pydevd.PyDB):  # type: ignore[misc]
        conditions_may_fail = False
        program_goes_on = False  # when the interpreter has ended: Python is a part of it
        waits_at_exit = False  # where it has been there since the program began
        watches: Any = None  # once there was a watchpoint
        steps: Any = None  # dualdbg_steps.py, once a thread was stopped
        # By thread: the innermost frame that the user sees; the step that is under way; at a stop, what the function
        # has returned in which the step began.
        stopped_in: Any
        begun_steps: Any
        results: Any

        def __init__(self, *given: Any, **named: Any) -> None:
            if self.waits_at_exit:
                # pydevd's own handler is registered next, so it runs before this one.
                pydevd.atexit.register(self.wait_until_disposed)
            super().__init__(*given, **named)
            self.stopped_in, self.begun_steps, self.results = {}, {}, {}
            if pydevd.PYDEVD_USE_SYS_MONITORING:
                keep_for_callbacks(pydevd, self)

        def patch_threads(self) -> None:
            super().patch_threads()
            patch: Any = getattr(pydevd, "dualdbg_native_threads", None)
            if patch is not None:
                patch.trace(self.trace_dispatch)

        def trigger_exception_handler(self, excinfo: Any, as_uncaught: bool = True) -> None:
            """Called by debugpy's function of that name. It stops without a breakpoint if not ``as_uncaught``."""
            number = pydevd.threading.get_ident()
            if not as_uncaught:
                asking.add(number)
            try:
                super().trigger_exception_handler(excinfo, as_uncaught)
            finally:
                asking.discard(number)

        def program_asks(self) -> bool:
            """Whether the program itself wants this thread to stop. The session asks in the thread."""
            return pydevd.threading.get_ident() in asking

        def watching(self) -> Any:
            """The watchpoints (dualdbg_watches.py)."""
            if self.watches is None:
                beside = pydevd.dualdbg_presentation.beside
                self.watches = beside("dualdbg_watches").Watches(self, pydevd)
            return self.watches

        def stepping(self) -> Any:
            """Keeps the steps that pydevd would lose (dualdbg_steps.py)."""
            if self.steps is None:
                self.steps = pydevd.dualdbg_presentation.beside("dualdbg_steps")
            return self.steps

        def enable_tracing(self, *given: Any, **named: Any) -> None:
            super().enable_tracing(*given, **named)
            if self.watches is not None:
                self.watches.come_first(sys._getframe(1))

        def set_suspend(self, thread: Any, stop_reason: int, *given: Any, **named: Any) -> None:
            if self.watches is None or not self.watches.repeats(stop_reason):
                super().set_suspend(thread, stop_reason, *given, **named)

        def do_wait_suspend(self, thread: Any, frame: Any, *given: Any, **named: Any) -> None:
            if self.watches is not None and self.watches.passes_over():
                return
            number = pydevd.threading.get_ident()
            self.stopped_in[number] = frame
            shown = self.stepping().results_at(self, thread, frame)
            self.announce(thread)
            try:
                super().do_wait_suspend(thread, frame, *given, **named)
            finally:
                self.stopped_in.pop(number, None)
                self.results.pop(number, None)
                if shown:
                    shown.clear()
            self.stepping().forget_waiting(self, pydevd, thread)
            if self.watches is not None:
                self.watches.goes_on()

        def announce(self, thread: Any) -> None:
            """Have the stop of the current ``thread`` told, unless it was let go already.

            pydevd tells of no stop that has begun before the last one that was told. This one may have begun so, and
            hold all threads only now that the user has left the other: nobody would know of it.
            """
            stops_itself = thread.stop_reason != pydevd.CMD_THREAD_SUSPEND
            if stops_itself and thread.additional_info.pydev_state == pydevd.STATE_SUSPEND:
                self.threads_suspended_single_notification.increment_suspend_time()

        def initialize_network(self, sock: Any, terminate_on_socket_close: bool = True) -> None:
            self.writer = pydevd.WriterThread(sock, self, terminate_on_socket_close=terminate_on_socket_close)
            self.reader = pydevd.ReaderThread(
                sock,
                self,
                PyDevJsonCommandProcessor=Processor,
                process_net_command=pydevd.process_net_command,
                terminate_on_socket_close=terminate_on_socket_close,
            )
            self.timeout_tracker: Any = without_need_of_threads(self.timeout_tracker)(self)
            self.writer.start()
            self.reader.start()

        def handle_breakpoint_condition(self, info: Any, breakpoint: Any, frame: Any) -> Any:
            """The value of a condition."""
            try:
                if breakpoint.handle_hit_condition(frame):
                    return True
                return breakpoint.condition and eval(breakpoint.condition, frame.f_globals, frame.f_locals)
            except Exception as error:
                return self.stops_for_failure(breakpoint, frame, error)

        def stops_for_failure(self, breakpoint: Any, frame: Any, error: Any) -> bool:
            """Whether a condition that raised stops. In an editor it does not, as with debugpy; the user is told.

            Where it stops the session asks why. So it does where several breakpoints are one condition, of which the
            others may hold.
            """
            if not self.conditions_may_fail or JOINED in breakpoint.condition:
                return True
            shown = pydevd.dualdbg_presentation
            why = shown.beside("dualdbg_kinds").name_of(type(error)), shown.reader().message(error)
            place = frame.f_code.co_filename, breakpoint.line
            text = "%s:%s: the condition of a breakpoint cannot be evaluated: %s: %s\n" % (*place, *why)
            make = self.cmd_factory.make_warning_message
            # A later hit may know the name: debugpy says nothing of it. isinstance would ask the exception.
            if issubclass(type(error), NameError):
                make = self.cmd_factory.make_console_message
                if (breakpoint.condition, text) in told:
                    return False
                told.add((breakpoint.condition, text))
            self.writer.add_command(make(text))
            return False

        def set_trace_for_frame_and_parents(self, thread_ident: Any, frame: Any, **named: Any) -> None:
            """Called where a step begins, too: see dualdbg_steps.py."""
            super().set_trace_for_frame_and_parents(thread_ident, frame, **named)
            if thread_ident == pydevd.threading.get_ident():
                self.stepping().watch(self, pydevd, frame)
            if self.watches is not None:
                self.watches.come_first(frame)

        def trace_again(self, thread_ident: Any, frame: Any) -> None:
            """The step that is under way goes on in ``frame``."""
            super().set_trace_for_frame_and_parents(thread_ident, frame)
            if pydevd.PYDEVD_USE_SYS_MONITORING:
                pydevd.pydevd_sys_monitoring.restart_events()

        def notify_skipped_step_in_because_of_filters(self, frame: Any) -> None:
            """Told of a library that the user has called: each import passes through the import machinery, and the
            debugger calls libraries for itself.
            """
            if not frame.f_code.co_filename.startswith("<frozen ") and not self.is_called_by_debugger(frame):
                super().notify_skipped_step_in_because_of_filters(frame)

        def is_called_by_debugger(self, frame: Any) -> bool:
            """Whether code of the debugger, and not of the program, has led to this frame of a library."""
            while frame is not None:
                if self.get_file_type(frame) == self.PYDEV_FILE:
                    return True
                if self.in_project_scope(frame):
                    return False
                frame = frame.f_back
            return False

        def _create_check_output_thread(self) -> None:
            """Not started: it polls for the end of the program, which the exit handler sees at once."""

        def dispose_and_kill_all_pydevd_threads(self, wait: bool = True, timeout: float = 0.5) -> None:
            if not self.ready_to_run:  # the session hung up before it let the program start
                os._exit(failed)
            if self.watches is not None:
                self.watches.end()
            this = pydevd.threading.current_thread()
            if self.__dict__.setdefault("disposed_by", this) is this:
                # Not what another class has under this name: an earlier session may have made the one below us.
                Debugger.take_apart(self, wait, timeout)

        def wait_until_disposed(self) -> None:
            """One of pydevd's threads does it where it sees that the main thread is about to end.

            It is left in the middle of it if the interpreter ends; pydevd's exit handler knows of no debugger then.
            """
            first = self.__dict__.get("disposed_by")
            if first is not None and first is not pydevd.threading.current_thread():
                first.join(2.0)

        def take_apart(self, wait: bool, timeout: float) -> None:
            connection: Any = self.__dict__.pop(
                "_client_socket", None
            )  # else the connection is closed too early
            self._client_socket = None
            lost = self.writer is pydevd.threading.current_thread()  # it could not send
            super().dispose_and_kill_all_pydevd_threads(wait=False, timeout=0 if lost else timeout)
            if self.steps is not None:
                self.steps.monitored.end()
            if wait and not lost and self.writer is not None:  # None: it was never connected
                self.writer.join(timeout)  # until `terminated` is sent; the reader may stay connected
            if connection is not None:
                if self.program_goes_on:
                    self.end_threads(connection, timeout)
                connection.close()

        def end_threads(self, connection: Any, timeout: float) -> None:
            """None is left when the interpreter ends. In the next one of the process it would crash."""
            import socket

            try:
                connection.shutdown(socket.SHUT_RDWR)  # the reader reads no more
            except OSError:  # the session is gone
                pass
            for thread in list(self.created_pydb_daemon_threads):
                if thread is not pydevd.threading.current_thread():
                    thread.join(timeout)

    return Debugger


def keep_for_callbacks(pydevd: Any, debugger: Any) -> None:
    """From 3.12 on: what pydevd's callbacks for events find.

    What they answer may be out of date (dualdbg_restarts.py). While ``debugger`` leaves, and afterwards, a callback may
    be running in another thread. It asks several times for the debugger, and for events of code. Without a debugger
    it would raise AttributeError in the program. Without pydevd's tool it would raise ValueError, or take that tool
    again.
    """
    module: Any = sys.modules[
        pydevd.pydevd_sys_monitoring.stop_monitoring.__module__
    ]  # with Cython or without
    real: Any = sys.monitoring  # type: ignore[attr-defined]

    def use_tool_id(tool: int, name: str) -> None:
        if not debugger.pydb_disposed:
            real.use_tool_id(tool, name)

    def while_used(function: Any) -> Any:
        def call(*given: Any) -> Any:
            try:
                return function(*given)
            except ValueError:
                if not debugger.pydb_disposed:
                    raise
                return 0  # no events

        return call

    names = "get_events", "set_events", "get_local_events", "set_local_events", "free_tool_id"
    changed = {name: while_used(getattr(real, name)) for name in names}
    restarts = pydevd.dualdbg_presentation.beside("dualdbg_restarts").Restarts()
    begun = pydevd.dualdbg_presentation.beside("dualdbg_begun")
    changed["set_events"] = begun.telling(pydevd, debugger, changed["set_events"], restarts.disable)
    changed.update(use_tool_id=use_tool_id, restart_events=restarts.restart)

    class Monitoring(Found):
        @property
        def DISABLE(self) -> Any:
            return restarts.disable()

    kept = {name: value for name, value in vars(real).items() if name != "DISABLE"}
    module.monitor = Monitoring({**kept, **changed})
    module.GlobalDebuggerHolder = Found({"global_dbg": debugger})


class Found:
    """Stands for a module or a class of pydevd, and has these attributes."""

    def __init__(self, attributes: Any) -> None:
        self.__dict__.update(attributes)


class MainModule:
    """Stands for a frame of the program's main module, where expressions are evaluated while no frame is stopped.

    pydevd itself would take one of its own frames, with its own names. Clients use one of those names, ``sys``.
    """

    @property
    def f_locals(self) -> Any:
        """The variables of the module, as they are now."""
        return sys.modules["__main__"].__dict__

    f_globals = {"sys": sys}


def without_need_of_threads(tracker: Any) -> type:
    """The class of pydevd's ``tracker``, for a process that may be able to start no thread (RLIMIT_NPROC, seccomp).

    An evaluation has pydevd start a thread that warns when it takes long. Where the thread cannot be started, pydevd
    would not answer the request at all. So this class starts none, and nobody warns.
    """

    class Tracker(type(tracker)):  # type: ignore[misc]
        def call_on_timeout(self, *arguments: Any, **named: Any) -> Any:
            try:
                return super().call_on_timeout(*arguments, **named)
            except RuntimeError:
                self._thread = None  # it is tried again at the next evaluation
                return Unwatched()

    class Unwatched:
        def __enter__(self) -> None: ...

        def __exit__(self, *_: object) -> None: ...

    return Tracker


def leave_forked_child() -> None:
    """After a fork, in the child: it does not have pydevd's threads, so a stop in it would wait for ever."""
    import atexit
    import threading

    import pydevd  # type: ignore[import-not-found]
    import pydevd_tracing  # type: ignore[import-not-found]
    from _pydev_bundle import pydev_monkey  # type: ignore[import-not-found]
    from _pydevd_bundle import pydevd_constants

    debugger = pydevd_constants.get_global_debugger()
    if debugger is None:
        return
    atexit.unregister(pydevd.stoptrace)
    if pydevd_constants.PYDEVD_USE_SYS_MONITORING:
        from _pydevd_sys_monitoring import pydevd_sys_monitoring  # type: ignore[import-not-found]

        pydevd_sys_monitoring.stop_monitoring(all_threads=True)
    else:
        pydevd_tracing.restore_sys_set_trace_func()
        sys.settrace(None)
        threading.settrace(None)
    pydev_monkey.undo_patch_thread_modules()
    debugger.pydb_disposed = True
    pydevd_constants.set_global_debugger(None)
    if debugger._client_socket is not None:
        debugger._client_socket.close()
        debugger._client_socket = None


def keep_fork_quiet(pydevd: Any) -> None:
    """Python 3.12 and later warn of a fork with more than one thread. No warning when all others belong to pydevd.

    The warning comes before the hooks of os.register_at_fork in 3.12 and after them from 3.13 on, so the filter
    for it removes itself.
    """
    import warnings

    class ThisWarning:
        def match(self, text: str) -> bool:  # called by the interpreter, as on a compiled pattern
            if "fork" not in text:
                return False
            remove()
            return True

    entry: Any = ("ignore", ThisWarning(), DeprecationWarning, None, 0)
    filters: Any = warnings

    def remove() -> None:
        if entry in filters.filters:
            filters.filters.remove(entry)

    def before() -> None:
        remove()
        debugger = pydevd.get_global_debugger()
        if debugger is None:
            return
        threads = debugger.reader, debugger.writer, debugger.py_db_command_thread
        if len(os.listdir("/proc/self/task")) - sum(thread.is_alive() for thread in threads) == 1:
            filters.filters.insert(0, entry)

    os.register_at_fork(before=before, after_in_child=remove)


def trace_from_the_programs_first_frame(pydevd: Any, host: bool) -> None:
    """Up to 3.11: begins to trace where the interpreter starts the program, not in the frames of `site`.

    pydevd takes the outermost frame that it sees first for the thread's own, and looks for exceptions that
    nobody handles there. A ``host`` is a program that is no interpreter: it may call any function first.
    """
    import pydevd_tracing

    debugger = pydevd.get_global_debugger()
    if debugger is None:  # the session let the program run and has hung up already
        return
    program = sys.modules["__main__"].__dict__

    def begin(frame: Any, event: str, arg: Any) -> Any:
        code = frame.f_code
        if frame.f_back is None and (
            frame.f_globals is program
            or code.co_name == "_run_module_as_main"
            or (host and not code.co_filename.startswith("<frozen "))
        ):
            debugger.enable_tracing(debugger.trace_dispatch)
            return debugger.trace_dispatch(frame, event, arg)
        return None

    pydevd_tracing.SetTrace(begin)
    frame: Any = sys._getframe()
    while frame is not None:
        frame.f_trace = None
        frame = frame.f_back


def tell_of_another_tracer(pydevd: Any) -> None:
    """Up to 3.11: at the program's end, say that it has replaced the main thread's trace function.

    From there on no Python breakpoint stopped. Code in C, as coverage has it, does so without a call that we could see.
    """
    import atexit

    def tell() -> None:
        debugger = pydevd.get_global_debugger()
        if debugger is None or not (debugger.breakpoints or debugger.function_breakpoint_name_to_breakpoint):
            return
        now: Any = sys.gettrace()
        # A function has its module, an instance of a class in C has that of its class.
        modules = str(getattr(now, "__module__", "")), type(now).__module__
        if any(module.startswith(("pydevd", "_pydevd", "dualdbg")) for module in modules):
            return
        text = "the program has replaced debugpy's trace function (as coverage does): "
        if now is None:
            text = "debugpy's trace function is gone (a RecursionError in it, or the program removed it): "
        text += "Python breakpoints did not stop after that; from Python 3.12 on they do\n"
        debugger.writer.add_command(debugger.cmd_factory.make_warning_message(text))

    atexit.register(tell)


def trace_without_helper_threads() -> None:
    """Up to 3.11: a thread that is to be traced sets its own trace function, and no other thread is started for it.

    pydevd starts one that sets a trace function and ends, three times for each thread of the program, to raise the
    interpreter's count of traced threads (3.8 and 3.9 have it; see its py_custom_pyeval_settrace.hpp).
    The thread itself can do so as well. A thread costs gdb a stop or two.
    """
    from _thread import _local, get_ident

    import pydevd_tracing

    original, starting = pydevd_tracing.set_trace_to_threads, pydevd_tracing.pydev_monkey
    itself = _local()

    def set_trace_to_threads(
        tracing_func: Any, thread_idents: Any = None, create_dummy_thread: bool = True
    ) -> Any:
        itself.only = not create_dummy_thread and thread_idents == [get_ident()]
        try:
            return original(tracing_func, thread_idents, create_dummy_thread)
        finally:
            itself.only = False

    class Starting:
        @staticmethod
        def get_original_start_new_thread(module: Any) -> Any:
            if itself.only:
                return lambda function, arguments: function(*arguments)
            return starting.get_original_start_new_thread(module)

    pydevd_tracing.pydev_monkey = Starting
    pydevd_tracing.set_trace_to_threads = set_trace_to_threads
