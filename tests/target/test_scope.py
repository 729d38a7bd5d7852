"""Root's shell that lowers ptrace_scope, on a file that stands in for the kernel's; test_yama.py has the kernel's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.errors import PermissionRefused
from dualdbg.target import permission, scope
from tests import support

PATCH = """
import sys
from pathlib import Path
from dualdbg.target import permission, scope
permission.YAMA_SCOPE = scope.YAMA_SCOPE = Path(sys.argv[1])
lowering = scope.Lowering()
lowering.lower()
print("low", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    support.require(os.geteuid() == 0, "root, which needs no sudo", outside=True)
    file = tmp_path / "ptrace_scope"
    file.write_text("1\n")
    monkeypatch.setattr(permission, "YAMA_SCOPE", file)
    monkeypatch.setattr(scope, "YAMA_SCOPE", file)
    return file


@pytest.fixture
def lowering(setting: Path) -> scope.Lowering:
    return scope.Lowering()


def holder(setting: Path) -> subprocess.Popen[str]:
    """Another dualdbg, which has it lowered."""
    program = subprocess.Popen(
        [sys.executable, "-c", PATCH, str(setting)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None and program.stdout.readline() == "low\n"
    return program


def wait_for(setting: Path, value: int) -> None:
    support.wait_until(lambda: setting.read_text() == f"{value}\n", 60, f"it is {value}")


def test_it_is_lowered_in_the_block_and_nowhere_else(setting: Path, lowering: scope.Lowering) -> None:
    for _ in range(2):
        with lowering.lowered():
            assert setting.read_text() == "0\n"
        assert setting.read_text() == "1\n"
    with pytest.raises(KeyError), lowering.lowered():
        raise KeyError
    assert setting.read_text() == "1\n"
    lowering.close()
    lowering.close()


def test_closing_puts_back_what_is_not(setting: Path, lowering: scope.Lowering) -> None:
    lowering.lower()
    lowering.close()
    assert setting.read_text() == "1\n"


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT]
)
def test_it_is_put_back_however_we_end(setting: Path, number: signal.Signals) -> None:
    with holder(setting) as program:
        assert setting.read_text() == "0\n"
        program.send_signal(number)
        program.communicate()
    wait_for(setting, 1)


def test_no_signal_ends_or_stops_roots_shell(setting: Path, lowering: scope.Lowering) -> None:
    ignored = (
        signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU,
        signal.SIGPIPE, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2,
    )  # fmt: skip
    with lowering.lowered():
        for number in ignored:
            lowering._shell.send_signal(number)
    assert setting.read_text() == "1\n"
    lowering.close()
    assert lowering._shell.returncode == 0


def test_who_ends_before_the_answer_leaves_nothing_lowered(setting: Path) -> None:
    """The answer then goes to a closed pipe."""
    lowering = scope.Lowering()
    assert lowering._shell.stdin is not None and lowering._shell.stdout is not None
    lowering._shell.stdout.close()
    lowering._shell.stdin.write(b"lower\n")
    lowering._shell.stdin.close()
    lowering._shell.wait()
    assert setting.read_text() == "1\n"


def test_it_does_not_stay_lowered_longer_than_was_said(
    setting: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scope, "LONGEST", 0.5)
    lowering = scope.Lowering()
    with lowering.lowered():
        wait_for(setting, 1)
    assert setting.read_text() == "1\n"
    with lowering.lowered():  # and it can be lowered again
        pass
    lowering.close()


def test_two_take_turns(setting: Path, lowering: scope.Lowering, monkeypatch: pytest.MonkeyPatch) -> None:
    support.require(Path("/usr/bin/flock").exists(), "flock")
    with holder(setting) as first:
        monkeypatch.setattr(scope, "LONGEST", 0.2)
        with pytest.raises(PermissionRefused, match="another dualdbg"):
            lowering.lower()
        monkeypatch.setattr(scope, "LONGEST", 60)
        first.kill()
        first.communicate()
    with lowering.lowered():
        assert setting.read_text() == "0\n"
    assert setting.read_text() == "1\n"
    lowering.close()


@pytest.mark.parametrize("value", ["2\n", "3\n"])
def test_what_root_sets_meanwhile_stays(setting: Path, lowering: scope.Lowering, value: str) -> None:
    with lowering.lowered():
        setting.write_text(value)
    assert setting.read_text() == value
    lowering.close()


def test_what_cannot_be_changed_is_said(setting: Path, lowering: scope.Lowering) -> None:
    setting.unlink()
    setting.mkdir()
    with pytest.raises(PermissionRefused, match="could not lower it"):
        lowering.lower()
    lowering.close()


def test_roots_shell_that_is_gone_is_said(setting: Path, lowering: scope.Lowering) -> None:
    lowering._shell.kill()
    with pytest.raises(PermissionRefused, match="could not lower it") as raised:
        lowering.lower()
    assert "sysctl kernel.yama.ptrace_scope=0" in raised.value.hint
    lowering.close()


def test_the_announcement_says_what_and_for_how_long() -> None:
    text = scope.announcement(2, "gdb has attached")
    for part in (
        "ptrace_scope is 2",
        "set to 0 with sudo until gdb has attached",
        f"{scope.LONGEST:g} s",
        "then to 2",
    ):
        assert part in text
