"""What stands before a command: versions, completion in shells. And ``dualdbg bug-report``: what it leaves out."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect
import pytest

from dualdbg import __version__
from dualdbg.cli import general, main
from dualdbg.cli.commands import bug_report
from dualdbg.cli.shell_completion import actions_of, command_parsers, completion
from dualdbg.cli.versions import NEEDED, OPTIONAL, of_checkout, versions
from dualdbg.system.patience import patient
from tests import warm
from tests.support import ROOT, require

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def options() -> Iterator[tuple[str, str]]:
    """Each command with each of its long options."""
    for name, parser in command_parsers().items():
        for words, one in {name: parser, **actions_of(parser)}.items():
            yield from ((words, option) for option in one._option_string_actions if option.startswith("--"))


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--version", "-V"):
        assert main.main([option]) == 0
        assert capsys.readouterr().out == f"dualdbg {__version__}\n"


def test_an_option_that_goes_with_another(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--verbose"], ["--completion", "bash", "--version"], ["--completion", "tcsh"], ["--nope"]):
        assert main.main(words) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        assert re.fullmatch(r"dualdbg: [^\n]+\n  dualdbg --[^\n]+\n", shown.err)


def test_the_help_names_the_options_before_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["--help"]) == 0
    shown = capsys.readouterr().out
    names = [name for name in general.make_parser()._option_string_actions if name.startswith("--")]
    assert [name for name in names if name not in shown and name != "--help"] == []


def test_versions_of_all_that_is_needed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    # Of the last two one is for older Pythons, one for x86-64.
    assert set(NEEDED) | {"tomli", "iced-x86"} == {names(row) for row in project["dependencies"]}
    assert set(OPTIONAL) == {names(row) for extra in ("fast", "mcp") for row in extras[extra]}
    told = dict(versions())
    assert told["dualdbg"].partition(",")[0] == __version__
    assert all(re.match(r"\d", told[name]) for name in NEEDED)


def test_the_commit_of_a_checkout(tmp_path: Path) -> None:
    git = require(shutil.which("git"), "git")

    def run(*words: str) -> str:
        command = [git, "-C", str(tmp_path / "one"), "-c", "user.name=a", "-c", "user.email=a@b", *words]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=patient(60)
        ).stdout.strip()

    (tmp_path / "one").mkdir()
    assert of_checkout(tmp_path / "one") == ""
    run("init", "-q", "-b", "main")
    assert of_checkout(tmp_path / "one") == ""  # nothing is committed yet
    run("commit", "-q", "--allow-empty", "-m", "first")
    commit = f", commit {run('rev-parse', 'HEAD')[:12]}"
    assert of_checkout(tmp_path / "one") == commit
    run("pack-refs", "--all")
    assert of_checkout(tmp_path / "one") == commit
    run("worktree", "add", "-q", "-b", "other", str(tmp_path / "two"))
    assert of_checkout(tmp_path / "two") == commit
    run("checkout", "-q", "--detach")
    assert of_checkout(tmp_path / "one") == commit
    assert dict(versions())["dualdbg"] == __version__ + of_checkout(ROOT)


def test_help_of_a_command_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    shown = []
    for words in (["help", "ops"], ["ops", "--help"]):
        with pytest.raises(SystemExit) as ended:
            main.main(words)
        assert ended.value.code == 0
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] and shown[0].startswith("usage: dualdbg ops")
    assert main.main(["help", "nosuch"]) == 2
    assert "there is no command 'nosuch'" in capsys.readouterr().err


def test_a_file_behind_dot_is_told_how(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.main(["libs", "--dot", "graph.dot"]) == 2
    told = capsys.readouterr().err
    assert "'graph.dot' is not the number of a process" in told and "dualdbg libs --dot > graph.dot" in told


def names(requirement: str) -> str:
    (name,) = re.findall(r"^[\w.-]+", requirement)
    return str(name)


@pytest.mark.parametrize("shell", general.SHELLS)
def test_completion_knows_every_option(shell: str) -> None:
    script = completion(shell)
    for command, option in options():
        written = f"-l {option[2:]}" if shell == "fish" else option
        assert re.search(rf"(?<![\w-]){re.escape(written)}(?![\w-])", script), (command, option)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("dualdbg st", "stacks"),
        ("dualdbg run --stop", "--stop-on-entry"),
        ("dualdbg run -b randn script", "script.py"),
        ("dualdbg run --cwd fol", "folder"),
        ("dualdbg --completion z", "zsh"),
        ("dualdbg vscode init --profile re", "remote"),
        ("dualdbg editor nv", "nvim"),
        ("dualdbg editor ", "nvim emacs helix zed"),
    ],
)
def test_bash_completes(line: str, found: str, tmp_path: Path) -> None:
    (tmp_path / "script.py").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "completion").write_text(completion("bash"))
    asks = 'source ./completion; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_dualdbg; echo "${COMPREPLY[@]}"'
    done = subprocess.run(
        ["bash", "--norc", "-c", asks, "bash", *line.split(" ")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=patient(60),
    )
    assert (done.stdout, done.stderr) == (f"{found}\n", "")


@pytest.mark.processes
@pytest.mark.parametrize(
    ("line", "found"),
    [("dualdbg st", "stacks"), ("dualdbg run --stop", "--stop-on-entry"), ("dualdbg --completion z", "zsh")],
)
def test_fish_completes(line: str, found: str, tmp_path: Path) -> None:
    fish = require(shutil.which("fish"), "fish", outside=True)
    (tmp_path / "completion.fish").write_text(completion("fish"))
    asks = f"source completion.fish; complete -C '{line}'"
    home = {**os.environ, "HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    command = [fish, "--no-config", "-c", asks]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=home, timeout=patient(60)
    )
    assert ([row.split("\t")[0] for row in done.stdout.splitlines()], done.stderr) == ([found], "")


@pytest.mark.processes
@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("dualdbg stack", "stacks"),
        ("dualdbg run --stop", "--stop-on-entry"),
        ("dualdbg --completion z", "zsh"),
    ],
)
def test_zsh_completes(line: str, found: str, tmp_path: Path) -> None:
    """In a shell at a terminal, as docs/command-line.md has it installed."""
    zsh = require(shutil.which("zsh"), "zsh", outside=True)
    (tmp_path / "_dualdbg").write_text(completion("zsh"))
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "TERM": "dumb",
        "PS1": "ready> ",
        "PROMPT_EOL_MARK": "",
    }
    shell = pexpect.spawn(
        zsh, ["-f", "-i"], env=environment, encoding="utf-8", timeout=patient(60), cwd=str(tmp_path)
    )
    try:
        shell.sendline(
            f"PS1='ready> '; fpath=({tmp_path} $fpath); autoload -U compinit; compinit -u; echo load''ed"
        )
        shell.expect("loaded\r")
        shell.send(f"{line}\t")
        shell.expect_exact(f"{line.rpartition(' ')[0]} {found}")
    finally:
        shell.close(force=True)


def test_a_bug_report_has_the_variables_that_are_named_alone() -> None:
    assert bug_report.environment({"LANG": "C", "TOKEN": "secret", "HOME": "/home/me"}) == ["LANG=C"]
    page = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    assert [name for name in bug_report.ENVIRONMENT if f"`{name}`" not in page] == []


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("File /home/me/a.py", "File ~/a.py"),
        ("/home/me: nothing", "~: nothing"),
        ("/home/mee/a /x/home/me/a", "/home/mee/a /x/home/me/a"),
        ("python=/home/me/bin/python", "python=~/bin/python"),
        ("/real/me/a", "~/a"),
    ],
)
def test_a_bug_report_shortens_the_home(text: str, short: str) -> None:
    assert bug_report.with_short_homes(text, {"/home/me", "/real/me"}) == short


def test_the_home_of_nobody_shortens_nothing() -> None:
    assert bug_report.with_short_homes("/usr/bin", {"/", ""}) == "/usr/bin"


def test_a_bug_report_leaves_texts_out() -> None:
    line = "  1.0 < lost('it\\'s secret', \"don't\") in gdb's thread 1: tell 'x'; halt"
    assert bug_report.without_texts(line) == "  1.0 < lost('…', '…') in gdb's thread 1: tell '…'; halt"


def test_error_reports_are_files_of_the_user(tmp_path: Path) -> None:
    for number in range(5):
        path = tmp_path / f"dualdbg-error-{number}.txt"
        path.write_text("x")
        os.utime(path, (number, number))
    (tmp_path / "dualdbg-error-link.txt").symlink_to("/etc/passwd")
    (tmp_path / "dualdbg-error-folder.txt").mkdir()
    found = bug_report.error_reports([tmp_path])
    assert [path.name for path in found] == [f"dualdbg-error-{number}.txt" for number in (4, 3, 2)]


def test_a_log_that_is_not_there_says_so(tmp_path: Path) -> None:
    assert bug_report.last_lines(tmp_path / "session.log") == [
        "(session.log cannot be read: No such file or directory)"
    ]


def test_a_bug_report_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole command, with a session that was logged."""
    (tmp_path / "session.log").write_text("  1.0 < told('hunter2'): nothing\n")
    done = warm.run(
        [sys.executable, "-m", "dualdbg", "bug-report", "--log-dir", tmp_path, "--gdb", "no-such-gdb"],
        text=True,
        env={**os.environ, "MY_TOKEN": "sesame"},
        timeout=patient(120),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"    dualdbg: {dict(versions())['dualdbg']}\n" in done.stdout
    assert "error: gdb: no-such-gdb was not found" in done.stdout
    assert "told('…'): nothing" in done.stdout
    assert "hunter2" not in done.stdout and "sesame" not in done.stdout
