"""Thread-local variables without libthread_db, by each model of access, held against what the program says."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

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
from dualdbg_helpers import context, frames

found = {}
for thread in gdb.selected_inferior().threads():
    thread.switch()
    target, frame = context.current(), gdb.newest_frame()
    found[thread.ptid[1]] = {n: frames.thread_local(target, frame, n, "libthreadlocal") for n in NAMES}
print(json.dumps(found))
"""


@pytest.mark.parametrize("names", [("general", "local"), ("general", "local", "initial")], ids="-".join)
def test_each_model_in_each_thread(tmp_path: Path, names: tuple[str, ...]) -> None:
    """With a variable of initial-exec the whole block is at a fixed place beside the thread's pointer."""
    gcc = require(shutil.which("gcc"), "gcc")
    (tmp_path / "variables.c").write_text(SOURCE)
    library, program, script = (tmp_path / name for name in ("libthreadlocal.so", "program.py", "found.py"))
    initial = ["-DINITIAL"] if "initial" in names else []
    flags = ["-shared", "-fPIC", "-O1", *initial]
    subprocess.run([gcc, *flags, "-o", library, tmp_path / "variables.c"], check=True)
    program.write_text(f"import sys\nsys.path.insert(0, {str(HERE / 'targets')!r})\n{PROGRAM}")
    script.write_text(f"NAMES = {names!r}\n{FOUND}")
    outcome = run_gdb([sys.executable, program, library, *names], [f"source {script}"], tmp_path)
    found = json.loads(outcome.output(0).splitlines()[-1])
    told = outcome.published["more"]
    assert len(told) == 3 and len(found) == 4
    assert {thread: found[thread] for thread in told} == told
    (other,) = [values for thread, values in found.items() if thread not in told]
    if not initial:  # this thread has no block yet
        assert set(other.values()) == {None}
