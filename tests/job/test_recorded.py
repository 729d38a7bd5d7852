"""What ``dualdbg stacks --json`` wrote is read again; what it did not write is refused with the reason."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.plugins.job.recorded import BadRecord, Source, recorded
from tests import warm


@pytest.mark.parametrize("how", ["json", "gzip", "packed"])
def test_what_stacks_wrote_is_read(tmp_path: Path, how: str) -> None:
    program = "def here(): print(flush=True); input()\nhere()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=-1, stdout=-1) as target:
        assert target.stdout is not None
        target.stdout.readline()
        option = "--packed" if how == "packed" else "--json"
        words = [sys.executable, "-m", "dualdbg", "stacks", option, str(target.pid)]
        text = warm.run(words, check=True).stdout
        target.kill()
    file = tmp_path / "one"
    file.write_bytes(gzip.compress(text) if how == "gzip" else text)
    (process,) = recorded(Source(str(file), file), {})
    assert process.pid == target.pid and process.rank is None
    assert "here" in [place.function for place in process.stacks[0].places if place.kind == "python"]


@pytest.mark.parametrize(
    "content",
    [
        b"not json",
        b"[1]",
        b'{"event": "process", "pid": 1}',
        b'{"event": "process", "pid": true, "threads": []}',
        b'{"event": "process", "pid": 1, "threads": [{"frames": [{"kind": 3, "number": 0}]}]}',
        b"[" * 200_000,
        gzip.compress(b"{}\n" * 9, mtime=0)[:-9],
    ],
)
def test_another_file_is_refused_by_its_name(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bad"
    file.write_bytes(content)
    with pytest.raises(BadRecord, match=str(file)):
        list(recorded(Source(str(file), file), {}))
