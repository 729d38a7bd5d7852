"""The environment of programs that dualdbg starts for itself, without variables that make them run other code."""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

# What an interpreter, or a script that wraps one, may need to start. Everything else stays out: variables that run
# code (PYTHONSTARTUP, BASH_ENV, ENV, LD_PRELOAD, functions that bash exports, ...) are too many to be listed.
_NEEDED = frozenset({
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "XDG_CACHE_HOME",
    "LD_LIBRARY_PATH", "NIX_LD", "NIX_LD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV",
})  # fmt: skip
_NEEDED_PREFIXES = ("LC_", "PYENV_", "ASDF_", "MISE_")

# Read by a shell before its script (bash(1), sh(1)): gdb may be one, where a distribution wraps it.
_OF_SHELLS = frozenset(["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4"])
_FUNCTION = "BASH_FUNC_"

# Read by the dynamic loader (ld.so(8)) and by what it loads then: the program is meant. gdb hangs with the run-time
# library of a sanitizer. LD_LIBRARY_PATH is not among them, as a tool itself may need it.
_OF_THE_PROGRAM = (
    "LD_PRELOAD",
    "LD_AUDIT",
    "LD_DEBUG",
    "LD_PROFILE",
    "LD_SHOW_AUXV",
    "LD_VERBOSE",
    "GLIBC_TUNABLES",
)
_PREFIXES_OF_THE_PROGRAM = ("MALLOC_", "ASAN_", "LSAN_", "TSAN_", "UBSAN_", "MSAN_")

# Starts a module of dualdbg in a new interpreter. -I keeps the working directory, PYTHONPATH and the user's
# site-packages out, so the folder of dualdbg is added: behind the interpreter's own folders.
_RUN = (
    "import sys, runpy; sys.path += sys.argv.pop(1).split(':'); "
    "runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"
)

# What Python sets LC_CTYPE to where it finds the C locale, for the programs that it starts (PEP 538).
_COERCED = frozenset(["C.UTF-8", "C.utf8", "UTF-8"])


def take_back_coercion() -> None:
    """Our own interpreter may have set LC_CTYPE, for itself: the program is to have what the user has. C programs and
    other interpreters would read and write another encoding than they do alone."""
    if os.environ.get("LC_CTYPE") not in _COERCED:
        return
    try:
        began = Path("/proc/self/environ").read_bytes()  # as it was at exec: setenv(3) changes a copy
    except OSError:  # without /proc it is not known what was given
        return
    given = next((one[9:] for one in began.split(b"\0") if one.startswith(b"LC_CTYPE=")), None)
    if given is None:
        del os.environ["LC_CTYPE"]
    else:
        os.environb[b"LC_CTYPE"] = given


def for_questions(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of an interpreter that is only asked for facts."""
    return {
        name: value for name, value in environ.items() if name in _NEEDED or name.startswith(_NEEDED_PREFIXES)
    }


def for_imports(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of an interpreter that imports the user's modules: without variables for Python and for shells.
    PYTHON* variables were not meant for gdb's Python, and an interpreter with -I ignores them."""
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith(("PYTHON", _FUNCTION)) and name not in _OF_SHELLS
    }


def for_tools(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of what has none of the user's code in it: gdb, and processes of our own."""
    return {
        name: value
        for name, value in for_imports(environ).items()
        if name not in _OF_THE_PROGRAM and not name.startswith(_PREFIXES_OF_THE_PROGRAM)
    }


def for_gdb(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of gdb."""
    return {**for_tools(environ), "TERM": "dumb", "LC_ALL": "C.UTF-8", "PYTHONNOUSERSITE": "1"}


def own_module(name: str, also: Sequence[str] = ()) -> list[str]:
    """The command that runs a module of dualdbg, ``dualdbg.…``; its arguments follow. ``also``: folders of packages
    that this interpreter has found and that one would not."""
    folders = [str(Path(__file__).parents[2]), *also]
    if site.ENABLE_USER_SITE:  # -I leaves it out, and dualdbg may be installed there
        folders.append(site.getusersitepackages())
    return [sys.executable, "-I", "-c", _RUN, os.pathsep.join(folders), name]
