"""Fixtures of the helpers' tests: the corpus library."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import SAMPLES, require


@pytest.fixture(scope="session")
def corpus_library() -> Path:
    """The folder with ``sample_corpus.so``; compiled once."""
    require(importlib.util.find_spec("torch"), "PyTorch")
    require(shutil.which(os.environ.get("CXX", "g++")), "a C++ compiler")
    command = [sys.executable, SAMPLES / "torch_extension" / "corpus" / "build.py"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())
