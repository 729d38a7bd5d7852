"""Thread-local variables without libthread_db, by each way of access, held against what the program says."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.gdb_scripts.gdb_run import HERE, run_gdb
from tests.support import require

SOURCE = """
#define VARIABLE(name, model) \\
    static __thread long padding_##name[3]; \\
    static __thread long name __attribute__((tls_model(model))) = 1; \\
    long *at_##name(void) { padding_##name[0]++; return &name; }
VARIABLE(general, "global-dynamic")
VARIABLE(local, "local-dynamic")
#ifdef INITIAL
VARIABLE(initial, "initial-exec")
#else  /* too large for what glibc keeps beside the threads' pointers, and gives to descriptors */
static __thread char large[1 << 16];
char *at_large(void) { return large; }
#endif
"""

# Three threads: one that was there before the library, and never looks; one that was, and looks; and one from after it.
PROGRAM = """
import ctypes, sys, threading
from publishing import publish, stop

library, names = sys.argv[1], sys.argv[2:]
seen, loaded, done = {}, threading.Event(), threading.Event()
def look():
    loaded.wait()
    for name in names:
        at = getattr(ctypes.CDLL(library), "at_" + name)
        at.restype = ctypes.c_void_p
        seen.setdefault(threading.get_native_id(), {})[name] = at()
def wait(): done.wait()
def look_and_wait(all_seen):
    look(); all_seen.set(); wait()
def start(target, *arguments): threading.Thread(target=target, args=arguments, daemon=True).start()

start(wait)
events = [threading.Event(), threading.Event()]
start(look_and_wait, events[0])
ctypes.CDLL(library)
loaded.set()
start(look_and_wait, events[1])
for event in events: event.wait()
look()
publish(seen)
stop()
"""

FOUND = """
import json
import gdb
from dualdbg_helpers import context, thread_local

found = {}
for thread in gdb.selected_inferior().threads():
    thread.switch()
    target, frame = context.current(), gdb.newest_frame()
    found[thread.ptid[1]] = {n: thread_local.address_of(target, frame, n, LIBRARY) for n in NAMES}
print(json.dumps(found))
"""


# The first is what GCC takes unless it is told otherwise.
_DIALECTS = {"x86_64": ("gnu", "gnu2"), "aarch64": ("desc", "trad")}


@pytest.mark.every_row
@pytest.mark.parametrize("dialect", [0, 1])
@pytest.mark.parametrize("names", [("general", "local"), ("general", "local", "initial")], ids="-".join)
def test_each_model_in_each_thread(tmp_path: Path, names: tuple[str, ...], dialect: int) -> None:
    """With a variable of initial-exec the whole block is at a fixed place beside the thread's pointer."""
    library = tmp_path / "libthreadlocal.so"
    _build(library, dialect, *(["-DINITIAL"] if "initial" in names else []))
    told, found = _told_and_found(tmp_path, PROGRAM, "libthreadlocal", names, [library, *names])
    assert len(told) == 3 and len(found) == 4
    assert {thread: found[thread] for thread in told} == told
    (other,) = [values for thread, values in found.items() if thread not in told]
    if "initial" in names:
        (one, *_) = told.values()
        assert len({other[name] - one[name] for name in names}) == 1 and other not in told.values()
    else:  # this thread has no block yet
        assert set(other.values()) == {None}


# A thread has looked at a library that is closed since. Another file, or the same one, has got its number.
AGAIN = """
import _ctypes, ctypes, sys, threading
from publishing import publish, stop

first, second = sys.argv[1:]
seen, done, go_on = {}, threading.Event(), threading.Event()
def look(library):
    library.at_general.restype = ctypes.c_void_p
    return library.at_general()
def old(library, has_looked):
    look(library)
    has_looked.set()
    done.wait()
def both(old_library, has_looked):
    look(old_library)
    has_looked.set()
    go_on.wait()
    seen[threading.get_native_id()] = {"general": look(ctypes.CDLL(second))}
    both_have_looked.set()
    done.wait()
both_have_looked = threading.Event()
library, handle = ctypes.CDLL(first), None
for target in (old, both):
    event = threading.Event()
    threading.Thread(target=target, args=(library, event), daemon=True).start()
    event.wait()
_ctypes.dlclose(library._handle)
assert first not in open("/proc/self/maps").read()
library = ctypes.CDLL(second)
go_on.set()
both_have_looked.wait()
seen[threading.get_native_id()] = {"general": look(library)}
publish(seen)
stop()
"""


@pytest.mark.parametrize("dialect", [0, 1])
def test_a_number_that_another_library_has_had(tmp_path: Path, dialect: int) -> None:
    """A thread that has looked at the other library alone has the block of that one under the number."""
    libraries = tmp_path / "libclosed.so", tmp_path / "libopened.so"
    for library in libraries:
        _build(library, dialect)
    told, found = _told_and_found(tmp_path, AGAIN, "libopened", ("general",), libraries)
    assert len(told) == 2 and len(found) == 3
    assert {thread: found[thread] for thread in told} == told
    assert [found[thread]["general"] for thread in found if thread not in told] == [None]


def _build(library: Path, dialect: int, *flags: str) -> None:
    gcc = require(shutil.which("gcc"), "gcc")
    source = library.with_suffix(".c")
    source.write_text(SOURCE)
    flags = (*flags, f"-mtls-dialect={_DIALECTS[platform.machine()][dialect]}")
    subprocess.run([gcc, "-shared", "-fPIC", "-O1", *flags, "-o", library, source], check=True)


def _told_and_found(
    folder: Path, text: str, library: str, names: tuple[str, ...], words: Sequence[str | Path]
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, Any]]]:
    """By thread: where the variables are, as the program says, and as the helpers do."""
    program, script = folder / "program.py", folder / "found.py"
    program.write_text(f"import sys\nsys.path.insert(0, {str(HERE / 'targets')!r})\n{text}")
    script.write_text(f"NAMES, LIBRARY = {names!r}, {library!r}\n{FOUND}")
    outcome = run_gdb([sys.executable, program, *words], [f"source {script}"], folder)
    return outcome.published["more"], json.loads(outcome.output(0).splitlines()[-1])
