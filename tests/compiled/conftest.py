"""The sample, compiled once: PyTorch's compiler needs half a minute. And a folder with one record, made at once."""

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
from dualdbg.system.patience import patient
from tests.dap.conftest import adapter, client  # noqa: F401
from tests.support import ROOT, SAMPLES, require

from .made_records import KERNEL, SOURCE, record, write

SAMPLE = SAMPLES / "compiled_model.py"
# Inductor compiles in the process itself. Else it starts others for that, each of which imports PyTorch.
ONE_PROCESS = {"TORCHINDUCTOR_COMPILE_THREADS": "1"}


@pytest.fixture(scope="session")
def compiled() -> Path:
    """The folder in which Inductor has put what it makes of the sample. Nothing is to be changed there."""
    return _compiled("compiled")


@pytest.fixture(scope="session")
def graphs() -> Path:
    """The same where each graph is one library (``torch._inductor.config.cpp_wrapper``)."""
    return _compiled("graphs", TORCHINDUCTOR_CPP_WRAPPER="1")


def _compiled(name: str, **more: str) -> Path:
    require(shutil.which(os.environ.get("CXX", "g++")), "a C++ compiler")
    settings = {**dict(COMPILED_DEBUG), **ONE_PROCESS, **more}
    what = f"{version('torch')} {sys.version} {SAMPLE} {SAMPLE.read_text()} {settings}"
    folder = ROOT / "build" / "samples" / f"{name}-{hashlib.sha256(what.encode()).hexdigest()[:16]}"
    folder.mkdir(parents=True, exist_ok=True)
    done = folder / "done"
    with SAMPLE.open() as only_one:  # of the workers that run the tests compiles it
        fcntl.flock(only_one, fcntl.LOCK_EX)
        if not done.exists():
            subprocess.run(
                [sys.executable, SAMPLE],
                env={**os.environ, **settings, "TORCHINDUCTOR_CACHE_DIR": str(folder)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                check=True,
                timeout=patient(600),
            )
            done.touch()
    return folder


@pytest.fixture
def without_records(compiled: Path, tmp_path: Path) -> Path:
    """A copy in which the libraries of the kernels are, and nothing says yet what they compute."""
    return _without_records(compiled, tmp_path)


@pytest.fixture
def graphs_without_records(graphs: Path, tmp_path: Path) -> Path:
    """The same of ``graphs``."""
    return _without_records(graphs, tmp_path)


def _without_records(made: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    shutil.copytree(made, folder, ignore=shutil.ignore_patterns("fxgraph", "aotautograd", "done"))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a record, and the source and the library of its kernel."""
    write(tmp_path, record())
    (tmp_path / "zz").mkdir()
    code = SOURCE.split("r'''")[1].split("'''")[0]
    (tmp_path / "zz" / f"{KERNEL}.main.cpp").write_text(code + "\nstatic PyObject* kernel_py();\n")
    (tmp_path / "zz" / f"{KERNEL}.main.so").touch()
    return tmp_path
