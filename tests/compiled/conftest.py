"""The sample, compiled once: PyTorch's compiler needs half a minute."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from dualdbg.known.generated_code import COMPILED_DEBUG
from tests.dap.conftest import adapter, client  # noqa: F401
from tests.support import ROOT, SAMPLES, require

SAMPLE = SAMPLES / "compiled_model.py"


@pytest.fixture(scope="session")
def compiled() -> Path:
    """The folder in which Inductor has put what it makes of the sample. Nothing is to be changed there."""
    require(shutil.which(os.environ.get("CXX", "g++")), "a C++ compiler")
    what = f"{version('torch')} {sys.version} {SAMPLE} {SAMPLE.read_text()} {COMPILED_DEBUG}"
    folder = ROOT / "build" / "samples" / f"compiled-{hashlib.sha256(what.encode()).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "done"
    with SAMPLE.open() as only_one:  # of the workers that run the tests compiles it
        fcntl.flock(only_one, fcntl.LOCK_EX)
        if not done.exists():
            settings = {**dict(COMPILED_DEBUG), "TORCHINDUCTOR_CACHE_DIR": str(folder)}
            subprocess.run(
                [sys.executable, SAMPLE],
                env={**os.environ, **settings},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                check=True,
                timeout=600,
            )
            done.touch()
    return folder


@pytest.fixture
def without_records(compiled: Path, tmp_path: Path) -> Path:
    """A copy in which the libraries of the kernels are, and nothing says yet what they compute."""
    folder = tmp_path / "cache"
    shutil.copytree(compiled, folder, ignore=shutil.ignore_patterns("fxgraph", "aotautograd", "done"))
    return folder
