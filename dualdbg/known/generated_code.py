"""What torch.compile calls the files and functions that it generates for the CPU.

Files of torch/_inductor have names of "c" and 51 digits of the base 32 (``code_hash`` in codecache.py, PyTorch 2.13).
"""

from __future__ import annotations

import re

_MODULE = re.compile(r"(?:^|/)c[a-z2-7]{51}\.py$")
_MODEL = re.compile(r"(?:^|/)c[a-z2-7]{51}\.wrapper\.so$")
_LIBRARY = re.compile(r"(?:^|/)c[a-z2-7]{51}\.main\.so$")

_GENERATED = re.compile(r"(?:^|/)c[a-z2-7]{51}\.(?:py|\w+\.(?:cpp|so))$")

COMPILED_DEBUG = (
    ("TORCHINDUCTOR_DEBUG_SYMBOL", "1"),  # from PyTorch 2.8 on
    ("AOT_INDUCTOR_DEBUG_SYMBOLS", "1"),
    ("INDUCTOR_PROVENANCE", "1"),
)
"""The environment in which Inductor keeps debug info of kernels (-g, beside -O3), and where each comes from."""

KERNEL = "kernel"
"""The function of a kernel's library that computes."""
WRAPPERS = ("kernel_py", "inductor_entry_cpp_py")
"""The functions that Python calls: of a kernel, and of a whole graph that is one library (``config.cpp_wrapper``)."""
GLUE = frozenset({*WRAPPERS, "inductor_entry_cpp"})
"""The functions of generated libraries that only pass on what they are called with."""
GRAPH = "cpp_wrapper_src"
"""The variable of a generated module that has the source of a graph that is one library."""


def is_kernel_library(path: str) -> bool:
    """Whether a library has the name of one that Inductor has made of a kernel."""
    return _LIBRARY.search(path) is not None


def is_model_library(path: str) -> bool:
    """Whether a library has the name of one that AOTInductor has made of a model, with all its kernels in it."""
    return _MODEL.search(path) is not None


def is_generated(path: str) -> bool:
    """Whether a file has the name of one that Inductor has written or compiled: a module, a source or a library."""
    return _GENERATED.search(path) is not None


def is_generated_module(path: str) -> bool:
    """Whether a file of Python has the name of one that Inductor has written."""
    return _MODULE.search(path) is not None
