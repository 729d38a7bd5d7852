"""The adapter under Microsoft's own test client, ``@vscode/debugadapter-testsupport`` from npm."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests.npm import npm_package
from tests.support import ROOT, require

from .samples import HELPER, line_of

VERSION = "1.68.0"
SCRIPT = Path(__file__).with_name("testsupport.js")


@pytest.fixture(scope="module")
def modules() -> Path:
    """A folder with the client in ``node_modules``, downloaded the first time."""
    require(shutil.which("node"), "node (apt-get install nodejs npm)")
    return npm_package("@vscode/debugadapter-testsupport", VERSION)


def test_a_whole_session(
    modules: Path, demo: Path, program: Callable[..., Path], native_samples: Path
) -> None:
    text = demo.read_text().replace(
        "    print(text, second)\n", "    print(text, second)\n    raise ValueError('the end')\n"
    )
    path = program(text)
    adapter = program(
        "import sys\nfrom dualdbg.cli.main import main\nsys.exit(main(['dap']))\n", "adapter.py"
    )
    given = {
        "python": sys.executable,
        "adapter": str(adapter),
        "program": str(path),
        "helper": str(HELPER),
        "lines": {
            "outer": line_of(path, "sample_pybind.outer"),
            "callBack": line_of(path, "sample_pybind.call_back"),
            "print": line_of(path, "print(text"),
            "helper": line_of(HELPER, "return"),
        },
    }
    done = subprocess.run(
        ["node", str(SCRIPT), json.dumps(given)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patient(240),
        env={**os.environ, "NODE_PATH": str(modules / "node_modules"), "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr + done.stdout
