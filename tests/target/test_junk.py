"""Whatever stands in the variables by which we tell the target something: the program runs as it would without us."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from dualdbg.target.launcher import BOOTSTRAP
from tests.cli.driver import dualdbg

PROGRAM = """\
import os, sys
print(os.environ.get("DUALDBG_FOLLOW") == sys.argv[1], "pydevd" in sys.modules, flush=True)
if os.fork() == 0:
    print("child", flush=True)
    os._exit(0)
os.wait()
sys.exit(4)
"""


def _place(**other: object) -> str:
    made = {"path": "/nowhere/x", "token": "t", "user": 0, "session_pid": 1, "name_tracer": False}
    return json.dumps({**made, **other})


JUNK = (
    "junk",
    " ",
    "{",
    "{}",
    "[]",
    "null",
    "true",
    "1e999",
    "[" * 100_000,
    '"path"',
    "\udcff\udcfe",
    json.dumps({"host": "127.0.0.1", "port": 1, "token": "t", "session_pid": 1, "name_tracer": False}),
    _place(),
    _place(path="\0"),
    _place(path="x" * 200),
    _place(path=""),
    _place(path="\ud800"),
    _place(path=5),
    _place(token=None),
    _place(user="root"),
    _place(session_pid=-1, name_tracer=True),
    _place(session_pid=1 << 70, name_tracer=True),
)


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "script.py"
    path.write_text(PROGRAM)
    return path


def _short(value: str) -> str:
    return ascii(value[:30])


@pytest.mark.parametrize("value", JUNK, ids=_short)
@pytest.mark.parametrize("name", ["DUALDBG_FOLLOW", "DUALDBG_TARGET"])
def test_a_program_that_finds_the_bootstrap(script: Path, name: str, value: str) -> None:
    """As a descendant does whose session is gone."""
    env = {**os.environ, "PYTHONPATH": str(BOOTSTRAP), name: value}
    done = subprocess.run(
        [sys.executable, script, value], capture_output=True, text=True, env=env, timeout=patient(60)
    )
    assert (done.stdout, done.stderr, done.returncode) == (
        f"{name == 'DUALDBG_FOLLOW'} False\nchild\n",
        "",
        4,
    )


@pytest.mark.parametrize("follow", [(), ("--follow", "python")])
@pytest.mark.parametrize("value", ["junk", '{"path": 1}', _place()], ids=_short)
def test_a_session_of_ours(script: Path, value: str, follow: tuple[str, ...]) -> None:
    """The user's variable reaches the program, unless it is ours in this session."""
    done = dualdbg("run", "--json", *follow, "--batch", script, value, env={"DUALDBG_FOLLOW": value})
    text = "".join(event["text"] for event in done.of("output"))
    assert sorted(text.splitlines()) == sorted([f"{not follow} True", "child"]), done
    assert done.status == 4 and done.stderr == ""
