"""Compiles the PyTorch extension samples for the installed torch, and prints the folder with the libraries.

They do not depend on the Python version: ``torch.ops.load_library(folder / "sample_operators.so")``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from cached_build import BUILD_DIR, compile_once, show, torch_flags  # noqa: E402

LIBRARIES = {"sample_operators.so": "operators.cpp", "sample_values.so": "values.cpp"}


def build(optimize: str = "0", build_dir: Path = BUILD_DIR) -> Path:
    """The folder with the libraries, compiled with ``-g -O<optimize>`` unless they are there."""
    flags, link, version = torch_flags()
    commands = {
        library: [*flags, f"-O{optimize}", str(HERE / source), *link] for library, source in LIBRARIES.items()
    }
    return compile_once("torch", commands, [*sorted(HERE.glob("*.?pp")), version], build_dir)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--optimize", default="0", choices=["0", "1", "2", "3"], help="the level of -O")
    parser.add_argument("--build-dir", type=Path, default=BUILD_DIR, help="where the outputs are kept")
    options = parser.parse_args()
    return show(lambda: build(options.optimize, options.build_dir))


if __name__ == "__main__":
    sys.exit(main())
