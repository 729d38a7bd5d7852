"""Where gdb keeps the layouts that it has compiled: only where nobody else could have put them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT

NOBODY = 65534
SCRIPT = "import dualdbg_helpers.layout.types_object as one; print(one.cache_folder())"


def cache_folder(**variables: str) -> Path:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={"PYTHONPATH": str(ROOT / "gdb_scripts"), **variables},
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    return Path(done.stdout.strip())


def test_the_users_cache(tmp_path: Path) -> None:
    assert cache_folder(XDG_CACHE_HOME=str(tmp_path)) == tmp_path / "dualdbg" / "layouts"
    assert cache_folder(HOME=str(tmp_path)) == tmp_path / ".cache" / "dualdbg" / "layouts"
    relative = cache_folder(HOME=str(tmp_path), XDG_CACHE_HOME="relative")
    assert relative == tmp_path / ".cache" / "dualdbg" / "layouts"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_the_cache_of_another_user_is_not_used(tmp_path: Path) -> None:
    """sudo may keep HOME."""
    os.chown(tmp_path, NOBODY, -1)
    assert not cache_folder(HOME=str(tmp_path)).is_relative_to(tmp_path)
    (tmp_path / ".cache").mkdir()
    assert not cache_folder(HOME=str(tmp_path)).is_relative_to(tmp_path)
    os.chown(tmp_path, os.geteuid(), -1)
    assert cache_folder(HOME=str(tmp_path)).is_relative_to(tmp_path)
    os.chown(tmp_path / ".cache", NOBODY, -1)
    assert not cache_folder(HOME=str(tmp_path)).is_relative_to(tmp_path)


@pytest.mark.parametrize("shared", ["", "dualdbg", "dualdbg/layouts"])
def test_a_folder_that_everybody_may_write_to_is_not_used(tmp_path: Path, shared: str) -> None:
    (tmp_path / "dualdbg" / "layouts").mkdir(parents=True)
    assert cache_folder(XDG_CACHE_HOME=str(tmp_path)).is_relative_to(tmp_path)
    (tmp_path / shared).chmod(0o777)
    assert not cache_folder(XDG_CACHE_HOME=str(tmp_path)).is_relative_to(tmp_path)
