"""What gdb understands by a name, we understand too, but for the stubs and thunks that it stops in as well."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.symbols.objfile import Objfile
from tests.support import require
from tests.symbols.conftest import HERE, functions_of_nm
from tests.symbols.test_find_functions import MEANT, numbered


@pytest.mark.smoke
def test_names_mean_what_gdb_takes_them_for(shapes: Path, tmp_path: Path) -> None:
    # gdb ignores a leading "::", and has no globs.
    known = functions_of_nm(shapes)
    meant = [name for name in MEANT if not name.startswith("::") and "*" not in name and "?" not in name]
    names = [numbered(name, known) for name in meant]
    job, result = tmp_path / "job.json", tmp_path / "result.json"
    job.write_text(json.dumps({"names": names, "result": str(result)}))
    command = [
        require(shutil.which("gdb"), "gdb"),
        "-nx",
        "-q",
        "-batch",
        str(shapes),
        "-x",
        HERE / "gdb_locations.py",
    ]
    done = subprocess.run(
        command,
        env={**os.environ, "DUALDBG_TEST_JOB": str(job)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert result.exists(), done.stdout + done.stderr
    library = Objfile.open(shapes)
    agreed = 0
    for name, addresses in json.loads(result.read_text()).items():
        # gdb goes on behind a prologue that it knows.
        theirs = {symbol for symbol in library.symbols_at(addresses).values() if symbol is not None}
        if theirs:
            agreed += 1
            ours = {symbol.address for symbol in library.find_functions(name)}
            assert {
                s.address for s in theirs if name.startswith("non-") or "thunk to" not in s.name
            } == ours, name
    assert agreed > 40
