"""An interpreter that is started by a wrapper, which waits for it: the program is debugged, not the wrapper."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from dualdbg.shared.python_command import read, runs, without_site
from tests import rows
from tests.snapshot.test_command import dualdbg
from tests.support import ROOT, build_native, is_running, require, wait_until

from .client import Client, Refused, StdioAdapter
from .test_children import follow, session_of
from .test_launch import Terminals, finish, terminals

__all__ = ["terminals"]

Write = Callable[..., Path]

PROGRAM = """\
import os, subprocess, sys
sys.path.insert(0, {native!r})
import sample_capi

def work(a):
    b = a + 1
    return sample_capi.add(b, 2)

ours = [name for name in os.environ if name in ("DUALDBG_TARGET", "DUALDBG_FOLLOW")]
print(work(1), sys.argv[1:], ours, os.environ.get("PYTHONPATH"), flush=True)
sys.exit(7)
"""
WRAPPERS = {
    "a shell": '#!/bin/sh\n{python} "$@"\nstatus=$?\necho the wrapper ends with $status\nexit $status\n',
    "with an option": '#!/bin/sh\n{python} -X dev -u "$@"\nexit $?\n',
    "that is Python": "#!{python}\nimport subprocess, sys\nsys.exit(subprocess.call([{python!r}, *sys.argv[1:]]))\n",
    "in two steps": '#!/bin/sh\n/bin/sh -c \'{python} "$@"; exit $?\' x "$@"\nexit $?\n',
    "that execs": '#!/bin/sh\nexec {python} "$@"\n',
    "of a launcher": '#!/bin/sh\n[ "$1" = run ] || exit 9\nshift 2\n{python} "$@"\nexit $?\n',
}


@pytest.fixture
def path(program: Write) -> Path:
    return program(PROGRAM.format(native=str(build_native(sys.executable))))


def wrapper(program: Write, text: str) -> Path:
    path = program(
        text.replace("{python!r}", repr(sys.executable)).replace("{python}", sys.executable), "wrapper"
    )
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("kind", rows.some(WRAPPERS, 3))
def test_the_program_is_debugged_in_both_languages(
    kind: str, client: Client, program: Write, path: Path
) -> None:
    words = [str(wrapper(program, WRAPPERS[kind])), *(["run", "python"] if kind == "of a launcher" else [])]
    client.start(
        {"program": str(path), "python": words, "args": ["a b"]}, lines={path: [6]}, functions=["capi_add"]
    )
    pid = client.event("process")["systemProcessId"]
    thread = client.stopped(reason="breakpoint")["threadId"]
    assert thread == pid
    assert psutil.Process(pid).cmdline()[-2:] == [str(path), "a b"]
    assert client.stack(thread)[0]["line"] == 6
    client.go("continue", thread)
    client.stopped()
    assert client.stack(thread)[0]["name"] == "capi_add"
    client.go("continue", thread)
    assert client.event("exited")["exitCode"] == 7
    client.event("terminated")
    assert f"4.0 ['a b'] [] {ROOT}\n" in client.output  # the adapter's own PYTHONPATH
    assert ("the wrapper ends with 7" in client.output) == (kind == "a shell")


@pytest.mark.parametrize("console", rows.some(["integratedTerminal", "internalConsole"], 1))
def test_nothing_of_it_is_left(console: str, client: Client, program: Write, terminals: Terminals) -> None:
    path = program("import time\nx = 1\ntime.sleep(600)\n")
    shell = wrapper(program, '#!/bin/sh\nsleep 600 &\n{python} "$@"\nsleep 600\n')
    client.start({"program": str(path), "python": str(shell), "console": console}, lines={path: [2]})
    thread = client.stopped()["threadId"]
    tree = [psutil.Process(thread).parent(), *psutil.Process(thread).parent().children()]
    assert len(tree) == 3
    client.request("disconnect")
    wait_until(lambda: not any(is_running(one.pid) for one in tree), 30, f"{tree} are ended")


def test_children_of_the_program_are_followed(client: Client, program: Write) -> None:
    child = program("y = 2\nz = 3\n", "child.py")
    path = program(f"import subprocess, sys\nsys.exit(subprocess.call([sys.executable, {str(child)!r}]))\n")
    asked = follow(client)
    shell = wrapper(program, WRAPPERS["that is Python"])
    client.start({"program": str(path), "python": str(shell)})
    second, configuration = session_of(client, asked)
    second.start(configuration, lines={child: [2]}, command="attach")
    thread = second.stopped()["threadId"]
    second.go("continue", thread)
    assert second.event("exited")["exitCode"] == 0
    second.request("disconnect")
    assert finish(client) == 0
    assert asked == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('#!/bin/sh\nenv -i {python} "$@"\n', "without variables that it has got"),
        ('#!/bin/sh\nPYTHONPATH=/tmp {python} "$@"\n', "PYTHONPATH"),
        ('#!/bin/sh\n{python} -X dev -SB "$@"\n', "starts Python with -SB"),
        ("#!/bin/sh\necho hello\n", "is not a Python interpreter"),
    ],
)
def test_one_that_keeps_the_debugger_out_is_refused_at_once(
    text: str, why: str, client: Client, program: Write, path: Path
) -> None:
    client.initialize()
    with pytest.raises(Refused, match=why):
        client.request("launch", {"program": str(path), "python": str(wrapper(program, text))})
    assert "4.0" not in client.output


def test_one_that_does_not_start_the_program_says_so(client: Client, program: Write, path: Path) -> None:
    """It is one when it is asked, and not when it is to run the program."""
    shell = wrapper(
        program, '#!/bin/sh\ncase "$1" in -I) exec {python} "$@";; esac\n{python} -c \'x = 1\'\nexit 4\n'
    )
    again = wrapper(program, shell.read_text().replace("exec ", ""))
    client.initialize()
    with pytest.raises(Refused, match=r"ended with status 4, and started no Python for .*program\.py"):
        client.request("launch", {"program": str(path), "python": str(again)})


def test_the_same_at_the_prompt(program: Write, path: Path) -> None:
    shell = wrapper(program, WRAPPERS["a shell"])
    words = ["-b", f"{path}:6", "-x", "bt", "-x", "next", "-x", "continue", "--batch", "--python", str(shell)]
    done = dualdbg("run", *words, str(path), "one")
    assert done.returncode == 7, done.stdout + done.stderr
    assert "4.0 ['one']" in done.stdout and "the wrapper ends with 7" in done.stdout
    assert "Step: Python" in done.stdout


@pytest.mark.parametrize("module", [True, False])
def test_modules_and_code(module: bool, client: Client, program: Write) -> None:
    path = program("x = 1\ny = 2\n", "some.py")
    what = {"module": "some", "cwd": str(path.parent)} if module else {"code": "x = 1\nbreakpoint()\ny = 2"}
    shell = wrapper(program, WRAPPERS["a shell"])
    client.start({**what, "python": str(shell)}, lines={path: [2]} if module else {})
    thread = client.stopped()["threadId"]
    client.go("continue", thread)
    assert client.event("exited")["exitCode"] == 0


SETS = '#!/bin/sh\nMARK="{name};$MARK" {python} "$@"\nexit $?\n'
MARKED = "import os\nprint('marked', os.environ.get('MARK'), os.environ.get('PYTHONPATH'))\n"


@pytest.mark.parametrize("console", ["integratedTerminal", "internalConsole"])
@pytest.mark.parametrize(
    ("wrapped", "marked"),
    [
        (["python"], "program;program;"),
        (["debugLauncherPython"], "launcher;"),
        (["python", "debugLauncherPython"], "program;launcher;"),
    ],
)
def test_what_starts_the_interpreter_is_in_its_environment_too(
    wrapped: list[str],
    marked: str,
    console: str,
    client: Client,
    program: Write,
    terminals: Terminals,
) -> None:
    """As under debugpy, which starts the program by a launcher, and that one by `debugLauncherPython`."""
    path = program(MARKED)
    names = {"python": "program", "debugLauncherPython": "launcher"}
    asked: dict[str, object] = {"program": str(path), "console": console, "redirectOutput": True}
    for option in wrapped:
        shell = wrapper(program, SETS.replace("{name}", names[option]))
        asked[option] = str(shell.rename(shell.with_name(names[option])))
    client.start(asked, lines={path: [2]})
    client.go("continue", client.stopped()["threadId"])
    assert finish(client) == 0
    path_before = ROOT if console == "internalConsole" else os.environ.get("PYTHONPATH")
    assert f"marked {marked} {path_before}\n" in client.output


def test_an_ordinary_interpreter_is_no_launcher(client: Client, program: Write) -> None:
    path = program("import os\nprint(os.path.realpath(f'/proc/{os.getppid()}/exe'), flush=True)\n")
    client.start({"program": str(path), "debugLauncherPython": sys.executable})
    assert finish(client) == 0
    assert client.output.strip() == os.path.realpath(sys.executable)  # the keeper, and nobody between


def test_a_launcher_that_is_none_is_refused(client: Client, program: Write) -> None:
    asked = {"program": str(program("x = 1\n")), "debugLauncherPython": "/nowhere/python"}
    client.initialize()
    assert re.search("debugLauncherPython.*/nowhere/python", client.refused("launch", asked))


# It takes out what sudo does take out (sudoers(5), env_delete), and waits for the program as sudo does.
SUDO = """#!/bin/sh
[ "$1" = -E ] && shift
unset PYTHONPATH
MARK="sudo;$MARK" "$@"
exit $?
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can debug what sudo starts")
@pytest.mark.parametrize("no_debug", [True, False])
def test_sudo(no_debug: bool, program: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    sudo = program(SUDO, "bin/sudo")
    sudo.chmod(0o755)
    monkeypatch.setenv("PATH", str(sudo.parent), prepend=os.pathsep)
    path = program(MARKED + "raise SystemExit(7)\n")
    adapter = StdioAdapter()
    client = adapter.client
    try:
        asked = {"program": str(path), "sudo": True, "noDebug": no_debug}
        if no_debug:
            client.initialize()
            client.request("launch", asked)
        else:
            client.start(asked, lines={path: [2]})
            client.go("continue", client.stopped()["threadId"])
        assert client.event("exited")["exitCode"] == 7
        assert f"marked sudo; {ROOT}" in client.output
    finally:
        adapter.close()


def test_sudo_is_refused_where_the_program_could_not_be_debugged(client: Client) -> None:
    require(os.geteuid() != 0, "a user who is not root: root can debug what sudo starts", outside=True)
    client.initialize()
    assert "only root can debug" in client.refused("launch", {"code": "1", "sudo": True})


@pytest.mark.pure
@pytest.mark.parametrize(
    ("line", "options", "rest"),
    [
        ("python x.py -S", [], ["x.py", "-S"]),
        ("python -X dev -u x.py", ["-X", "dev", "-u"], ["x.py"]),
        ("python -Xdev -W error -m a b", ["-Xdev", "-W", "error"], ["-m", "a", "b"]),
        ("python -bIm a", ["-bI"], ["-m", "a"]),
        ("python -c code -x", [], ["-c", "code", "-x"]),
        ("python -OWerror --check-hash-based-pycs always -- -x.py", ["-OWerror", "--check-hash-based-pycs", "always"],
         ["-x.py"]),
        ("python -", [], ["-"]),
        ("python", [], []),
    ],
)  # fmt: skip
def test_what_a_command_line_runs(line: str, options: list[str], rest: list[str]) -> None:
    assert read(line.split()) == (options, rest)


@pytest.mark.pure
def test_which_command_line_is_the_programs() -> None:
    def of(line: str, flags: str = "", what: str = "x.py") -> bool:
        return runs(shlex.split(line), flags.split(), what.split())

    assert of("python -X dev x.py a") and of("python x.py")
    assert not of("python conda run python x.py", "run python")
    assert of("python -m coverage run x.py", "run python -m coverage run")
    assert of("python -m x a", what="-m x") and not of("python -m y x", what="-m x")
    assert without_site(["-X", "dev", "-bI"]) == "-bI" and without_site(["-u", "-P"]) is None
