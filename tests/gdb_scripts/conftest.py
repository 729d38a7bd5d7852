"""Fixtures of the helpers' tests: the corpus library."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.support import build_corpus, require


@pytest.fixture(scope="session")
def corpus_library() -> Path:
    """The folder with ``sample_corpus.so``; compiled once."""
    require(importlib.util.find_spec("torch"), "PyTorch")
    return build_corpus()
