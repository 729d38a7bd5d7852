"""`dualdbg run` without anyone at a prompt: -x, --batch, --json, lines on standard input; output and exit status."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.cli.driver import dualdbg, json_run
from tests.support import PROGRAM_COUNTER, ROOT, build_native, other_interpreter, wait_until

PROGRAM = """\
import os
import sys

def total(numbers, start=0):
    result = start
    for number in numbers:
        result += number
    return result

name = os.getsid(0)
print("total", total([1, 2, 3], start=4), flush=True)
print("done", file=sys.stderr)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_commands_run_in_order_and_each_waits_for_its_stop(program: Path) -> None:
    done = dualdbg(
        "run", "--batch", "--json", "-b", "program.py:5", "-x", "bt", "-x", "next", "-x", "p result", "-x", "args",
        "-x", "finish", "-x", "frame", program, cwd=program.parent,
    )  # fmt: skip
    assert done.status == 0, done
    told = [
        event for event in done.events if event["event"] not in ("breakpoint", "resumed", "session", "output")
    ]
    names = [event["event"] for event in told]
    assert names == ["stopped", "stack", "stopped", "value", "variables", "stopped", "frame", "exited"]
    first, stack, second, value, variables, third, frame, _ = told
    assert (first["origin"], first["reason"], first["breakpoints"]) == ("python", "breakpoint", [1])
    assert [(row["function"], row["line"]) for row in stack["frames"]] == [("total", 5), ("<module>", 11)]
    assert (second["reason"], second["frame"]["line"]) == ("step", 6)
    assert (value["type"], value["value"], value["language"]) == ("int", "4", "python")
    assert [row["name"] for row in variables["variables"]] == ["numbers", "start"]
    assert third["reason"] == "step"
    assert (frame["frame"]["function"], frame["frame"]["line"]) == ("<module>", 11)


@pytest.mark.smoke
def test_a_native_stop_and_a_python_stop_in_one_stack(program: Path) -> None:
    done = dualdbg(
        "run", "--batch", "--json", "--stop-on-entry", "-x", "tbreak getsid", "-x", "continue", "-x", "bt",
        "-x", "bt --all", "-x", f"info registers {PROGRAM_COUNTER}", "-x", "info libs libc", program,
    )  # fmt: skip
    assert done.status == 0, done
    entry, native = done.of("stopped")
    assert (entry["origin"], entry["reason"]) == ("python", "entry")
    assert (native["origin"], native["frame"]["function"]) == ("native", "getsid")
    short, whole = done.of("stack")
    assert [row["function"] for row in short["frames"]] == ["getsid", "<module>"]
    assert (short["quality"], short["note"]) == ("full", None)
    plumbing = [row for row in whole["frames"] if row["role"] == "plumbing"]
    assert plumbing and all(row["number"] is None for row in plumbing)
    assert [row["name"] for row in done.of("variables")[0]["variables"]] == [PROGRAM_COUNTER]
    assert all("libc" in row["path"] for row in done.of("libraries")[0]["libraries"])


def test_every_line_of_a_session_fits_the_published_schema(program: Path) -> None:
    schema = json.loads((ROOT / "docs" / "events.schema.json").read_text())
    commands = (
        "bt --all-threads",
        "threads",
        "locals",
        "list",
        "info breakpoints",
        "up",
        "p nosuch",
        "help",
        "nosuch",
    )
    words = [word for command in (*commands, "continue") for word in ("-x", command)]
    done = dualdbg("run", "--batch", "--json", "-b", "program.py:7", *words, program, cwd=program.parent)
    assert done.status == 3  # two of the commands cannot be done
    validator = jsonschema.Draft202012Validator(schema)
    for event in done.events:
        validator.validate(event)
    assert {"threads", "variables", "source", "breakpoints", "frame", "error", "output", "exited"} <= {
        event["event"] for event in done.events
    }


def test_output_comes_as_events_and_before_the_stop_that_follows_it(program: Path) -> None:
    """Of the commands those that are left over at the end are named."""
    words = [word for command in ("bt", "continue", "bt", "up") for word in ("-x", command)]
    done = dualdbg("run", "--batch", "--json", "-b", "program.py:12", *words, program)
    assert ["bt, up" in event["message"] for event in done.of("notice")] == [True]
    names = [event["event"] for event in done.events]
    stdout = [event for event in done.of("output") if event["stream"] == "stdout"]
    assert "".join(event["text"] for event in stdout) == "total 10\n"
    assert names.index("output") < names.index("stopped")
    assert "".join(e["text"] for e in done.of("output") if e["stream"] == "stderr") == "done\n"
    assert done.events[-2] == {"event": "exited", "code": 0, "signal": None}


def test_a_batch_without_commands_shows_the_stack_of_every_stop(program: Path, tmp_path: Path) -> None:
    """The folder of logs has every message, with times."""
    logs = tmp_path / "logs"
    done = dualdbg("run", "--batch", "--json", "--log-dir", logs, "-b", "program.py:7", program)
    assert done.status == 0
    assert len(done.of("stopped")) == len(done.of("stack")) == 3
    assert done.of("exited") == [{"event": "exited", "code": 0, "signal": None}]
    gdb, debugpy = (logs / "gdb.log").read_text(), (logs / "debugpy.log").read_text()
    assert " > 3-target-attach " in gdb or "-target-attach " in gdb
    assert '"command": "configurationDone"' in debugpy
    for line in debugpy.splitlines():
        seconds, direction, *_ = line.split()
        assert float(seconds) >= 0 and direction in ("<", ">")


def test_for_people_the_same_is_text_and_the_program_keeps_its_streams(program: Path) -> None:
    words = [word for command in ("bt", "py print('said' * 2)", "delete", "c") for word in ("-x", command)]
    done = dualdbg("run", "--batch", "-b", "program.py:7", *words, program)
    assert done.status == 0
    assert done.stdout.count("saidsaid") == 1
    assert "* Breakpoint 1: Python, thread " in done.stdout
    assert ">#0 py   total  " in done.stdout
    assert "\ntotal 10\n" in done.stdout
    assert done.stdout.endswith("The program ended with status 0\n")
    assert done.stderr == "done\n"


def test_the_arguments_are_the_programs_own(tmp_path: Path) -> None:
    script = tmp_path / "arguments.py"
    script.write_text("import sys, __main__; print(sys.argv[1:], __main__.__file__ == sys.argv[0], input())")
    done = dualdbg("run", "--batch", script, "-v", "--json", "-x", stdin="typed\n")
    assert "['-v', '--json', '-x'] True typed" in done.stdout


def test_a_module_runs_too(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__main__.py").write_text("import sys; print('module', sys.argv[1:])")
    assert "module ['a']" in dualdbg("run", "--batch", "-m", "package", "a", cwd=tmp_path).stdout


def test_code_runs_with_environment_and_folder(tmp_path: Path) -> None:
    code = "import os, sys; print(os.getcwd(), os.environ['GREETING'], os.environ['PYTORCH_JIT_LOG_LEVEL'], sys.argv)"
    settings = ("--cwd", tmp_path, "--env", "GREETING=a=b c", "--jit-log", "inliner")
    done = dualdbg("run", "--batch", *settings, "-c", code, "a")
    assert f"{tmp_path} a=b c >>inliner ['-c', 'a']\n" in done.stdout


def test_commands_come_from_standard_input_when_it_is_no_terminal(program: Path) -> None:
    done = dualdbg(
        "run", "--json", "-b", "program.py:7", program, stdin="# a comment\n\np number\nc\np number\n"
    )
    assert [event["value"] for event in done.of("value")] == ["1", "2"]
    assert done.status == 0
    assert len(done.of("stopped")) == 2  # the end of the input ends the session


def test_the_program_reads_what_we_do_not_run_of_the_input(tmp_path: Path) -> None:
    script = tmp_path / "reads.py"
    script.write_text("x = 1\nprint('read', input())\n")
    done = dualdbg("run", "-b", "reads.py:2", script, cwd=tmp_path, stdin="delete\nc\nfor the program\n")
    assert "read for the program\n" in done.stdout
    assert done.status == 0


def test_x_is_followed_by_the_input_unless_it_is_a_batch(program: Path) -> None:
    words = ("run", "--json", "-b", "program.py:7", "-x", "p number", program)
    assert [event["value"] for event in dualdbg(*words, stdin="p start\n").of("value")] == ["1", "4"]
    assert [
        event["value"] for event in dualdbg(words[0], "--batch", *words[1:], stdin="p start\n").of("value")
    ] == ["1"]


def test_a_tool_can_steer_a_session_line_by_line(program: Path) -> None:
    with json_run("-b", "program.py:7", program) as run:
        assert run.next("stopped")["breakpoints"] == [1]
        run.send("p number")
        assert run.next("value")["value"] == "1"
        run.send("disable 1")
        assert run.next("breakpoint")["enabled"] is False
        run.send("continue")
        assert run.next("exited")["code"] == 0
        assert run.finish() == 0


def test_quit_ends_a_batch_and_the_target(program: Path) -> None:
    done = dualdbg("run", "--batch", "--json", "-b", "program.py:7", "-x", "quit", "-x", "bt", program)
    assert done.status == 0
    assert not done.of("stack")


def test_detach_lets_the_program_run_on(tmp_path: Path) -> None:
    """The program lasts until it is let go: one that ends while that is under way has ended, which is told instead."""
    script = tmp_path / "lasting.py"
    script.write_text(
        "import pathlib, sys, time\nwanted, out = map(pathlib.Path, sys.argv[1:])\n"
        "while not wanted.exists(): time.sleep(0.01)\nout.write_bytes(b'alive')\n"
    )
    files = [tmp_path / "wanted", tmp_path / "out"]
    done = dualdbg(
        "run", "--json", "-b", "lasting.py:3", "--", script, *files, cwd=tmp_path, stdin="detach\n"
    )
    assert done.status == 0, done
    assert done.of("detached")
    files[0].touch()
    wait_until(files[1].exists, what="the detached program goes on")


def test_kill_ends_the_program(program: Path) -> None:
    done = dualdbg("run", "--json", "-b", "program.py:7", program, stdin="kill\n")
    assert done.of("exited") == [{"event": "exited", "code": None, "signal": 9}]
    assert done.status == 137


def test_no_log_text_is_lost_when_the_program_ends(tmp_path: Path) -> None:
    """The program waits for the reader: what is in pydevd's queue at the end would be lost.

    That thread is made slow, as a busy machine makes it.
    """
    path = tmp_path / "many.py"
    slow = "import pydevd\npydevd.GetGlobalDebugger().writer.timeout = 0.002\n"
    path.write_text(f"{slow}for i in range(2000):\n    x = i\n")
    done = dualdbg("run", "--batch", "-b", 'many.py:4 log "at {i}"', path)
    assert done.status == 0 and done.stdout.count("at ") == 2000, done.stdout[-1000:]


@pytest.mark.parametrize("commands", [(), ("-x", "continue")])
def test_a_program_that_is_no_python_any_more_runs_to_its_end(
    commands: tuple[str, ...], tmp_path: Path
) -> None:
    """Its only breakpoint is one of Python, and was hit, or never is."""
    script = tmp_path / "script.py"
    script.write_text(
        "import os\ndef work(): pass\nwork()\nos.execv('/bin/sh', ['sh', '-c', 'echo shell; exit 5'])\n"
    )
    for place in ("py:work", "py:other") if not commands else ("py:work",):
        done = dualdbg("run", "--batch", "-b", place, *commands, script)
        assert done.status == 5 and "\nshell\n" in done.stdout, done


def test_step_enters_native_code_from_a_script_with_a_relative_name(tmp_path: Path) -> None:
    """CPython 3.8 keeps the name as it was typed, and debugpy has the whole path."""
    python = other_interpreter("3.8")
    (tmp_path / "script.py").write_text(
        "import sample_capi\nfirst = 1\na = sample_capi.raise_error\na('x')\n"
    )
    done = dualdbg(
        *("run", "--batch", "--python", python, "-b", "script.py:4", "-x", "step", "script.py"),
        env={"PYTHONPATH": str(build_native(python))},
        cwd=tmp_path,
    )
    assert "* Step: native" in done.stdout, done


def test_doctest_writes_what_it_writes_alone(tmp_path: Path) -> None:
    """It calls sys.settrace, about which pydevd warns up to 3.11."""
    (tmp_path / "script.py").write_text(
        '"""\n>>> double(4)\n8\n"""\nimport doctest\ndef double(x):\n    return 2 * x\ndoctest.testmod()\ndouble(1)\n'
    )
    done = dualdbg("run", "--batch", "-b", "script.py:7", "-x", "continue", tmp_path / "script.py")
    assert done.stdout.count("* Breakpoint 1: Python") == 2 and "settrace" not in done.stdout + done.stderr, (
        done
    )


@pytest.mark.parametrize("version", ["3.8", "3.11"])
@pytest.mark.parametrize("replaces", [True, False])
def test_a_program_that_traces_itself_is_told_about(version: str, replaces: bool, tmp_path: Path) -> None:
    """As coverage does: code in C sets another trace function, and takes it back at the end."""
    script = tmp_path / "script.py"
    call = "import ctypes\nctypes.pythonapi.PyEval_SetTrace(None, None)\n" if replaces else ""
    script.write_text(f"def work():\n    return 1\nwork()\n{call}work()\n")
    done = dualdbg("run", "--batch", "-b", "script.py:2", "--python", other_interpreter(version), script)
    assert done.stdout.count("* Breakpoint 1: Python") == 1 + (not replaces), done
    assert ("debugpy's trace function is gone" in done.stdout + done.stderr) is replaces, done
