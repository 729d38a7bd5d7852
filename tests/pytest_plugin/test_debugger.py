"""``--dualdbg-break``: the same run of pytest, under the debugger."""

from __future__ import annotations

from pathlib import Path

from tests.pytest_plugin.driver import run_pytest

SUITE = {"test_it.py": "def test_a():\n    number = 5\n    assert number == 6\n"}


def test_the_prompt_opens_at_the_place(tmp_path: Path) -> None:
    done = run_pytest(tmp_path, SUITE, "--dualdbg-break", "raise:AssertionError", stdin="locals\ncontinue\n")
    assert "AssertionError" in done.out and "number = 5" in done.out
    assert done.status == 1
    assert "1 failed" in done.out
