"""Compiles the PyTorch extension samples for the installed torch, and prints the folder with the libraries.

They do not depend on the Python version: ``torch.ops.load_library(folder / "sample_operators.so")``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from cached_build import BUILD_DIR, BuildError, compile_once, show  # noqa: E402

LIBRARIES = {"sample_operators.so": "operators.cpp", "sample_values.so": "values.cpp"}


def build(optimize: str = "0", build_dir: Path = BUILD_DIR) -> Path:
    """The folder with the libraries, compiled with ``-g -O<optimize>`` unless they are there."""
    try:
        import torch
        from torch.utils.cpp_extension import include_paths, library_paths
    except ImportError as error:
        raise BuildError(f"PyTorch is needed ({error}); type: pip install torch") from error
    flags = ["-shared", "-fPIC", "-std=c++20", "-g", f"-O{optimize}"]
    flags += [f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"]
    flags += [f"-isystem{folder}" for folder in include_paths()]
    link = [option for folder in library_paths() for option in (f"-L{folder}", f"-Wl,-rpath,{folder}")]
    link += ["-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10"]
    commands = {library: [*flags, str(HERE / source), *link] for library, source in LIBRARIES.items()}
    version = Path(torch.__file__).parent / "version.py"
    return compile_once("torch", commands, [*sorted(HERE.glob("*.?pp")), version], build_dir)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--optimize", default="0", choices=["0", "1", "2", "3"], help="the level of -O")
    parser.add_argument("--build-dir", type=Path, default=BUILD_DIR, help="where the outputs are kept")
    options = parser.parse_args()
    return show(lambda: build(options.optimize, options.build_dir))


if __name__ == "__main__":
    sys.exit(main())
