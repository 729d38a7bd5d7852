"""Greenlets share the stack of their thread: a stack is that of the one that runs, in a session and from outside."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.driver import dualdbg
from tests.support import read_ready

# One waits in the middle of its calls, and was started where the stack has other calls now; the other one runs.
PROGRAM = """\
import os, sys, time
import greenlet
def deeper(depth, call):
    return deeper(depth - 1, call) if depth else call()
def waits():
    main.switch()
def runs():
    os.getppid()
    here = 1
    print(f"ready pid={os.getpid()}", flush=True)
    sys.stdin.read()
main = greenlet.getcurrent()
waiting = greenlet.greenlet(waits)
running = greenlet.greenlet(runs)
deeper(5, waiting.switch)
deeper(2, running.switch)
"""
OUTERMOST = "g_initialstub"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    pytest.importorskip("greenlet")
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_a_stack_ends_where_the_greenlet_begins(program: Path) -> None:
    done = dualdbg(
        *("run", "--batch", "--json", "-b", "getppid", "-b", f"{program.name}:9"),
        *("-x", "bt", "-x", "continue", "-x", "bt"),
        program,
        cwd=program.parent,
    )
    native, python = done.of("stack")
    for stack in (native, python):
        functions = [frame["function"] for frame in stack["frames"] if frame["kind"] == "python"]
        assert functions == ["runs"]
        assert OUTERMOST in stack["frames"][-1]["function"]
        assert stack["quality"] == "full", stack["note"]
        assert "greenlet" in stack["origin"]


def test_from_outside(program: Path) -> None:
    with subprocess.Popen(
        [sys.executable, program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        [pid] = read_ready(process)["pid"]
        done = dualdbg("stacks", str(pid), "--json")
        process.kill()
    [thread] = json.loads(done.stdout.splitlines()[0])["threads"]
    names = [frame["function"] for frame in thread["frames"]]
    assert "runs" in names and "deeper" not in names and OUTERMOST in names[-1]


# Its threads and locks are greenlets', before the program's own modules have been imported.
PATCHED = """\
{patch}
import os, sys, threading, time
def area(width, height):
    result = width * height
    time.sleep(0.01)
    return result
{jobs}
thread = threading.Thread(target=area, args=(2, 3))
thread.start()
thread.join()
print(results, "GEVENT_SUPPORT" in os.environ, [one.name for one in threading.enumerate()], flush=True)
if sys.argv[1:]:
    print(f"ready pid={{os.getpid()}}", flush=True)
    while True:
        area(3, 3)
"""
LIBRARIES = {
    "gevent": (
        "import gevent; from gevent import monkey; monkey.patch_all()",
        "results = [one.get() for one in [gevent.spawn(area, each, each) for each in range(3)]]",
    ),
    "eventlet": (
        "import eventlet; eventlet.monkey_patch()",
        "results = list(eventlet.GreenPool().imap(area, range(3), range(3)))",
    ),
}


@pytest.fixture(params=LIBRARIES)
def patched(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    pytest.importorskip(request.param)
    patch, jobs = LIBRARIES[request.param]
    path = tmp_path / f"{request.param}_program.py"
    path.write_text(PATCHED.format(patch=patch, jobs=jobs))
    return path


def test_a_step_stays_in_its_greenlet_and_the_program_notices_nothing(patched: Path) -> None:
    alone = subprocess.run([sys.executable, "-W", "ignore", patched], capture_output=True, text=True)
    done = dualdbg(
        *("run", "--batch", "--json", "-b", f"{patched.name}:4"),
        *("-x", "bt", "-x", "delete", "-x", "next", "-x", "next", "-x", "bt", "-x", "continue"),
        *("--env", "PYTHONWARNINGS=ignore", patched),
        cwd=patched.parent,
    )
    for stack, line in zip(done.of("stack"), (4, 6), strict=True):
        assert [(frame["function"], frame["line"]) for frame in stack["frames"][:1]] == [("area", line)]
    printed = "".join(one["text"] for one in done.of("output"))
    assert alone.stdout in printed and "GEVENT_SUPPORT=" not in printed + done.stderr, (alone, done)
    assert done.of("exited")[-1]["code"] == 0 and done.status == 0, done


def test_a_run_without_a_breakpoint_is_as_under_python(patched: Path) -> None:
    alone = subprocess.run([sys.executable, "-W", "ignore", patched], capture_output=True, text=True)
    told = {"PYTHONWARNINGS": "ignore", "GEVENT_SUPPORT": "True"}  # what pydevd tells people to set
    done = dualdbg("run", "--batch", patched, env=told, cwd=patched.parent)
    assert alone.stdout.replace("False", "True") in done.stdout, done
    assert done.status == 0 and "Traceback" not in done.stdout + done.stderr, done


def test_attach_to_a_patched_program_says_why_not(patched: Path) -> None:
    with subprocess.Popen([sys.executable, patched, "on"], stdout=subprocess.PIPE, text=True) as process:
        [pid] = read_ready(process)["pid"]
        done = dualdbg(
            "attach", str(pid), "--batch", "-b", f"{patched.name}:4", "-x", "continue", cwd=patched.parent
        )
        assert process.poll() is None
        process.kill()
    assert f"{patched.name.partition('_')[0]} has replaced the program's threads" in done.stdout + done.stderr


FORKS = """\
{patch}
import os, subprocess, sys
def work(n):
    return n + 1
if len(sys.argv) == 1:
    subprocess.run([sys.executable, __file__, "child"], check=True)
    pid = os.fork()
    if pid:
        os.waitpid(pid, 0)
        sys.exit()
work(1)
"""
PATCHES = ["from gevent import monkey; monkey.patch_all()", "import eventlet; eventlet.monkey_patch()"]


@pytest.mark.parametrize("patch", PATCHES)
def test_children_of_a_patched_program_stop_at_breakpoints(patch: str, tmp_path: Path) -> None:
    """They call by a socket of their own, not by one that waits for greenlets."""
    pytest.importorskip(patch.split()[1].rstrip(";"))
    path = tmp_path / "forks.py"
    path.write_text(FORKS.format(patch=patch))
    done = dualdbg("run", "--batch", "--json", "--follow", "python", "-b", "forks.py:4", path, cwd=tmp_path)
    stops = [(event["process"], event["frame"]["line"]) for event in done.of("stopped")]
    assert stops == [(2, 4), (3, 4)], done
    assert "Traceback" not in "".join(event["text"] for event in done.of("output")) + done.stderr
