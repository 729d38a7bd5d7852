"""A process in namespaces of its own, as in a container: other paths, other process ids."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.snapshot.programs_running import PROGRAMS
from tests.snapshot.test_command import dualdbg
from tests.support import require, wait_until


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make namespaces of every kind")
def test_other_namespaces(native_samples: Path, tmp_path: Path) -> None:
    """The extension lies on a file system that only the process sees, and its main thread has the id 1."""
    unshare = require(shutil.which("unshare"), "unshare (util-linux)")
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    script = (
        f"mount -t tmpfs tmpfs {hidden} && cp {native_samples}/*.so {hidden} && "
        f"PYTHONPATH={hidden} exec {sys.executable} {PROGRAMS / 'many_stacks.py'}"
    )
    command = [unshare, "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-c", script]
    probe = subprocess.run([unshare, "--mount", "--pid", "--fork", "true"], capture_output=True, text=True)
    require(probe.returncode == 0, f"namespaces ({probe.stderr.strip()})", outside=True)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready pid=1\n"
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            pid = int(wait_until(lambda: children.read_text().split(), what="the child")[0])
            assert not list(hidden.iterdir())
            done = dualdbg("stacks", str(pid), "--json")
            (report,) = map(json.loads, done.stdout.splitlines())
            names = {
                thread["python_name"]: [frame["function"] for frame in thread["frames"]]
                for thread in report["threads"]
            }
            assert "capi_call_back" in names["in_capi"]
            assert names["in_capi"].index("stand") < names["in_capi"].index("capi_call_back")
            assert "sample::read_byte" not in names["in_sort"]
        finally:
            process.kill()
