"""Programs in C++ with Python in them: started, attached to and looked at."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import rows
from tests.cli.driver import Done, dualdbg
from tests.support import other_interpreter, read_ready, require

PROGRAMS = Path(__file__).parent / "programs"
QUESTION = """
import json, sys, sysconfig
get = sysconfig.get_config_var
print(json.dumps([sysconfig.get_path("include"), get("LIBDIR"), get("LDLIBRARY"), get("LIBRARY"), get("LIBPL")]))
"""


@dataclass(frozen=True)
class Embedded:
    """What compiling for an interpreter takes."""

    include: Path
    folder: Path  # of the shared library
    shared: str
    archive: Path

    @property
    def library(self) -> Path:
        return self.folder / self.shared

    def compile(self, source: str, output: Path, *options: str) -> Path:
        compiler = require(shutil.which("g++"), "a C++ compiler")
        command = [
            compiler,
            "-g",
            "-O0",
            f"-I{self.include}",
            str(PROGRAMS / source),
            "-o",
            str(output),
            *options,
        ]
        subprocess.run(command, check=True)
        return output

    def linked(self, output: Path, *options: str, source: str = "host.cpp") -> Path:
        name = self.shared.removeprefix("lib").removesuffix(".so")
        return self.compile(
            source, output, *options, f"-L{self.folder}", f"-l{name}", f"-Wl,-rpath,{self.folder}"
        )


def embedded(version: str) -> Embedded:
    """An interpreter of this machine that can be put into a program."""
    python = other_interpreter(version)
    answer = subprocess.run([python, "-c", QUESTION], capture_output=True, check=True, text=True)
    include, folder, shared, archive, config = json.loads(answer.stdout)
    found = Embedded(Path(include), Path(folder), shared, Path(config) / archive)
    there = shared.endswith(".so") and found.library.exists() and (found.include / "Python.h").exists()
    require(there or None, f"Python {version} has no shared library, or no headers", outside=True)
    return found


@pytest.fixture(scope="module", params=rows.versions())
def host(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return embedded(request.param).linked(tmp_path_factory.mktemp("host") / "host")


@pytest.fixture(scope="module")
def ours() -> Embedded:
    return embedded(rows.OURS)


@pytest.fixture(scope="module")
def own_host(ours: Embedded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for what does not depend on the version."""
    return ours.linked(tmp_path_factory.mktemp("host") / "host")


def run(program: Path, *words: str | Path, breakpoints: str, arguments: tuple[str | Path, ...] = ()) -> Done:
    stops = [word for spec in breakpoints.split() for word in ("-b", spec)]
    commands = [word for command in words for word in ("-x", command)]
    own = arguments or (PROGRAMS, "plugin")
    return dualdbg("run", "--native", "--json", *stops, "--batch", *commands, program, *own, cwd=PROGRAMS)


def stops(done: Done) -> list[tuple[str, str]]:
    """Where it stopped, and why."""
    return [(event["frame"]["function"], event["reason"]) for event in done.of("stopped")]


def stacks(done: Done) -> list[list[str]]:
    return [
        [f"{frame['kind']} {frame['function']}" for frame in event["frames"] if frame["role"] == "user"]
        for event in done.of("stack")
    ]


@pytest.mark.smoke
def test_both_halves_of_a_program_that_is_linked_to_python(host: Path) -> None:
    """Python joins before its first line; the frames of the program stand below those of Python."""
    words = ("bt", "finish", "continue", "bt", "p total", "next", "continue")
    done = run(host, *words, breakpoints="plugin.py:9 twice")
    assert stops(done) == [
        ("twice", "breakpoint"),
        ("run", "step"),
        ("run", "breakpoint"),
        ("run", "step"),
    ], done
    assert stacks(done) == [
        ["native twice", "python run", "native work", "native main"],
        ["python run", "native work", "native main"],
    ]
    assert [value["value"] for value in done.of("value")] == ["40"]
    assert "".join(event["text"] for event in done.of("output")) == "result 42\nPython is over\n"
    assert done.of("exited")[0]["code"] == 0


def test_what_a_breakpoint_waits_for(own_host: Path) -> None:
    """A function of the C library binds when that is loaded, before there is any Python."""
    done = run(own_host, breakpoints="getenv py:run plugin.py:9")
    told = done.of("breakpoint")
    first = {row["id"]: row["message"] for row in reversed(told)}
    assert first[1] == "waits for its code to be loaded, or for Python control", done
    assert first[2] == first[3] == "waits for Python control"
    assert stops(done)[0] == ("getenv", "breakpoint")


def test_a_step_from_python_ends_in_the_program_that_called(own_host: Path) -> None:
    done = run(own_host, "next", "next", "continue", breakpoints="plugin.py:12")
    assert stops(done)[:2] == [("run", "breakpoint"), ("work", "step")], done


def test_python_that_is_loaded_later(ours: Embedded, tmp_path: Path) -> None:
    program = ours.compile("late.cpp", tmp_path / "late", "-ldl")
    done = run(program, "bt", "continue", breakpoints="adds.py:4 work", arguments=(ours.library, PROGRAMS))
    assert stops(done) == [("work", "breakpoint"), ("run", "breakpoint")], done


def test_python_that_is_a_part_of_the_program(ours: Embedded, tmp_path: Path) -> None:
    require(ours.archive.exists() or None, f"{ours.archive} is not installed", outside=True)
    link = [str(ours.archive), "-no-pie", "-Wl,-E", "-lm", "-ldl", "-lpthread", "-lutil"]
    try:
        program = ours.compile("host.cpp", tmp_path / "whole", *link)
    except subprocess.CalledProcessError:
        pytest.skip("outside of this project: the archive of this Python needs libraries that are not known")
    done = run(program, "bt", "continue", "bt", breakpoints="plugin.py:9 twice")
    first, second = stacks(done)
    assert first[0] == "native twice" and first[-3:] == ["python run", "native work", "native main"], done
    assert second == ["python run", "native work", "native main"]
    with waiting(program) as pid:
        assert [name for name in threads(pid)[0] if name.startswith("python")] == ["python run"]
        assert "number = 20" in dualdbg("stacks", "--locals", pid).stdout


@pytest.mark.parametrize("who", ["-DHANDLER_FIRST", "-DSEEN_FIRST"])
@pytest.mark.parametrize("version", rows.versions())
def test_nothing_of_an_interpreter_that_has_ended_is_left_for_the_next_one(
    version: str, who: str, tmp_path: Path
) -> None:
    """A thread of the earlier one that wakes in the later one crashes there, up to CPython 3.11."""
    program = embedded(version).linked(tmp_path / "again", "-std=c++17", who, source="again.cpp")
    done = dualdbg("run", "--native", "--json", "--batch", program, cwd=tmp_path)
    said = "".join(event["text"] for event in done.of("output"))
    assert said.count("0 besides the main thread\n") == 3, done
    assert done.of("exited")[0]["code"] == 0, done


def test_an_interpreter_that_takes_no_notice_of_its_environment_runs_on(
    ours: Embedded, tmp_path: Path
) -> None:
    program = ours.linked(tmp_path / "isolated", "-DISOLATED")
    done = run(program, "bt", "continue", breakpoints="plugin.py:9 twice")
    assert stops(done) == [("twice", "breakpoint")], done
    assert stacks(done) == [["native twice", "python run", "native work", "native main"]]
    assert "result 42" in "".join(event["text"] for event in done.of("output"))


def test_a_program_without_python(tmp_path: Path) -> None:
    source = tmp_path / "plain.c"
    source.write_text(
        "int work(int n) { return n + 3; }\nint main(int argc, char **argv) { return work(argc); }\n"
    )
    compiler = require(shutil.which("gcc"), "a C compiler")
    for name, options in (("plain", []), ("static", ["-static"])):
        program = tmp_path / name
        subprocess.run([compiler, "-g", "-O0", *options, "-o", program, source], check=True)
        done = run(program, "finish", "continue", breakpoints="work", arguments=("one",))
        assert stops(done) == [("work", "breakpoint"), ("main", "step")], done
        assert done.of("exited")[0]["code"] == 5


@contextmanager
def waiting(program: Path) -> Iterator[str]:
    """The program, started by somebody else: it sleeps in Python."""
    with subprocess.Popen(
        [program, PROGRAMS, "plugin"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "WAIT": "1"},
    ) as process:
        try:
            [pid] = read_ready(process)["pid"]
            yield str(pid)
        finally:
            process.kill()


def threads(pid: str) -> list[list[str]]:
    done = dualdbg("stacks", "--json", pid)
    [process] = done.of("process")
    return [
        [f"{frame['kind']} {frame['function']}" for frame in thread["frames"] if frame["role"] == "user"]
        for thread in process["threads"]
    ]


def test_stacks_of_a_program_that_runs(host: Path) -> None:
    with waiting(host) as pid:
        [main] = threads(pid)
        assert main[-3:] == ["python run", "native work", "native main"]


def test_attach_to_a_program_that_runs(host: Path) -> None:
    with waiting(host) as pid:
        done = dualdbg(
            "attach",
            pid,
            "--json",
            "--no-stacks",
            "--batch",
            "-x",
            "bt",
            "-x",
            f"break {PROGRAMS}/plugin.py:12",
        )
        assert stacks(done)[0][-3:] == ["python run", "native work", "native main"], done
        assert not done.of("error"), done


def test_a_name_of_python_is_not_looked_up_by_running_the_program(own_host: Path) -> None:
    """What it would do when it is run once more, nobody knows."""
    with waiting(own_host) as pid:
        done = dualdbg("attach", pid, "--json", "--no-stacks", "--batch", "-x", "break py:json.loads")
        [event] = done.of("breakpoint")
        assert "no Python interpreter that could be asked" in event["message"], done


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["./nothing"], "there is no such program"),
        (["nothing_here"], "there is no such command on PATH"),
        (["./text"], "it may not be executed"),
        (["./folder"], "it is a folder"),
        (["-m", "json"], "wants a program"),
        (["--stop-on-entry", "true"], "-b main"),
        (["./no_program"], "it is not a program"),
    ],
)
def test_what_cannot_be_run(tmp_path: Path, words: list[str], why: str) -> None:
    (tmp_path / "text").write_text("x")
    (tmp_path / "folder").mkdir()
    (tmp_path / "no_program").write_text("x")
    (tmp_path / "no_program").chmod(0o755)
    done = dualdbg("run", "--native", *words, cwd=tmp_path)
    done.complains(why)
    assert done.status in (2, 3)


def pypy() -> str:
    return require(shutil.which("pypy3"), "PyPy is not installed (apt-get install pypy3)", outside=True)


def test_pypy_is_refused_in_a_sentence(tmp_path: Path) -> None:
    python = pypy()
    done = dualdbg("run", "--python", python, "-c", "1")
    done.complains("is pypy, not CPython")
    root = str(Path(__file__).parents[2])
    inside = subprocess.run(
        [python, "-m", "dualdbg", "ps"],
        env={**os.environ, "PYTHONPATH": root},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert inside.returncode == 3 and "is pypy, not CPython, which dualdbg runs in" in inside.stderr
    done = dualdbg("run", "--native", "--json", "--batch", python, "-c", "print(1)")
    assert "it is pypy, not CPython" in done.stdout and done.of("exited")[0]["code"] == 0


def test_a_pypy_that_runs_is_known_for_what_it_is() -> None:
    code = "import os, time; print('ready pid=%d' % os.getpid(), flush=True); time.sleep(600)"
    with subprocess.Popen([pypy(), "-c", code], stdout=subprocess.PIPE, text=True) as process:
        try:
            read_ready(process)
            for words in (["stacks"], ["attach", "--no-stacks", "--batch"]):
                done = dualdbg(*words, str(process.pid))
                assert "the Python of this process is PyPy, and only that of CPython 3.8 to" in done.stdout, (
                    done
                )
        finally:
            process.kill()
