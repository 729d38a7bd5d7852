"""The reference and the man page, which are kept in the repository, say what the parsers say."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from types import ModuleType

import pytest

from tests.support import ROOT, require


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("command_reference", ROOT / "scripts/command_reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up there
    spec.loader.exec_module(module)
    return module


def test_the_files_are_up_to_date(script: ModuleType) -> None:
    old = [str(path.relative_to(ROOT)) for path in script.out_of_date()]
    assert old == [], "python scripts/command_reference.py --write"


@pytest.mark.processes
def test_the_manual_page_is_sound() -> None:
    mandoc = require(shutil.which("mandoc"), "mandoc, which checks manual pages", outside=True)
    command = [mandoc, "-T", "lint", "-W", "warning", str(ROOT / "docs/dualdbg.1")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_every_argument_says_what_it_is(script: ModuleType) -> None:
    rows = [
        (command.name, row.written) for command in script.commands() for row in command.rows if not row.help
    ]
    assert rows == []


def test_signs_of_markdown_and_roff_stand_for_themselves(script: ModuleType) -> None:
    command = script.Command(
        "do", "dualdbg do [A|B]", "", "a_b <c> *d*", (script.Row("--x A", ".y | 'z\\n'"),), ""
    )
    page = script.as_markdown([command])
    assert "a\\_b \\<c\\> \\*d\\*" in page
    assert "| `--x A` | .y \\| 'z\\n' |" in page
    manual = script.as_man_page([command])
    assert "\\&.y | 'z\\en'\n" in manual
    assert ".B \\-\\-x A\n" in manual
