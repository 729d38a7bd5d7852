"""The scripts that build interpreters for the tests: what they say where nothing can be built, and what they keep."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import ROOT

SCRIPTS = {"free-threaded": ("python3.13t", "python3.13t"), "musl-python": ("python3.13-musl", "python3.13")}


def call(tmp_path: Path, script: str, *words: str) -> subprocess.CompletedProcess[str]:
    """With what a shell needs on PATH, and no compiler."""
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    for name in ("dirname", "grep", "mkdir", "cat", "chmod", "uname"):
        found = shutil.which(name)
        assert found is not None
        (tools / name).unlink(missing_ok=True)
        (tools / name).symlink_to(found)
    env = {"PATH": str(tools), "XDG_CACHE_HOME": str(tmp_path), "HOME": os.environ["HOME"]}
    words = (str(ROOT / "scripts" / script), *words)
    return subprocess.run(["/bin/sh", *words], env=env, capture_output=True, text=True)


@pytest.mark.parametrize("script", SCRIPTS)
def test_what_was_built_is_named(tmp_path: Path, script: str) -> None:
    name, executable = SCRIPTS[script]
    python = tmp_path / "dualdbg-pythons" / name / "bin" / executable
    python.parent.mkdir(parents=True)
    python.symlink_to("/bin/true")
    done = call(tmp_path, script, "3.13")
    assert (done.stdout, done.stderr, done.returncode) == (f"{python}\n", "", 0)


@pytest.mark.parametrize("script", SCRIPTS)
def test_without_a_version_the_usage_is_told(tmp_path: Path, script: str) -> None:
    done = call(tmp_path, script)
    assert done.returncode != 0 and f"usage: scripts/{script} VERSION [FOLDER]" in done.stderr


def test_a_folder_that_is_no_source(tmp_path: Path) -> None:
    done = call(tmp_path, "free-threaded", "3.13", str(tmp_path))
    assert done.returncode == 1
    assert done.stderr == (
        f"free-threaded: {tmp_path} is no source of CPython 3.13: its Include/patchlevel.h does not say so\n"
    )


def test_without_musl_it_is_said_what_to_install(tmp_path: Path) -> None:
    done = call(tmp_path, "musl-python", "3.13")
    assert done.returncode == 1
    assert done.stderr == "musl-python: there is no musl-gcc; install it: apt install musl-tools\n"
