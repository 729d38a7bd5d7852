"""Runs in the target, before the program: connects its pydevd to the session and leaves no trace of itself.

The launcher puts this folder first in PYTHONPATH, so the interpreter's own `site` imports this file while it
starts, and then runs the program itself, exactly as it would without us: sys.argv, `__main__`, tracebacks,
exit status, `-m` and `-c` need no imitation. Runs on CPython 3.8 and later with nothing installed.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # the import of typing would take longer than the rest of this file
if TYPE_CHECKING:
    from typing import Any

SETTINGS = "DUALDBG_TARGET"  # the environment variable in which the launcher puts the settings, as JSON
FOLLOW = "DUALDBG_FOLLOW"  # the environment variable that says where descendants find the session, as JSON
# The fields that each of them has at least. A variable without them was not set by dualdbg.
SETTINGS_FIELDS = {
    "address": (str, list),
    "session_token": str,
    "target_token": str,
    "debugpy": str,
    "launcher": int,
    "empty_pythonpath": bool,
}
FOLLOW_FIELDS = {"path": str, "token": str, "user": int, "session_pid": int, "name_tracer": bool}
HERE = os.path.dirname(os.path.abspath(__file__))
HIGH_DESCRIPTOR = 500  # the program's own descriptors keep the low numbers that they have without us
FREE_DESCRIPTORS = 32  # above it, for the files that an import opens
LONGEST_FAILURE = 1 << 13  # characters, each six bytes of JSON at most
CALL_DEADLINE = 10.0  # seconds to reach the session, on a usual machine
PATIENCE = "DUALDBG_PATIENCE"  # multiplies time limits (dualdbg/system/patience.py)
FAILED = 3  # exit status when there is no session to run for
PYDEVD_ENVIRONMENT = {
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # else 3.11 and later warn about frozen modules on stderr
    "PYDEVD_USE_FRAME_EVAL": "NO",  # as debugpy sets it
}
LOG_DIR = "DEBUGPY_LOG_DIR"  # the environment variable with which debugpy has pydevd write a log
OF_GEVENT = (
    "GEVENT_SUPPORT"  # pydevd would import gevent with it: dualdbg_patched.py does at need what it asks for
)
SET_BY_DEBUGPY = ("PYDEVD_DEBUG", "PYDEVD_DEBUG_FILE")  # by its force_pydevd.py, for pydevd's import


def follow_place() -> dict[str, Any] | None:
    """Where the session listens for descendants; None when they are not followed or the variable is foreign."""
    return read_variable(os.environ.get(FOLLOW), FOLLOW_FIELDS)


def read_variable(text: str | None, fields: dict[str, Any]) -> dict[str, Any] | None:
    """The JSON object in an environment variable that has these ``fields`` of these types; else None."""
    if not text:
        return None
    import json

    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or any(
        not isinstance(found.get(name), kind) for name, kind in fields.items()
    ):
        return None
    return found


def take_settings(follows: bool) -> dict[str, Any] | None:
    """Returns the settings (None in a child process that inherited them) with every sign of them removed.

    While children are followed, PYTHONPATH keeps what brings this file into them.
    """
    raw = os.environ.get(SETTINGS)
    settings = read_variable(raw, SETTINGS_FIELDS)
    if settings is not None and "what" in settings and not is_the_program(settings):
        if HERE in sys.path:
            sys.path.remove(HERE)
        return None  # a wrapper of the program, written in Python: what it starts finds the rest
    os.environ.pop(SETTINGS, None)
    inherited = os.environ.get("PYTHONPATH", "")
    if follows:
        pass
    elif inherited == HERE:
        del os.environ["PYTHONPATH"]
    elif inherited.startswith(HERE + os.pathsep):
        os.environ["PYTHONPATH"] = inherited[len(HERE) + 1 :]
    if HERE in sys.path:
        sys.path.remove(HERE)
    sys.path_importer_cache.pop(HERE, None)
    if settings is None:
        return None
    if settings["empty_pythonpath"] and not follows:
        os.environ["PYTHONPATH"] = ""
    if "what" in settings:
        return settings
    if "pid" in settings:  # the process has run another program before
        return settings if settings["pid"] == os.getpid() else None
    return settings if settings["launcher"] == grandparent() else None


def is_the_program(settings: dict[str, Any]) -> bool:
    """Whether this process is what a wrapper was to start: its command line says so."""
    with open("/proc/self/cmdline", "rb") as file:
        words = file.read().decode("utf-8", "surrogateescape").split("\0")[:-1]
    command = load_beside("../../shared/python_command")
    return bool(command.runs(words, settings["flags"], settings["what"]))


def grandparent() -> int:
    """The parent of our parent, which for the program is the launcher: field 4 of /proc/PID/stat, proc(5)."""
    try:
        with open("/proc/%d/stat" % os.getppid(), "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except OSError:  # the parent has ended
        return 0


def import_the_users_own() -> BaseException | None:
    """Imports the user's sitecustomize, which this one hides; returns what it raised, for `site` to handle."""
    del sys.modules["sitecustomize"]
    try:
        __import__("sitecustomize")
    except BaseException as error:
        return error
    return None


def take_low_descriptors() -> list[int]:
    """All low descriptors that are free, to be closed again: what a library opens now and keeps, gets a high one.

    The libffi of Debian sid does so when pydevd imports ctypes. None are taken where the limit of open files is too
    low. The program does not run yet.
    """
    import fcntl

    taken: list[int] = []
    try:
        taken.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        while taken[-1] < HIGH_DESCRIPTOR + FREE_DESCRIPTORS:
            taken.append(fcntl.fcntl(taken[0], fcntl.F_DUPFD_CLOEXEC, 0))
    except OSError:
        for descriptor in taken:
            os.close(descriptor)
        return []
    while taken[-1] >= HIGH_DESCRIPTOR:
        os.close(taken.pop())
    return taken


def import_pydevd(package: str, pycache: str | None) -> Any:
    """Imports pydevd out of the debugpy package in the folder `package`, past sys.path.

    `pycache` is a folder for bytecode, used when the package has none for this version of Python.
    """
    from importlib import util

    init = os.path.join(package, "__init__.py")
    before = {name: os.environ.get(name) for name in (*PYDEVD_ENVIRONMENT, *SET_BY_DEBUGPY, OF_GEVENT)}
    os.environ.pop(OF_GEVENT, None)
    prefix: Any = sys.pycache_prefix
    write_none = sys.dont_write_bytecode
    for name, value in PYDEVD_ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    if pycache is not None and not os.path.exists(util.cache_from_source(init)):
        sys.pycache_prefix = pycache
        sys.dont_write_bytecode = False
    api = load_beside("dualdbg_api")
    keep_log_private()
    left_out = imports.leave_out() if imports is not None else {}
    try:
        earlier = api.set_aside()
        spec: Any = util.spec_from_file_location("debugpy", init, submodule_search_locations=[package])
        debugpy = sys.modules["debugpy"] = util.module_from_spec(spec)
        if imports is not None:
            imports.furnish(debugpy, package)
        spec.loader.exec_module(debugpy)
        threads = load_beside("dualdbg_threads")
        with threads.Unnumbered():
            __import__("debugpy._vendored.force_pydevd")
            pydevd: Any = __import__("pydevd")
        pydevd.dualdbg_signals = load_beside("pydevd_patches/dualdbg_signals")
        threads.keep_those_of_pydevd_apart(pydevd.dualdbg_signals)
        api.install(debugpy, pydevd, earlier, load_beside, follow_place() is not None)
    finally:
        if imports is not None:
            imports.take_out(left_out)
        sys.pycache_prefix = prefix
        sys.dont_write_bytecode = write_none
        for name, previous in before.items():
            if previous is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = previous
    return pydevd


def keep_log_private() -> None:
    """Where pydevd is to write a log of this process, only the user may read it: it holds values and secrets."""
    folder = os.environ.get(LOG_DIR)
    if not folder:
        return
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        path = os.path.join(folder, "debugpy.pydevd.%d.log" % os.getpid())
        log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(log, 0o600)
        finally:
            os.close(log)
    except OSError:
        pass  # pydevd cannot write there either, and says so


def patience() -> float:
    try:
        return min(max(1.0, float(os.environ.get(PATIENCE) or 1)), 1000.0)
    except ValueError:
        return 1.0


class SessionEnded(Exception):
    """Nobody listens for the program any more."""


def real_socket() -> Any:
    """The module ``socket``; pydevd's where gevent or eventlet has replaced the program's (in a child by a fork)."""
    import socket

    return getattr(sys.modules.get("_pydev_bundle._pydev_saved_modules"), "socket", socket)


def call(address: Any) -> Any:
    """A connected socket: ``address`` is the path of a Unix socket, or a host and a port."""
    socket = real_socket()
    if not isinstance(address, str):
        return socket.create_connection((address[0], address[1]), timeout=CALL_DEADLINE * patience())
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(CALL_DEADLINE * patience())
        connection.connect(address)
    except BaseException:
        connection.close()
        raise
    return connection


def open_connection(settings: dict[str, Any]) -> Any:
    """A socket to the session, on a high descriptor; the first line tells the session who calls."""
    import errno
    import fcntl
    import json

    socket: Any = real_socket()

    class Connection(socket.socket):  # type: ignore[misc]
        def close(self) -> None:
            try:
                super().close()
            except OSError as error:  # EBADF: the program has closed every descriptor that there is
                if error.errno != errno.EBADF:
                    raise

        def setsockopt(self, level: int, *rest: Any) -> None:
            if level != socket.IPPROTO_TCP or self.family != socket.AF_UNIX:  # pydevd sets TCP_NODELAY
                super().setsockopt(level, *rest)

    try:
        first = call(settings["address"])
    except (FileNotFoundError, ConnectionError):
        raise SessionEnded("the session that started it has ended") from None
    try:
        descriptor = fcntl.fcntl(first.fileno(), fcntl.F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR)
        first.close()
    except OSError:  # the limit of open files is lower than that
        descriptor = first.detach()
    connection = Connection(fileno=descriptor)
    connection.settimeout(None)
    # Else a small message may wait for 40 ms.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    hello = {"token": settings["target_token"], "pid": os.getpid()}
    connection.sendall(json.dumps(hello).encode() + b"\n")
    return connection


def tell_failure(settings: dict[str, Any], why: str) -> None:
    """Tells the session why no debugger will connect. By no import: a frozen program (PyInstaller) may have no json."""
    said = (
        why[-LONGEST_FAILURE:]
        .encode("ascii", "replace")
        .decode()
        .translate({34: "'", 92: "/", 10: "\\n", 9: " "})
    )
    try:
        connection = call(settings["address"])
    except OSError:
        return  # the session is gone as well
    with connection:
        line = '{"token": "%s", "failed": "%s"}\n' % (settings["target_token"], said)
        connection.sendall(line.encode())


def load_beside(name: str) -> Any:
    """Another file of this folder as a module that the program does not see."""
    from importlib import util

    spec: Any = util.spec_from_file_location(name, os.path.join(HERE, name + ".py"))
    module: Any = util.module_from_spec(spec)
    if imports is not None:
        module.__builtins__ = imports.builtins_of_ours()
    spec.loader.exec_module(module)
    loaded_beside.append(module)
    return module


loaded_beside: list[Any] = []


def standard_library() -> Any:
    """While it is entered, this thread imports of the standard library what is there (dualdbg_imports.py)."""
    return load_beside("dualdbg_imports").StandardLibrary()


def changes() -> Any:
    """What is changed in pydevd (dualdbg_pydevd.py)."""
    global _changes
    if _changes is None:
        _changes = load_beside("dualdbg_pydevd")
    return _changes


def quick_debugger(pydevd: Any) -> type:
    """pydevd's debugger class for a program that dualdbg runs."""
    debugger: type = load_beside("dualdbg_loaded").telling(pydevd, changes().quick(pydevd, FAILED))
    return debugger


_changes: Any = None  # loaded while this file's folder can be read: the program may become another user
imports: Any = None  # of a program that has not begun (dualdbg_imports.py)


def keep_imports_apart() -> None:
    """From now on, until the program begins, what is imported is for us."""
    global imports
    names: dict[str, Any] = {"__name__": "dualdbg_imports"}
    # What the interpreter imports files with is there already: nothing has to be imported for it.
    machinery: Any = sys.modules["_frozen_importlib_external"]
    loader = machinery.SourceFileLoader("dualdbg_imports", os.path.join(HERE, "dualdbg_imports.py"))
    exec(loader.get_code("dualdbg_imports"), names)
    imports = names["Imports"](HERE)
    imports.begin()


def load_probe(pydevd: Any) -> None:
    """Puts the probe of the steps (dualdbg_probe.py) where the session finds it and the program does not meet it."""
    earlier = getattr(pydevd, "dualdbg_probe", None)  # of the parent before a fork, or of a session that left
    pydevd.dualdbg_probe = load_beside("dualdbg_probe")
    pydevd.dualdbg_probe.listen(earlier)
    load_beside("dualdbg_presentation").install(pydevd, pydevd.dualdbg_probe.beside)
    ours = [os.path.dirname(str(pydevd.__file__)), os.path.dirname(os.path.dirname(HERE))]
    load_beside("dualdbg_compiler").install([os.path.join(folder, "") for folder in ours])


def settrace(pydevd: Any, settings: dict[str, Any]) -> None:
    """Connects a debugger to the session and waits until the session says `configurationDone`."""
    pydevd.start_client = lambda host, port: open_connection(settings)
    pydevd.settrace(
        host="dualdbg",  # start_client knows better
        port=0,
        suspend=False,
        patch_multiprocessing=False,  # children are followed by ourselves, dualdbg_follow.py
        dont_trace_start_patterns=(settings["debugpy"], HERE),
        access_token=settings["session_token"],
        client_access_token=settings["target_token"],
        notify_stdin=False,
    )


def connect(settings: dict[str, Any], debugger: Any = quick_debugger) -> None:
    """Makes pydevd the program's debugger, which waits until the session says `configurationDone`.

    ``debugger`` makes its class of pydevd's module.
    """
    if sys.implementation.name != "cpython":
        raise RuntimeError("it is %s, not CPython" % sys.implementation.name)
    import gc

    collects = gc.isenabled()
    gc.disable()  # two hundred modules are made, and none goes
    taken = take_low_descriptors()
    try:
        pydevd = import_pydevd(settings["debugpy"], settings["pycache"])
        changes().undo_side_effects(pydevd)
        load_probe(pydevd)
    finally:
        for descriptor in taken:
            os.close(descriptor)
        gc.freeze()  # the program's collections need not look at all that
        thaw_at_the_end()
        if collects:
            gc.enable()
    pydevd.PyDB = debugger(pydevd)
    pydevd.PyDB.program_goes_on = settings.get("host", False)
    pydevd.PyDB.waits_at_exit = True
    if sys.version_info < (3, 12):
        load_beside("pydevd_patches/dualdbg_settrace").install()
        changes().trace_without_helper_threads()
        load_beside("pydevd_patches/dualdbg_native_threads").install(pydevd)
    settrace(pydevd, settings)
    if imports is not None:
        patched = load_beside("dualdbg_patched")
        watch = patched.Watch(pydevd, imports, loaded_beside)
        imports.watched.update(dict.fromkeys((*patched.PATCHING, patched.GREENLETS), watch))
    if sys.version_info < (3, 12):
        changes().trace_from_the_programs_first_frame(pydevd, settings.get("host", False))
        changes().tell_of_another_tracer(pydevd)
    else:
        changes().keep_fork_quiet(pydevd)
    if follow_place() is None:
        os.register_at_fork(after_in_child=changes().leave_forked_child)


def thaw_at_the_end() -> None:
    """What is frozen now is not, where the interpreter ends. Objects of the program's main module hang on it.

    Their finalizers would not run, and what a file that is still open has not written would be lost.
    """
    import atexit
    import gc

    ours = gc.get_freeze_count()

    def thaw() -> None:
        # More of them are the program's, which end as they do without us.
        if gc.get_freeze_count() <= ours:
            gc.unfreeze()

    atexit.register(thaw)


def worded(error: BaseException) -> str:
    """What an error says, without the number of a system call's error."""
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)


def why_not_run(error: BaseException) -> str:
    """Why there is no debugger; and in a line below it what to type, where that is known. The process ends then."""
    if isinstance(error, SessionEnded):
        return str(error)
    try:
        os.close(0)  # it may be that too many files are open, and one is to be read
    except OSError:
        pass
    try:
        short = load_beside("../../shared/shortages").of(error)
    except (OSError, MemoryError):
        short = None
    return "%s\n  %s" % short if short is not None else "%s: %s" % (type(error).__name__, worded(error))


def start() -> None:
    """Run the bootstrap: read the settings, connect, and wait until the session lets the program begin."""
    ours = sys.modules[__name__]
    if SETTINGS in os.environ or FOLLOW in os.environ:
        keep_imports_apart()
    where = follow_place()
    settings = take_settings(where is not None)
    if imports is not None:
        imports.hide()
    failure = import_the_users_own()
    if imports is not None:
        imports.show_as_the_programs()
    try:
        if where is not None or (settings is not None and settings.get("joins")):
            load_beside("dualdbg_follow").begin(where, settings, ours)
        elif settings is not None:
            connect(settings)
    except BaseException as error:
        if settings is not None and settings.get("host"):  # it runs on natively; the session says why
            tell_failure(settings, "%s: %s" % (type(error).__name__, worded(error)))
        elif settings is not None:  # `site` would swallow it and run the program without a debugger
            message = "dualdbg: the program is not run: %s\n" % why_not_run(error)
            os.write(2, message.encode("utf-8", "replace"))
            os._exit(FAILED)
        # A descendant runs on without a debugger; the session sees that its call has ended, and says so.
    finally:
        if imports is not None:
            imports.program_begins()
    if failure is not None:
        raise failure


if __name__ == "sitecustomize":  # dualdbg_attach.py takes functions from here under another name
    start()
