"""Ends with a segmentation fault in C++ that was called from Python: ``crash.py [capi|pybind]``."""

from __future__ import annotations

import importlib
import sys

from sample_path import add_native_modules


def store(module, value):
    module.crash(value)


def main(binding="capi"):
    add_native_modules()
    module = importlib.import_module(f"sample_{binding}")
    print(f"about to crash in {module.__name__}", flush=True)
    store(module, 42)


if __name__ == "__main__":
    main(*sys.argv[1:2])
