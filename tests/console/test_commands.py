"""The table of the prompt's commands: gdb's and pdb's habits, repairs of mistyped names, completion, help."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.console.commands.general import _TITLES, _explain, _explained, _overview
from dualdbg.console.commands.registry import ELSEWHERE, all_commands, find_command, split_line
from dualdbg.console.completion import Completions
from dualdbg.console.parameters import parameter_names
from dualdbg.errors import CommandError


@pytest.mark.parametrize(
    ("typed", "command"),
    [
        *[(name, "continue") for name in ("c", "cont", "continue", "conti")],
        *[(name, "next") for name in ("n", "next", "nex")],
        *[(name, "step") for name in ("s", "step", "ste")],
        *[(name, "finish") for name in ("fin", "finish", "r", "return")],
        *[(name, "until") for name in ("unt", "until", "advance")],
        *[(name, "bt") for name in ("bt", "where", "w", "backtrace", "back")],
        *[(name, "break") for name in ("b", "break", "br")],
        *[(name, "tbreak") for name in ("tb", "tbreak")],
        *[(name, "print") for name in ("p", "print", "pp", "pr")],
        *[(name, "quit") for name in ("q", "quit", "exit")],
        *[
            (name, name)
            for name in ("locals", "args", "threads", "thread", "pause", "detach", "kill", "gdb", "cpp")
        ],
        *[(name, "list") for name in ("l", "list")],
        *[(name, "up") for name in ("u", "up")],
        *[(name, "down") for name in ("d", "down")],
        *[(name, "frame") for name in ("f", "frame", "fr")],
        *[(name, "info") for name in ("i", "info")],
        *[(name, "help") for name in ("h", "help", "?")],
        *[(name, "delete") for name in ("del", "delete")],
    ],
)
def test_names_that_users_type_without_thinking(typed: str, command: str) -> None:
    assert find_command(typed).name == command


def test_a_command_that_others_have_names_what_to_type_here() -> None:
    for name, instead in ELSEWHERE.items():
        with pytest.raises(CommandError) as caught:
            find_command(name)
        assert caught.value.hint == instead


@pytest.mark.parametrize(
    ("typed", "nearest"), [("contniue", "continue"), ("brek", "break"), ("loclas", "locals")]
)
def test_a_mistyped_command_names_the_nearest(typed: str, nearest: str) -> None:
    with pytest.raises(CommandError) as caught:
        find_command(typed)
    assert nearest in caught.value.hint


def test_an_ambiguous_beginning_says_of_what() -> None:
    with pytest.raises(CommandError) as caught:
        find_command("un")
    assert "until" in caught.value.message and "undisplay" in caught.value.message


def test_the_whole_name_goes_before_a_longer_one() -> None:
    """As in gdb: ``ste`` is step, though stepi begins so too."""
    assert [find_command(typed).name for typed in ("ste", "nex", "thre")] == ["step", "next", "thread"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("p/x n", ("p", "/x n")),
        ("bt 5", ("bt", "5")),
        ("  b a.cpp:3 if x == 1 ", ("b", "a.cpp:3 if x == 1")),
        ("!x = 1", ("py", "x = 1")),
        ("? next", ("?", "next")),
        ("info b", ("info", "b")),
    ],
)
def test_lines_as_gdb_and_pdb_users_write_them(line: str, words: tuple[str, str]) -> None:
    assert split_line(line) == words


def test_every_command_has_help_and_no_name_twice() -> None:
    names = [name for row in all_commands() for name in row.names]
    assert len(names) == len(set(names))
    for row in all_commands():
        assert row.summary and row.summary[0].islower() and not row.summary.endswith("."), row.name


@pytest.fixture
def complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Completions:
    (tmp_path / "train.py").touch()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "größe.py").touch()
    monkeypatch.chdir(tmp_path)
    operators = ["randn", "randn_like", "relu"]
    return Completions(
        lambda text: (name for name in operators if name.startswith(text)),
        ["breakpoints", "threads"],
        lambda: [1, 2, 12],
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cont", ["cont", "continue"]),
        ("b rand", ["randn", "randn_like"]),
        ("b tr", ["train.py"]),
        ("list tests/", ["tests/größe.py"]),
        ("info th", ["threads"]),
        ("help conti", ["continue"]),
        ("b ", ["randn", "randn_like", "relu", "tests/", "train.py"]),
        ("p rand", []),
        ("delete 1", ["1", "12"]),
        ("enable once ", ["1", "2", "12"]),
        ("nosuch x", []),
    ],
)
def test_completion(complete: Completions, line: str, expected: list[str]) -> None:
    assert [text for text, _ in complete.candidates(line)] == expected


def test_completion_replaces_the_word_at_the_end(complete: Completions) -> None:
    assert set(complete.candidates("b rand")) == {("randn", 4), ("randn_like", 4)}


SOURCE = """
@decorated
def f(a, /, b, *args, c=1, **rest):
    def g(inner):
        return inner
    return g(a)

class C:
    async def f(self, x):
        return x

y = lambda one, two: one
"""


@pytest.mark.parametrize(
    ("function", "line", "names"),
    [
        ("f", 6, ["a", "b", "args", "c", "rest"]),
        ("f.<locals>.g", 5, ["inner"]),
        ("C.f", 10, ["self", "x"]),
        ("<lambda>", 12, ["one", "two"]),
        ("<module>", 12, []),
        ("gone", 3, []),
    ],
)
def test_parameters_from_the_source(function: str, line: int, names: list[str]) -> None:
    assert parameter_names(SOURCE, function, line) == names


def test_source_that_is_no_python_has_no_parameters() -> None:
    assert parameter_names("def f(:", "f", 1) == []


def test_help_has_every_command() -> None:
    """Whatever module a command is in; by its first name."""
    listed = _overview(_TITLES)
    assert [row.name for row in all_commands() if f"\n  {row.name}" not in listed] == []


def test_help_fits_a_usual_terminal() -> None:
    texts = [_overview(_TITLES), *(_explain(row) for row in all_commands())]
    assert [line for text in texts for line in text.splitlines() if len(line) > 80] == []


def test_help_of_a_group() -> None:
    text = _explained("what is done")
    assert text.startswith("What is done at stops:\n  commands ") and "Threads:" not in text
    with pytest.raises(CommandError):
        _explained("nonsense")
