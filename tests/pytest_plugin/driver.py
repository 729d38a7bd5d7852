"""Runs pytest with the plugin on a suite that a test has written, and reads what came of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dualdbg.plugins.pytest_plugin.beginning import MARK
from dualdbg.system.patience import patient

_QUIET = ["-p", "no:hypothesispytest", "-p", "no:anyio"]
# What these tests themselves may be run with, or where.
_OURS = (MARK, "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER", "GITHUB_ACTIONS", "GITHUB_WORKSPACE")


@dataclass(frozen=True)
class Outcome:
    """``cases``: of each test in the JUnit XML the elements below it, ``failure``, ``error`` or ``skipped``."""

    status: int
    out: str
    err: str
    cases: dict[str, list[str]]
    xml: str

    @property
    def totals(self) -> dict[str, int]:
        """What the last line counts."""
        last = self.out.rstrip().splitlines()[-1]
        return {word.rstrip("s"): int(number) for number, word in re.findall(r"(\d+) ([a-z]+)", last)}


def run_pytest(
    folder: Path,
    suite: Mapping[str, str],
    *options: str,
    env: Mapping[str, str] = {},  # never changed
    prefix: tuple[str, ...] = (),
    stdin: str = "",
) -> Outcome:
    """Write the files of ``suite`` and run it. ``prefix``: words before the command."""
    for name, text in {"pytest.ini": "[pytest]\n", **suite}.items():
        (folder / name).write_text(text)
    environment = {name: value for name, value in os.environ.items() if name not in _OURS}
    xml = folder / "junit.xml"
    without = [*_QUIET, *(() if "-n" in options else ("-p", "no:xdist"))]  # whose imports take time
    command = [*prefix, sys.executable, "-m", "pytest", *without, f"--junitxml={xml}", *options]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**environment, "COLUMNS": "300", **env},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=patient(300),
    )
    text = xml.read_text() if xml.exists() else "<testsuites/>"
    cases: dict[str, list[str]] = {}
    for case in ElementTree.fromstring(text).iter("testcase"):
        cases.setdefault(case.attrib["name"], []).extend(part.tag for part in case)
    return Outcome(done.returncode, done.stdout, done.stderr, cases, text)
