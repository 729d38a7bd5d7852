"""The table of real packages in docs/languages.md is so: where a step lands, where `finish` ends, which names stop.

The packages are those of the interpreter that DUALDBG_TEST_PACKAGES names, else of ours; what is not there is skipped.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests import support
from tests.cli.driver import Event, dualdbg

PYTHON = os.environ.get("DUALDBG_TEST_PACKAGES", sys.executable)

# What stands above the line of the table, by the name of the package.
ABOVE = {
    "orjson": "import orjson",
    "pydantic-core": "import pydantic_core\nvalidator = pydantic_core.SchemaValidator({'type': 'int'})",
    "tokenizers": "import tokenizers\ntokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())",
    "polars": "import polars\nframe = polars.DataFrame({'a': [1, 2]})",
    "lxml": "from lxml import etree\nelement = etree.fromstring('<a><b/></a>')",
    "pandas": "import numpy, pandas\nfrom pandas._libs import algos\na = numpy.array([3., 1., 2.])",
    "numba": "import numba\n@numba.njit\ndef total(n):\n    return n + 1\ntotal(3)",
    "scipy": "import numpy\nfrom scipy.linalg import blas\nm = numpy.ones((2, 2))",
    "numpy": "import numpy\na = numpy.array([3., 1., 2.])",
    "opencv-python-headless": "import cv2, numpy\npixels = numpy.ones((3, 3), numpy.uint8)",
}


class Row(NamedTuple):
    """A row of the table: the package, the Python line, the function of the step (None: no name), names that stop."""

    package: str
    line: str
    lands: str | None
    stops: list[str]


def table() -> list[Row]:
    text = (
        (support.ROOT / "docs" / "languages.md").read_text(encoding="utf-8").partition("## Real packages")[2]
    )
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and cells[0] != "package":
            step = re.search("`(.+?)`", cells[4])
            stops = re.findall("`(.+?)`", cells[6])
            package = re.split(r"[ ,]", cells[0])[0]
            found.append(Row(package, cells[3].strip("`"), step[1] if step else None, stops))
    return found


def test_the_table_is_read_whole() -> None:
    assert {row.package for row in table()} == set(ABOVE)


@pytest.mark.parametrize("row", table(), ids=lambda row: row.line)
def test_a_row(row: Row, tmp_path: Path) -> None:
    above = ABOVE[row.package]
    missing = subprocess.run([PYTHON, "-c", above], capture_output=True, text=True)
    support.require(missing.returncode == 0, f"{row.package} ({missing.stderr[-80:].strip()})", outside=True)
    number = above.count("\n") + 2
    program = tmp_path / "program.py"
    program.write_text(f"{above}\n{row.line}\n{row.line}\nprint('end')\n")
    commands = ["step", "finish", *(f"break {name}" for name in row.stops)]
    commands += ["continue", "finish"] if row.stops else []
    words = [word for command in commands for word in ("-x", command)]
    start = ["run", "--python", PYTHON, "--json", "--batch", "-b", f"program.py:{number}"]
    done = dualdbg(*start, *words, str(program), cwd=tmp_path)
    first, entered, left, *later = done.of("stopped")
    assert place(first) == ("program.py", number)
    assert named(entered) == row.lands and entered["frame"]["kind"] == "native"
    assert place(left) == ("program.py", number)
    if row.stops:
        hit, _ = later
        assert hit["reason"] == "breakpoint" and named(hit) == row.stops[0].removesuffix("_")


def place(stop: Event) -> tuple[str, int]:
    return Path(stop["frame"]["file"]).name, stop["frame"]["line"]


def named(stop: Event) -> str | None:
    """The function, with as many scopes as the table has."""
    function = stop["frame"]["function"]
    return "::".join(function.split("::")[-2:]) if function is not None else None
