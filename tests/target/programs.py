"""Programs whose behaviour must be the same with and without the debugger, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dualdbg.model import Exit

# Prints what a program can see of its surroundings. Addresses and thread identities differ from run to run.
SURROUNDINGS = """
import __main__, builtins, gc, locale, os, re, signal, sys, threading, warnings
def show(*things):
    text = " ".join(map(str, things))
    print(re.sub(r"0x[0-9a-f]+|started \\d+", "…", text))
show("argv", sys.argv, getattr(sys, "orig_argv", None))
show("path", sys.path)
show("flags", sys.flags, sys.warnoptions, sys._xoptions)
for name, value in sorted(vars(__main__).items()):
    show("main", name, value if isinstance(value, (str, type(None))) else type(value))
show("env", sorted(os.environ.items()), sorted(os.environb.items()))
show("cmdline", open("/proc/self/cmdline", "rb").read())
show("cwd", os.getcwd(), oct(os.umask(0)))
show("signals", [(int(number), signal.getsignal(number)) for number in sorted(signal.valid_signals())])
show("mask", signal.pthread_sigmask(signal.SIG_BLOCK, []))
show("warnings", warnings.filters)
show("threads", threading.enumerate(), threading.active_count(), threading.current_thread().name)
show("import", sys.meta_path, sys.path_hooks, builtins.__import__, sys.pycache_prefix, sys.dont_write_bytecode)
show("hooks", sys.excepthook, sys.displayhook, threading.excepthook, sys.unraisablehook, sys.getprofile())
show("streams", sys.stdin, sys.stdout, sys.stderr, sys.stdout.line_buffering, locale.setlocale(locale.LC_ALL))
show("limits", sys.getrecursionlimit(), sys.getswitchinterval(), gc.get_threshold(), gc.isenabled())
show("files", sorted(int(name) for name in os.listdir("/proc/self/fd") if int(name) < 200))
show("site", [name for name in ("site", "sitecustomize", "usercustomize") if name in sys.modules])
show("builtins", sorted(vars(builtins)))
"""

MULTIPROCESSING = """
import multiprocessing, os, pickle, sys
class Thing:
    def __init__(self, number):
        self.number = number
def work(thing):
    ours = os.environ.get("PYTHONPATH"), os.environ.get("DUALDBG_TARGET")
    return type(thing).__module__, thing.number, ours, sys.argv
if __name__ == "__main__":
    print(pickle.loads(pickle.dumps(Thing(3))).number)
    for method in ("spawn", "forkserver", "fork"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(method, pool.map(work, [Thing(1), Thing(2)]))
"""

SUBPROCESS = """
import subprocess, sys
look = "print(sys.path, sorted(os.environ), sys.gettrace(), os.listdir('/proc/self/fd'), len(sys.modules) < 150)"
print(subprocess.run([sys.executable, "-c", "import os, sys; " + look], stdout=subprocess.PIPE).stdout)
"""

FORK = """
import os, sys
pid = os.fork()
if pid == 0:
    print("child", sys.gettrace(), flush=True)
    sys.exit(7)
print(os.waitpid(pid, 0)[1])
"""

# A module that the debugger has too is imported when the import machinery is taken apart.
IMPORT_AT_THE_END = """
import builtins, traceback
class Keeps:
    def __del__(self):
        try:
            import queue
        except ImportError:
            traceback.print_exc()
builtins.keeps = Keeps()
"""

FORK_WITH_THREADS = """
import os, threading, warnings
end = threading.Event()
threading.Thread(target=end.wait).start()
with warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    pid = os.fork()
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
end.set()
print(len(warned))
"""

EXEC = """
import os, sys
print("first", flush=True)
os.execv(sys.executable, [sys.executable, "-c", "import sys; print(sys.gettrace(), len(sys.modules) < 150)"])
"""

DAEMON = """
import os
r, w = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.closerange(0, 3)
    os.write(w, b"from the daemon")
    os._exit(0)
os.close(w)
print(os.read(r, 100))
os.wait()
"""

# What is imported, and what each import brings along; the debugger's own modules, and warnings, stay in sys.modules.
MODULES = """
import sys
OWN = ("debugpy", "pydevd", "_pydev", "pydev_", "pydevconsole", "cython_runtime", "_cython_",
    "warnings", "_py_warnings", "_contextvars")
def known():
    return {name for name in sys.modules if not name.startswith(OWN)}
seen = known()
print("at first", sorted(seen))
for name in NAMES.split():
    try:
        module = __import__(name)
        if getattr(module, "__spec__", None) is not None and sys.modules[name] is not module:
            print(name, "is a part of", module.__name__)
        print(name, getattr(sys.modules[name], "__file__", None))
    except Exception as error:
        print(name, type(error).__name__, error)
    print(name, sorted(known() - seen))
    seen = known()
if "threading" in sys.modules and hasattr(sys.modules["threading"], "main_thread"):
    print(sys.modules["threading"].main_thread() is sys.modules["threading"].current_thread())
"""
NAMES = (
    "json random queue logging threading socket typing re pathlib decimal datetime ctypes xml.parsers.expat subprocess "
    "inspect dataclasses traceback asyncio multiprocessing concurrent.futures http.client http.server email ssl uuid "
    "tempfile pickle xmlrpc.client importlib.util importlib.resources statistics fractions platform code pdb "
    "__future__ nt"
)
SHADOWED = ("random", "queue", "logging", "nt")
SHADOWS = {f"{name}.py": "print('the file beside the script:', __name__)\n" for name in SHADOWED}

THREAD_NAMES = """
import _thread, threading
print(threading.Thread().name, threading.Thread(target=print).name)
done = _thread.allocate_lock()
def work():
    print(threading.current_thread().name)
    done.release()
with done:
    _thread.start_new_thread(work, ())
    done.acquire()
for _ in range(2):
    one = threading.Thread(target=lambda: print(threading.current_thread().name))
    one.start()
    one.join()
"""

# Nobody closes the file, nor lets the object go: the end of the interpreter does.
LEFT_TO_THE_END = """
class Left:
    def __del__(self):
        print("gone", __name__)
left = Left()
written = open("written", "w")
written.write("all of it")
print("ends")
"""

USERS_OWN = {"site/sitecustomize.py": "import sys; print('own', 'sitecustomize' in sys.modules, sys.path[0])"}


@dataclass(frozen=True)
class Program:
    """``files`` are written to the working directory; ``script`` (main.py), ``module`` or ``code`` is run."""

    main: str | None = None
    script: str | None = "main.py"
    module: str | None = None
    code: str | None = None
    args: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    since: tuple[int, int] = (3, 8)
    leaves: tuple[str, ...] = ()  # files that it has written when it ends


def script(main: str, **options: object) -> Program:
    return Program(main, **options)  # type: ignore[arg-type]


def module(name: str, files: Mapping[str, str], **options: object) -> Program:
    return Program(script=None, module=name, files=files, **options)  # type: ignore[arg-type]


def code(text: str, **options: object) -> Program:
    return Program(script=None, code=text, **options)  # type: ignore[arg-type]


PROGRAMS: dict[str, Program] = {
    "surroundings": script(SURROUNDINGS, args=("a b", "", "é", "--break", "-c")),
    "surroundings-pythonpath": script(SURROUNDINGS, env={"PYTHONPATH": "/nowhere:relative"}),
    "surroundings-empty-pythonpath": script(SURROUNDINGS, env={"PYTHONPATH": ""}),
    "surroundings-display": script(SURROUNDINGS, env={"DISPLAY": ":0", "PYTHONBREAKPOINT": "0"}),
    "surroundings-module": module(
        "package", {"package/__init__.py": "", "package/__main__.py": SURROUNDINGS}
    ),
    "surroundings-code": code(SURROUNDINGS, args=("x",)),
    "surroundings-flags": script(
        SURROUNDINGS, flags=("-O", "-s", "-u", "-X", "utf8", "-W", "ignore::UserWarning")
    ),
    "surroundings-safe-path": script(SURROUNDINGS, flags=("-P",), since=(3, 11)),
    "surroundings-folder": Program(script="app", files={"app/__main__.py": SURROUNDINGS}),
    "surroundings-odd-name": Program(script="ein schönes.py", files={"ein schönes.py": SURROUNDINGS}),
    "traceback": script(
        "def f(x):\n    return 1 / x\ntry:\n    f(0)\nexcept ZeroDivisionError as e:\n    raise KeyError('k') from e"
    ),
    "traceback-in-module": module("m", {"m.py": "def f():\n    raise ValueError('é')\nf()"}),
    "traceback-in-code": code("def f():\n  raise ValueError\nf()"),
    "traceback-in-thread": script(
        "import threading\nt = threading.Thread(target=lambda: 1 / 0, name='t')\nt.start()\nt.join()"
    ),
    "traceback-import": script("import missing_module", env={"DISPLAY": ":0"}),
    # Before 3.12 pydevd traces by sys.settrace: its own calls hit the limit of recursion first.
    "traceback-recursion": script("def f():\n    f()\nf()", since=(3, 12)),
    "traceback-dev-mode": script(
        "open('main.py')\nimport gc; gc.collect()\nraise OSError(2, 'x')", flags=("-X", "dev")
    ),
    "syntax-error": script("print('never')\nif True print(1)"),
    "indentation-error": script("def f():\nreturn 1"),
    "bad-encoding": script("# -*- coding: nonsense -*-\n"),
    "syntax-error-in-code": code("x ="),
    "no-such-script": Program(script="missing.py"),
    "no-such-module": module("missing.module", {}),
    "exit-number": script("import sys; sys.exit(3)"),
    "exit-text": script("import sys; sys.exit('good bye')"),
    "exit-none": script("import sys; sys.exit()"),
    "exit-object": script("raise SystemExit([1])"),
    "exit-at-once": script("import os; print('x', flush=True); os._exit(5)"),
    "exit-in-thread": script("import threading, sys; threading.Thread(target=sys.exit, args=(4,)).start()"),
    "keyboard-interrupt": script("raise KeyboardInterrupt"),
    "sigint": script("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)"),
    "sigterm": script("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)"),
    "sigkill": script("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
    "abort": script("import os; os.abort()"),
    "sigpipe": script(
        "import os, signal\nsignal.signal(signal.SIGPIPE, signal.SIG_DFL)\nr, w = os.pipe()\nos.close(r)\n"
        "os.write(w, b'x')"
    ),
    "atexit": script(
        "import atexit, threading, time\natexit.register(print, 'first')\natexit.register(print, 'last')\n"
        "def late():\n    threading.main_thread().join()\n    print('late')\nthreading.Thread(target=late).start()\n"
        "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nprint('main ends')"
    ),
    "stdin": script(
        "import sys\nprint(repr(input('? ')))\nprint(sys.stdin.readlines(), repr(sys.stdin.read()))",
        stdin=b"one\ntwo\nthree",
    ),
    "stdin-binary": script(
        "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read()[::-1])", stdin=b"ab\ncd\n"
    ),
    "interactive": code("x = 3", flags=("-i", "-q"), stdin=b"print(x + 1)\nraise SystemExit(9)\n"),
    "long-line": script("import sys\nsys.stdout.write('x' * 3000000)"),
    "gdb-look-alike": script("print('^done,fake=\"1\"')\nprint('Content-Length: 5')"),
    "multiprocessing": script(MULTIPROCESSING),
    "subprocess": script(SUBPROCESS),
    "system": script("import os\nos.system('echo $PYTHONPATH / $DUALDBG_TARGET; ls /proc/self/fd')"),
    "fork": script(FORK, flags=("-W", "error")),
    "import-at-the-end": script(IMPORT_AT_THE_END),
    "fork-with-threads": script(FORK_WITH_THREADS),
    "preexec": script(
        "import subprocess\nprint(subprocess.call(['true'], preexec_fn=lambda: None))", flags=("-W", "error")
    ),
    "exec": script(EXEC),
    "daemon": script(DAEMON),
    "closes-everything": script(
        "import os\nos.closerange(3, 65536)\nprint(open('/dev/null').fileno())\ndef f(): return 1\nprint(f())"
    ),
    "closes-output": script("import os, sys\nsys.stdout.close()\nos.close(2)"),
    "own-sitecustomize": script("print('main')", files=USERS_OWN, env={"PYTHONPATH": "site"}),
    "failing-sitecustomize": script(
        "print('main')", files={"site/sitecustomize.py": "1 / 0"}, env={"PYTHONPATH": "site"}
    ),
    "modules": script(f"NAMES = {NAMES!r}\n{MODULES}"),
    "modules-shadowed": script(f"NAMES = {NAMES!r}\n{MODULES}", files=SHADOWS),
    **{
        f"modules-shadowed-{name}": script(
            f"NAMES = {NAMES!r}\n{MODULES}", files={f"{name}.py": f"print({name!r}, 'beside the script')\n"}
        )
        for name in SHADOWED
    },
    "modules-shadowed-elsewhere": script(
        f"NAMES = {NAMES!r}\n{MODULES}",
        files={f"lib/{name}": text for name, text in SHADOWS.items()},
        env={"PYTHONPATH": "lib"},
    ),
    "thread-names": script(THREAD_NAMES),
    "left-to-the-end": script(LEFT_TO_THE_END, leaves=("written",)),
    "no-breakpoints": script("breakpoint()\nprint('after')", env={"PYTHONBREAKPOINT": "0"}),
    "breakpoint-elsewhere": script(
        "def hook(*a): print('hook', a)\nimport builtins\nbuiltins.hook = hook\nbreakpoint(1)",
        env={"PYTHONBREAKPOINT": "builtins.hook"},
    ),
    "ascii-locale": script(
        "import sys\nprint(sys.stdout.encoding, sys.getfilesystemencoding())\nprint('é')",
        env={"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
    ),
}

# Prints three children, of which two have lost their parent; a line of input ends them, and it tells which it reaped.
ORPHANS = """
import os, time
def start(how, orphaned):
    gate, opened = os.pipe()
    told, tell = os.pipe()
    helper = os.fork() if orphaned else 0
    if helper == 0:
        child = os.fork()
        if child == 0:
            os.close(opened)
            os.read(gate, 1)
            exec(how)
        if orphaned:
            os.write(tell, b"%d" % child)
            os._exit(0)
        return child, opened
    os.waitpid(helper, 0)
    return int(os.read(told, 20)), opened
children = [start("os._exit(7)", True), start("os.kill(os.getpid(), 40)", True), start("os._exit(5)", False)]
print(*(child for child, _ in children), flush=True)
input()
for _, opened in children:
    os.close(opened)
print(os.wait()[0], flush=True)
time.sleep(1000)
"""
ORPHANS_END = [Exit(code=7), Exit(signal=40), Exit()]  # the program itself has the status of the last one
