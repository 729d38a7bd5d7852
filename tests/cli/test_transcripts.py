"""The transcripts in the docs show what the commands print, and the script that compares them sees what differs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT

_spec = importlib.util.spec_from_file_location("transcripts", ROOT / "scripts" / "transcripts.py")
assert _spec is not None and _spec.loader is not None
script = importlib.util.module_from_spec(_spec)
sys.modules["transcripts"] = script  # where its dataclass looks for its module
_spec.loader.exec_module(script)

PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if script.MARK in page.read_text()]
SHOWN = [(page, one) for page in PAGES for one in script.transcripts(page.read_text())]


def imports_torch(one: script.Transcript) -> bool:  # type: ignore[name-defined]
    """Return whether its program does, which costs more than all else that is shown."""
    program = ROOT / one.command.split()[-1]
    return program.is_file() and "import torch" in program.read_text()


def transcript_rows() -> list[Any]:
    """Each transcript without PyTorch, and one with it: tests/vscode/test_journeys.py stops where the others stop."""
    found = []
    for page, one in SHOWN:
        marks = [pytest.mark.exhaustive] if imports_torch(one) and page.stem != "1-randn" else []
        found.append(pytest.param(page, one, marks=marks, id=f"{page.stem}:{one.begin}"))
    return found


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(sys.version_info < (3, 11), reason="frames have no qualified names before CPython 3.11")
@pytest.mark.parametrize(("page", "one"), transcript_rows())
def test_a_page_shows_what_is_printed(page: Path, one: script.Transcript) -> None:  # type: ignore[name-defined]
    lines = script.now(one)
    assert script.is_as_shown(one.shown, lines), "\n".join(["now it prints:", *lines])


@pytest.mark.parametrize(
    ("shown", "lines", "same"),
    [
        (["Process 1, Python 3.11.7, gdb 13.1"], ["Process 23, Python 3.13.0, gdb 16.3"], True),
        (["a", "b"], ["a"], False),
        (["a", "..."], ["a", "b", "c"], True),
        (["a", "...", "c"], ["a", "c"], True),
        (["a", "...", "c"], ["a", "b"], False),
        (["...", "b", "...", "d"], ["a", "b", "c", "d"], True),
        (["...", "x", "..."], ["a", "b"], False),
        (["in libc.so.6"], ["in libm.so.6"], False),
        (["* Breakpoint 1: native"], ["* Breakpoint 2: native"], False),
        (
            ["   600    10   17.0 ms   28 µs  f  libx.so"],
            ["   600     9   3.1 s   1.25 ns  f  libx.so"],
            True,
        ),
        (["   600    10  f  libx.so"], ["   601    10  f  libx.so"], False),
    ],
)
def test_what_counts_as_the_same(shown: list[str], lines: list[str], same: bool) -> None:
    assert script.is_as_shown(tuple(shown), lines) == same


def test_blocks_are_found_and_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        f"# A\n\n{script.MARK} -->\n\n    $ dualdbg --version\n    old\n\n    older\n\ntext\n\n    $ dualdbg ps\n"
    )
    (found,) = script.transcripts(page.read_text())
    assert (found.command, found.shown) == ("dualdbg --version", ("old", "", "older"))
    monkeypatch.setattr(script, "now", lambda one, runner: ["new", "", f"of {one.command}"])
    assert not script.check(page, write=True)
    assert page.read_text().splitlines()[4:9] == [
        "    $ dualdbg --version",
        "    new",
        "",
        "    of dualdbg --version",
        "",
    ]
    assert page.read_text().endswith("text\n\n    $ dualdbg ps\n")
    assert script.check(page, write=False)


def test_an_installed_dualdbg_sees_nothing_of_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)
    other = script.Runner("/opt/bin/dualdbg", "/opt/bin/python3")
    assert other.command("dualdbg run -b x a.py") == [
        "/opt/bin/dualdbg",
        *["run", "--python", "/opt/bin/python3", "-b", "x", "a.py"],
    ]
    assert other.command("dualdbg libs") == ["/opt/bin/dualdbg", "libs"]
    assert "PYTHONPATH" not in other.environment()
    assert script.Runner().command("dualdbg libs") == [sys.executable, "-m", "dualdbg", "libs"]
    assert script.Runner().environment()["PYTHONPATH"] == str(ROOT)


def test_a_mark_without_a_command_is_refused() -> None:
    with pytest.raises(ValueError, match="line 1"):
        list(script.transcripts(f"{script.MARK} -->\n\ntext\n"))
