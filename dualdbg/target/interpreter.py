"""Finds the target's Python interpreter and its facts: version, folders, libraries."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import select
import shutil
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dualdbg.errors import TargetError, UsageError
from dualdbg.shared.python_command import without_site
from dualdbg.shared.python_versions import OLDEST, RANGE
from dualdbg.system.environment import for_questions
from dualdbg.system.folders import expanded, here
from dualdbg.system.in_thread import started
from dualdbg.system.patience import patient
from dualdbg.system.shortage import shortage

SECONDS_TO_ANSWER = patient(10.0)  # a cold interpreter on a network file system takes its time
_KNOWN = f"dualdbg debugs {RANGE}."
LONGEST_ANSWER = 200_000  # bytes; a program that prints more is not an interpreter that answers our question

# Set when an interpreter is asked: whether a wrapper hands on what dualdbg puts into the environment.
_ASKED = {"DUALDBG_TARGET": "", "PYTHONPATH": "/nonexistent/dualdbg"}

# Begins every question. The interpreter is isolated, so what the program's environment adds to its search path is
# added here, where modules are looked for and none is imported: PYTHONPATH (of the program, and what a wrapper of the
# interpreter adds) goes before everything. The user's site-packages go before those of the interpreter (site.py).
# PYTHONHOME would replace the interpreter's own modules; only its site-packages are searched.
SEARCH = """
import json, os, site, sys, sysconfig
from importlib.machinery import PathFinder

added = json.loads(sys.argv[1])
given = [folder for folder in os.environ.get("PYTHONPATH", "").split(":") if folder]
first = [folder for folder in given if folder != added["asked"]] + added["pythonpath"]
own = [folder for folder in sys.path if folder]
if added["home"]:
    version = "python%d.%d" % sys.version_info[:2]
    own.append(os.path.join(added["home"], "lib", version, "site-packages"))
if added["user_site"] and (sys.prefix == sys.base_prefix or sys.base_prefix in site.PREFIXES):
    if added["user_base"]:
        os.environ["PYTHONUSERBASE"] = added["user_base"]
        site.USER_BASE = site.USER_SITE = None
    mine = site.getusersitepackages()
    places = [at for at, folder in enumerate(own) if folder.endswith(("site-packages", "dist-packages"))]
    if os.path.isdir(mine):
        own.insert(min(places) if places else len(own), mine)
search_path = list(dict.fromkeys(first + own))
def find(name):
    try:
        spec = PathFinder.find_spec(name, search_path)
    except Exception:
        return None
    for finder in [] if spec else sys.meta_path:  # an editable installation has a finder of its own
        try:
            spec = spec or finder.find_spec(name, None)
        except Exception:
            continue
    return spec
"""

QUESTION = """
get = sysconfig.get_config_var
torch = find("torch")
# Distributions build a shared library too, and their interpreter does not use it.
mapped = [line.split(None, 5)[5].rstrip() for line in open("/proc/self/maps") if "/libpython" in line]
print("\\ndualdbg:" + json.dumps({
    "implementation": getattr(getattr(sys, "implementation", None), "name", "cpython"),
    "version": list(sys.version_info[:3]),
    "executable": sys.executable,
    "extension_suffix": get("EXT_SUFFIX") or "",
    "prefix": sys.prefix,
    "base_prefix": getattr(sys, "base_prefix", sys.prefix),
    "search_path": search_path,
    "built_in": list(sys.builtin_module_names),
    "libpython": next((path for path in mapped if not path.endswith("/libpython3.so")), None),
    "debug_build": bool(get("Py_DEBUG")),
    "free_threaded": bool(get("Py_GIL_DISABLED")),
    "torch": torch.origin.rsplit("/", 1)[0] if torch and torch.origin else None,
    "pid": os.getpid(),
    "command": open("/proc/self/cmdline", errors="surrogateescape").read().split("\\0")[:-1],
    "environment": [name for name in ("DUALDBG_TARGET", "PYTHONPATH") if name in os.environ and (
        name != "PYTHONPATH" or added["asked"] in given)],
}))
"""


@dataclass(frozen=True)
class Interpreter:
    """Facts about one interpreter, as it answered them itself.

    ``path`` is what to execute (a venv's link, not what it points to, or a wrapper); ``executable`` the program
    that runs then; ``search_path`` its sys.path without the script's folder; ``built_in`` the names of the modules
    within it; ``extension_suffix`` how the names of its extension modules end (``.cpython-311-x86_64-linux-gnu.so``);
    ``libpython`` the shared library that is loaded and holds the interpreter, or None when the executable itself
    does; ``torch`` the folder of the package, found without importing it. ``is_wrapped``: what is executed starts the
    interpreter as a process of its own. ``obstacle`` says why a program that is run so could not be debugged.
    """

    path: str
    executable: str
    version: tuple[int, int, int]
    extension_suffix: str
    prefix: str
    search_path: tuple[str, ...]
    built_in: tuple[str, ...]
    libpython: str | None
    debug_build: bool
    free_threaded: bool
    torch: str | None
    is_wrapped: bool = False
    obstacle: str | None = None

    def require_way_in(self) -> None:
        """Raises UsageError for a wrapper whose interpreter would run without the debugger."""
        if self.obstacle is not None:
            raise UsageError(self.obstacle, f"Give the interpreter itself: {self.executable}")

    @property
    def version_text(self) -> str:
        """Its version with dots, such as 3.11.7."""
        return ".".join(map(str, self.version))


def find(name: str | None = None) -> str:
    """The absolute path of the interpreter that ``name`` means: a path, or a command on PATH (``python3.12``).

    Without a name it is what the user's shell runs as ``python``. Raises UsageError when there is none.
    """
    for candidate in [name] if name else ["python", "python3"]:
        found = shutil.which(_expanded(candidate))
        if found:
            return str(here() / found)  # no link is followed: by its path Python knows its venv
    if not name:
        raise UsageError("There is no python on PATH.", "Give the interpreter with --python PATH.")
    path = expanded(name)
    if path.is_dir():
        raise UsageError(f"{name} is a folder, not an interpreter.", f"Try --python {name}/bin/python.")
    if path.exists():
        raise UsageError(f"{name} may not be executed.", f"chmod +x {name}, or give another --python PATH.")
    where = "there is no such file" if "/" in name else "there is no such command on PATH"
    raise UsageError(f"{name} is not an interpreter: {where}.", "Give a Python interpreter: --python PATH.")


def default_python(environment: Callable[[str], str | None]) -> str:
    """The interpreter of the active virtual environment; without one, the one that dualdbg is installed in.

    pipx and uv give a tool an environment of its own, where no program lives: there it is ``python`` on PATH.
    """
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        folder = environment(name)
        if folder and (python := Path(folder) / "bin" / "python").exists():
            return str(python)
    if Path(sys.prefix).parts[-2:] in (("venvs", "dualdbg"), ("tools", "dualdbg")):
        return find()
    return sys.executable


def _expanded(name: str) -> str:
    """The name with ``~`` replaced; else as typed, because ``./python`` and ``python`` mean different things."""
    return str(expanded(name)) if name.startswith("~") else name


def inspect(
    path: str,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    cache: Path | None = None,
    flags: Sequence[str] = (),
) -> Interpreter:
    """Asks the interpreter at ``path`` for its facts, or remembers them from last time.

    ``path`` may be a program that starts one, and needs ``flags`` for that, perhaps (``uv``, ``run``, ``python``).
    ``env`` and ``cwd`` are the program's. ``cache`` is the folder with remembered facts. They hold as long as the
    executable and the folders that it searches have not changed. Takes 0.3 ms, or 20 to 100 ms. Raises UsageError when
    the interpreter is not a Python that can be debugged.
    """
    environ = dict(os.environ if env is None else env)
    added = _added(environ, cwd)
    key = json.dumps([path, added, zlib.crc32((SEARCH + QUESTION).encode()), *flags])
    memory = cache / f"interpreter-{zlib.crc32(key.encode()):08x}.json" if cache else None
    facts = _remembered(memory, key)
    if facts is None:
        facts = _facts_of(path, environ, cwd, flags)
        _remember(memory, key, facts)
    return _checked(path, facts)


def _facts_of(path: str, environ: dict[str, str], cwd: str | None, flags: Sequence[str]) -> dict[str, Any]:
    try:
        facts = ask(path, QUESTION, environ, cwd, more=_ASKED)
    except UsageError:
        if not flags or flags[0].startswith("-"):
            raise
        facts = ask(path, QUESTION, environ, cwd, flags, more=_ASKED)
        facts["asked_as"] = -1  # what starts then is the wrapper, in whichever process
    facts["is_wrapped"] = facts.get("pid") != facts.pop("asked_as")
    return facts


def _added(environ: Mapping[str, str], cwd: str | None) -> dict[str, Any]:
    """What an environment adds to the search path of an interpreter, as SEARCH reads it."""
    folders = [folder for folder in environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    return {
        "pythonpath": [str(here() / (cwd or "") / folder) for folder in folders],
        "home": environ.get("PYTHONHOME", "").partition(os.pathsep)[0],
        "user_site": not environ.get("PYTHONNOUSERSITE"),
        "user_base": environ.get("PYTHONUSERBASE", ""),
        "user_home": environ.get("HOME", ""),
        "asked": _ASKED["PYTHONPATH"],
    }


def ask(
    path: str,
    question: str,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    flags: Sequence[str] = (),
    more: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The answer of an interpreter to ``question``: Python code that prints ``dualdbg:`` and an object in JSON.

    The code runs after SEARCH, isolated: with ``-I``, in the root folder (a launcher: in ``cwd``), and in an
    environment that runs nothing. No module of the program, of the working directory or of the user is imported;
    ``search_path`` and ``find`` tell where the program, with ``env`` and ``cwd``, would find them. ``flags`` stand
    before ``-I``; ``more`` is added to the environment. The answer has the process id of what was started, too:
    ``asked_as``. Raises UsageError when there is no answer.
    """
    environ = dict(os.environ if env is None else env)
    command = [path, *flags, "-I", "-c", SEARCH + question, json.dumps(_added(environ, cwd))]
    clean = for_questions(environ)
    # A launcher looks there for the project whose interpreter is meant.
    folder = str(here() / (cwd or "")) if flags else "/"
    pid, answer = _output(path, command, {**clean, **(more or {})}, folder=folder)
    found = re.findall(rb"^dualdbg:(\{.*\})$", answer, re.MULTILINE)
    if found:
        facts: dict[str, Any] = json.loads(found[-1])
        return {**facts, "asked_as": pid}
    _, said = _output(path, [path, *flags, "-V"], clean, subprocess.STDOUT, folder)
    old = re.search(rb"^Python (\d+\.\d+\.\d+)", said)
    if old is not None:  # it knows no -I (Python 3.4), or cannot start with it
        _check_version(path, tuple(map(int, old[1].split(b"."))))
    raise _no_interpreter(path)


def _output(
    path: str, command: list[str], env: dict[str, str], errors: int = subprocess.DEVNULL, folder: str = "/"
) -> tuple[int, bytes]:
    """The process id of the command, and what it prints, until it is enough or the time is over.

    Older interpreters look into the ``folder`` for modules first: another one might have a json.py.
    """
    try:
        with started(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            cwd=folder,
            env=env,
        ) as process:
            return process.pid, _read(process)
    except OSError as error:
        if (known := shortage(error)) is not None:
            raise TargetError(f"{path} cannot be started: {known.message}.", known.hint) from error
        reason = {errno.ENOEXEC: "it is not a program", errno.ENOENT: "what it needs to run is missing"}
        why = reason.get(error.errno or 0, error.strerror)
        raise UsageError(
            f"{path} cannot be started: {why}.", "Give another interpreter: --python PATH."
        ) from error


def _read(process: subprocess.Popen[bytes]) -> bytes:
    """What the process prints, until it is enough or the time is over."""
    assert process.stdout is not None
    deadline = time.monotonic() + SECONDS_TO_ANSWER
    answer = b""
    while len(answer) < LONGEST_ANSWER:
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        chunk = os.read(process.stdout.fileno(), 65536) if ready else b""
        if not chunk:
            break
        answer += chunk
    return answer


def _no_interpreter(path: str) -> UsageError:
    return UsageError(
        f"{path} is not a Python interpreter: it did not answer as one.",
        f"Try what this prints: {path} -I -c 'import sys, json, sysconfig; print(sys.version)'",
    )


def _checked(path: str, facts: dict[str, Any]) -> Interpreter:
    """Raises UsageError for what is no CPython that is known, or answers what no interpreter does."""
    try:
        return _read_facts(path, facts)
    except (KeyError, TypeError, IndexError):
        raise _no_interpreter(path) from None


def _read_facts(path: str, facts: dict[str, Any]) -> Interpreter:
    version = tuple(facts["version"])
    if facts["implementation"] != "cpython":
        raise UsageError(f"{path} is {facts['implementation']}, not CPython.", _KNOWN)
    _check_version(path, version)
    return Interpreter(
        path=path,
        executable=str(Path(facts["executable"]).resolve()),
        version=(version[0], version[1], version[2]),
        extension_suffix=facts["extension_suffix"],
        prefix=facts["prefix"],
        search_path=tuple(facts["search_path"]),
        built_in=tuple(facts["built_in"]),
        libpython=facts["libpython"],
        debug_build=facts["debug_build"],
        free_threaded=facts["free_threaded"],
        torch=facts["torch"],
        is_wrapped=bool(facts.get("is_wrapped")),
        obstacle=_obstacle(path, facts),
    )


def _obstacle(path: str, facts: dict[str, Any]) -> str | None:
    """Why the debugger does not get into a program that is run by this wrapper of an interpreter."""
    lacking = [name for name in _ASKED if name not in facts.get("environment", _ASKED)]
    if lacking:
        return (
            f"{path} starts Python without variables that it has got ({', '.join(lacking)}): "
            "by them the debugger comes into the program."
        )
    words = facts.get("command", [])
    at = next((at for at, word in enumerate(words) if word == "-c"), 1) - 1  # before our own -I
    flag = without_site(words[1:at])
    return f"{path} starts Python with {flag}, which keeps the debugger out of the program." if flag else None


def _check_version(path: str, version: tuple[int, ...]) -> None:
    if version[:2] < OLDEST:  # a version newer than the known ones is tried
        raise UsageError(f"{path} is Python {'.'.join(map(str, version))}.", _KNOWN)


def _stamps(path: str, facts: dict[str, Any]) -> dict[str, int]:
    """Modification times of what the facts depend on: the executable, and the folders where torch may be."""
    stamps = {}
    for place in [path, *facts["search_path"]]:
        try:
            stamps[place] = Path(place).stat().st_mtime_ns
        except OSError:
            stamps[place] = 0
    return stamps


def _remembered(memory: Path | None, key: str) -> dict[str, Any] | None:
    """The facts in the file ``memory``, which is that of a few ``key`` at most: the last one that was written."""
    if memory is None:
        return None
    try:
        entry = json.loads(memory.read_text())
        facts: dict[str, Any] = entry["facts"]
        known = entry["key"] == key and entry["stamps"] == _stamps(json.loads(key)[0], facts)
    except (OSError, ValueError, KeyError, TypeError):  # not there, or not written by dualdbg: ask again
        return None
    return facts if known else None


def _remember(memory: Path | None, key: str, facts: dict[str, Any]) -> None:
    if memory is None:
        return
    entry = {"key": key, "facts": facts, "stamps": _stamps(json.loads(key)[0], facts)}
    new = memory.with_suffix(f".{os.getpid()}")
    try:
        memory.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(json.dumps(entry))
        new.replace(memory)  # at once: a reader sees the old file or the new one
    except OSError:  # a read-only home, a full disk: then it is asked every time
        with contextlib.suppress(OSError):
            new.unlink()
