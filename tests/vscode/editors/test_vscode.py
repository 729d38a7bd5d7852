"""A real VS Code, driven by its keys: F5 on a sample, steps across the boundary, one stack, a tensor."""

from __future__ import annotations

import importlib.util
import json
import shutil
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dualdbg.plugins.vscode.extension import pack
from dualdbg.system.patience import patient
from tests.support import ROOT, build_native, require, wait_until
from tests.vscode.test_journeys import configuration as configuration_of

from .browser import Browser
from .vscode_server import DOWNLOADS, Server, chromium, installed_puppeteer, node
from .workbench import Workbench

HERE = Path(__file__).parent
PICTURES = DOWNLOADS / "pictures"
START_SECONDS = patient(120)  # the task starts, the program imports PyTorch

BUSY = """\
import time
from pathlib import Path


def turn(count):
    Path(__file__).with_name("count.txt").write_text(str(count))


for count in range(1000000):
    turn(count)
    time.sleep(0.05)
"""

CHILD = """\
import multiprocessing
from pathlib import Path

import sample_pybind


def work(value):
    result = sample_pybind.outer(value, 3)
    Path(__file__).with_name("child.txt").write_text(f"{result:.3f}")


if __name__ == "__main__":
    child = multiprocessing.get_context("fork").Process(target=work, args=(1.0,))
    child.start()
    child.join()
    Path(__file__).with_name("done.txt").write_text(str(child.exitcode))
"""

# Rows of the Call Stack view.
FOLDED = r"Show \d+ More Stack Frames"  # pybind11's own
BOUNDARY = "called from Python"
MODULE = "<module> demo.py 14:1"


@pytest.fixture(scope="session", autouse=True)
def downloads() -> None:
    """What is downloaded once, before any test counts the processes of its own."""
    from .vscode_server import installed_vscode

    installed_vscode()
    installed_puppeteer()
    build_native()


class Session:
    """A project with ``demo.py``, a server for it, and a window when ``open`` is called."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "project"
        shutil.copytree(HERE / "project", self.project)
        self.server = Server(
            folder / "server",
            {
                "PYTHONPATH": str(build_native()),
                "TEST_PYTHON": sys.executable,
            },
        )
        self.code = self.server.command(folder / "code")
        self.folder = folder

    def dualdbg(self, *words: str) -> None:
        command = [sys.executable, "-m", "dualdbg", *words]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=ROOT, timeout=patient(120)
        )
        assert done.returncode == 0, done.stderr

    def stand_in_for_microsofts_extensions(self) -> None:
        """Before anything is installed: VS Code takes what lies in the folder when it sees it for the first time."""
        name = "debugpy_stand_in"
        shutil.copytree(HERE / name, self.server.folder / "extensions" / "test.debugpy-stand-in-1.0.0")


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return Session(tmp_path)


@pytest.fixture
def browser(session: Session, request: pytest.FixtureRequest) -> Iterator[Browser]:
    failure = PICTURES / f"{request.node.name}-failed.png"
    with Browser(node(), chromium(), installed_puppeteer(), session.folder / "profile", failure) as browser:
        yield browser


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return int(bound.getsockname()[1])


def test_generated_files(session: Session, browser: Browser) -> None:
    """`dualdbg vscode init`, `dualdbg vscode install`, F5, F11, a C++ breakpoint, F10, Shift+F11, to the end."""
    session.dualdbg(
        "vscode", "init", str(session.project), "--profile", "extension", "--port", str(free_port())
    )
    session.stand_in_for_microsofts_extensions()
    session.dualdbg("vscode", "install", "--code", str(session.code))
    with session.server as server:
        window = Workbench(browser, server.url, session.project, PICTURES)
        window.open("demo.py")
        window.open_debug_view("dualdbg: this file")
        window.toggle_breakpoint("demo.py", 9)

        window.press("F5")
        window.stopped_at(r"main demo.py 9:1", MODULE, seconds=START_SECONDS)
        window.has_variables(r"x = tensor\(\[\[0\., 1\., 2\.\], \[3\., 4\., 5\.\]\]\)")
        window.look("python")

        window.press("F11")
        window.stopped_at(r"sample::outer helper.cpp 27:\d+", FOLDED, BOUNDARY, r"main demo.py 9:1", MODULE)
        window.has_variables("start = 1", "steps = 3")
        window.look("native")

        window.toggle_breakpoint("helper.cpp", 22)
        window.press("F5")
        below = (r"sample::outer helper.cpp 30:\d+", FOLDED, BOUNDARY, r"main demo.py 9:1", MODULE)
        window.stopped_at(r"sample::helper helper.cpp 22:\d+", *below)
        window.has_variables("doubled = 2")
        window.press("F10")
        window.stopped_at(r"sample::helper helper.cpp 23:\d+", *below)
        window.has_variables(r"result = 3\.83\d+")
        window.look("stepped")

        window.press("Shift", "F11")
        window.stopped_at(r"sample::outer helper.cpp 3[01]:\d+", *below[1:])
        window.press("Shift", "F11")
        window.stopped_at(r"main demo.py (9|10):1", MODULE)
        window.look("back-in-python")

        window.press("F5")
        window.ended()
        assert (session.project / "done.txt").read_text() == "15.0 4.833 5.833"

        window.tasks_ended()
        window.press("F5")  # and once more, with the same task
        window.stopped_at(r"main demo.py 9:1", MODULE, seconds=START_SECONDS)
        window.press("Shift", "F5")
        window.ended()


def test_the_extension(session: Session, browser: Browser) -> None:
    """A configuration of type dualdbg, as the extension offers it, with a breakpoint by name."""
    session.dualdbg("vscode", "install", "--code", str(session.code))
    packed = session.folder / "extension.vsix"
    pack(packed)
    with zipfile.ZipFile(packed) as archive:
        (debugger,) = json.loads(archive.read("extension/package.json"))["contributes"]["debuggers"]
    (configuration,) = debugger["initialConfigurations"]
    configuration["breakpoints"] = ["sample::inner_loop"]
    (session.project / ".vscode").mkdir()
    (session.project / ".vscode/launch.json").write_text(json.dumps({"configurations": [configuration]}))
    with session.server as server:
        window = Workbench(browser, server.url, session.project, PICTURES)
        window.open("demo.py")
        window.open_debug_view(configuration["name"])
        window.start_selected()
        window.stopped_at(
            r"sample::inner_loop helper.cpp \d+:\d+",
            r"sample::helper helper.cpp 22:\d+",
            r"sample::outer helper.cpp 30:\d+",
            FOLDED,
            BOUNDARY,
            r"main demo.py 9:1",
            MODULE,
            seconds=START_SECONDS,
        )
        window.look("extension")
        window.press("Shift", "F5")
        window.ended()
    assert not (session.project / "done.txt").exists()


def test_a_child_process(session: Session, browser: Browser) -> None:
    """VS Code starts a session for it, which has the breakpoints too, and steps across in it."""
    session.dualdbg("vscode", "install", "--code", str(session.code))
    (session.project / "child.py").write_text(CHILD)
    configuration = {"name": "with children", "type": "dualdbg", "request": "launch", "program": "${file}"}
    (session.project / ".vscode").mkdir()
    (session.project / ".vscode/launch.json").write_text(json.dumps({"configurations": [configuration]}))
    with session.server as server:
        window = Workbench(browser, server.url, session.project, PICTURES)
        window.open("child.py")
        window.open_debug_view("with children")
        window.toggle_breakpoint("child.py", 8)
        window.start_selected()
        window.has_frames(r"work child.py 8:1", seconds=START_SECONDS)
        window.press("F11")
        window.has_frames(r"sample::outer helper.cpp 27:\d+", FOLDED, BOUNDARY, r"work child.py 8:1")
        window.look("child")
        window.press("F5")
        window.ended()
    assert (session.project / "child.txt").read_text() == "4.833"
    assert (session.project / "done.txt").read_text() == "0"


def test_attach(session: Session, browser: Browser) -> None:
    """A process that runs already, chosen where the list of processes would be; it goes on afterwards."""
    program = session.project / "busy.py"
    program.write_text(BUSY)
    busy = subprocess.Popen([sys.executable, str(program)], stdin=subprocess.DEVNULL)
    try:
        session.server.environment["TEST_PROCESS"] = str(busy.pid)
        session.dualdbg(
            "vscode", "init", str(session.project), "--profile", "pytorch-user", "--port", str(free_port())
        )
        session.stand_in_for_microsofts_extensions()
        with session.server as server:
            window = Workbench(browser, server.url, session.project, PICTURES)
            window.open("busy.py")
            window.open_debug_view("dualdbg: attach to a process")
            window.toggle_breakpoint("busy.py", 6)
            window.start("dualdbg: attach to a process")
            window.stopped_at(r"turn busy.py 6:1", r"<module> busy.py 10:1", seconds=START_SECONDS)
            window.look("attach")
            window.press("Shift", "F5")
            window.ended()
            counted = (session.project / "count.txt").read_text
            before = counted()
            wait_until(lambda: counted() not in ("", before), 60, "the process goes on")
    finally:
        busy.kill()
        busy.wait()


def test_remote(session: Session, browser: Browser, tmp_path: Path) -> None:
    """The program lies in another folder, as on a server; only `ssh` is stood in for, by a shell on this machine."""
    there = tmp_path / "the server" / "project"
    shutil.copytree(session.project, there)
    ssh = tmp_path / "ssh"
    ssh.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    session.dualdbg("vscode", "init", str(session.project), "--profile", "remote", "--port", str(free_port()))
    settings = session.project / ".vscode/settings.json"
    text = settings.read_text().replace("/home/user/project", str(there))
    settings.write_text(text.replace('"dualdbg"', f'"{Path(sys.executable).with_name("dualdbg")}"'))
    tasks = session.project / ".vscode/tasks.json"
    tasks.write_text(tasks.read_text().replace('"command": "ssh"', f'"command": "{ssh}"'))
    session.stand_in_for_microsofts_extensions()
    with session.server as server:
        window = Workbench(browser, server.url, session.project, PICTURES)
        window.open("demo.py")
        window.open_debug_view("dualdbg: this file on the server")
        window.toggle_breakpoint("demo.py", 10)
        window.press("F5")
        window.stopped_at(r"main demo.py 10:1", MODULE, seconds=START_SECONDS)
        window.look("remote")
        window.press("F5")
        window.ended()
    assert (there / "done.txt").read_text() == "15.0 4.833 5.833"
    assert not (session.project / "done.txt").exists()


def test_the_first_journey(session: Session, browser: Browser) -> None:
    """docs/journeys/1-randn.md by its keys, with the configuration that it shows: from the import to the kernel."""
    require(importlib.util.find_spec("torch"), "PyTorch")
    session.dualdbg("vscode", "install", "--code", str(session.code))
    shutil.copytree(
        ROOT / "samples", session.project / "samples", ignore=shutil.ignore_patterns("native", "hangs")
    )
    shown = configuration_of(ROOT / "docs" / "journeys" / "1-randn.md")
    launch = {"configurations": [{**shown, "python": sys.executable}]}
    (session.project / ".vscode").mkdir()
    (session.project / ".vscode/launch.json").write_text(json.dumps(launch))
    line = r"<module> testdebug.py {}:1".format
    with session.server as server:
        window = Workbench(browser, server.url, session.project, PICTURES)
        window.open("demo.py")  # some file: F5 wants an editor
        window.open_debug_view(shown["name"])
        window.start_selected()
        window.stopped_at(line(1), seconds=START_SECONDS)
        window.has_variables("special variables")  # VS Code has taken in the stop, and its keys know of it
        window.press("F10")
        window.has_frames("THPModule_initExtension.*", seconds=START_SECONDS)
        window.has_variables("Registers")
        window.press("F5")
        window.stopped_at(line(3), seconds=START_SECONDS)
        window.has_variables("special variables")
        window.press("F11")
        window.has_frames("torch::autograd::THPVariable_randn.*", seconds=START_SECONDS)
        window.has_variables(r"args = \(2, 3\).*")
        window.press("F5")
        window.has_frames(
            "at::_ops::randn::call.*", "torch::autograd::THPVariable_randn.*", BOUNDARY, line(3)
        )
        window.has_variables(r"size = \[2, 3\].*")
        window.press("F5")
        window.has_frames("at::native::randn.*", "Show 5 More: disassembly", BOUNDARY, line(3))
        window.has_variables(r"size = \[2, 3\].*", "device = cpu.*")
        window.look("journey-1")
        window.press("Shift", "F11")
        window.stopped_at(line(3))
        window.has_variables("torch = .*")
        window.press("F5")
        window.ended()
