"""The options of `dualdbg run`: what is ours, what is the program's, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dualdbg.cli.arguments import Parser, Program, split_program
from dualdbg.cli.commands.run import jit_log_level, read_options
from dualdbg.cli.shell_completion import command_parsers
from dualdbg.errors import UsageError
from dualdbg.target.interpreter import default_python


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()
    return "train.py"


def test_everything_after_the_program_is_its_own(script: str) -> None:
    options = read_options(["--break", "randn", "-x", "bt", "train.py", "-b", "64", "--json", "--", "x"])
    assert options.asked.breakpoints == ("randn",)
    assert options.commands == ("bt",)
    assert not options.json
    assert options.program == Program(script="train.py", args=("-b", "64", "--json", "--", "x"))


def test_without_options_before_it_ours_may_follow_the_program(script: str) -> None:
    options = read_options(["train.py", "-b", "randn", "-bmm", "--break=add", "--batch", "data", "-b", "64"])
    assert options.asked.breakpoints == ("randn", "mm", "add")
    assert options.batch
    assert options.program == Program(script="train.py", args=("data", "-b", "64"))


def test_two_dashes_end_our_options_behind_the_program(script: str) -> None:
    options = read_options(["train.py", "-b", "randn", "--", "-b", "64"])
    assert options.asked.breakpoints == ("randn",)
    assert options.program.args == ("-b", "64")


def test_two_dashes_end_our_options_before_the_program(script: str) -> None:
    assert read_options(["--json", "--", "train.py", "-x"]).program == Program(
        script="train.py", args=("-x",)
    )


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (["-m", "package.module", "-v"], Program(module="package.module", args=("-v",))),
        (["-mpackage.module", "-v"], Program(module="package.module", args=("-v",))),
        (["-c", "import sys", "-x", "--"], Program(code="import sys", args=("--",))),
        (["--batch", "-c", "import sys", "-x", "1"], Program(code="import sys", args=("-x", "1"))),
    ],
)
def test_modules_and_code(words: list[str], program: Program) -> None:
    if words[0] == "-c":  # -x wants a value here: it is ours
        words = [*words[:2], "-x", "bt", "--", "--"]
    options = read_options(words)
    assert options.program == program


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "nothing to run"),
        (["--batch"], "nothing to run"),
        (["-m"], "-m wants a module"),
        (["-c"], "-c wants code"),
        (["--bogus", "train.py"], "no option --bogus"),
        (["-b"], "expected one argument"),
        (["--env", "X", "train.py"], "NAME=VALUE"),
        (["--cwd", "/no/such/folder", "train.py"], "no folder /no/such/folder"),
        (["absent.py"], "no script absent.py"),
        (["--python", "/no/such/python", "train.py"], "/no/such/python"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_a_hint(script: str, words: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_options(words)
    assert message in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("given", "level"),
    [
        ("dead_code_elimination", ">>dead_code_elimination"),
        ("dead_code_elimination:guard_elimination", ">>dead_code_elimination:>>guard_elimination"),
        ("a, b", ">>a:>>b"),
        (">dump:>>update:>>>debug:bare", ">dump:>>update:>>>debug:>>bare"),
    ],
)
def test_jit_log_asks_for_graph_updates_of_a_bare_pass(script: str, given: str, level: str) -> None:
    assert jit_log_level(given) == level
    assert ("PYTORCH_JIT_LOG_LEVEL", level) in read_options(["--jit-log", given, "train.py"]).env


def test_the_active_environment_is_the_default_interpreter(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.touch()
    assert default_python({"VIRTUAL_ENV": str(tmp_path)}.get) == str(python)
    assert default_python({"CONDA_PREFIX": str(tmp_path)}.get) == str(python)
    assert default_python({"VIRTUAL_ENV": "/no/such/folder"}.get) == sys.executable
    assert default_python({}.get) == sys.executable


def test_a_tool_environment_is_not_where_programs_live(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "prefix", "/home/ada/.local/share/pipx/venvs/dualdbg")
    assert default_python({}.get) == str(python)


PARSERS = command_parsers()


def many_words(command: str) -> list[str]:
    """Where a command keeps any number of words that are no options."""
    actions = PARSERS[command]._actions
    return [action.dest for action in actions if action.nargs in ("*", "+") and not action.option_strings]


TAKES_MANY = list(filter(many_words, PARSERS))


@pytest.mark.parametrize("command", TAKES_MANY)
def test_options_may_stand_between_words(command: str) -> None:
    given = PARSERS[command].read(["one", "--json", "two"])
    assert getattr(given, many_words(command)[0]) == ["one", "two"] and given.json


def test_commands_that_take_many_words() -> None:
    assert {"stacks", "resolve", "ops", "job"} <= set(TAKES_MANY)


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["-W", "error", "-u"], "--native /PATH/OF/python -W error -u …"),
        (["-Xdev"], "-Xdev …"),
        (["-ISE"], "-ISE keeps the debugger out of Python"),
        (["-Z"], "run --help lists the options"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_options_of_python_are_told_where_they_go(words: list[str], shown: str) -> None:
    with pytest.raises(UsageError) as raised:
        split_program(Parser(prog="dualdbg run"), [*words, "program.py"])
    assert shown in raised.value.hint
