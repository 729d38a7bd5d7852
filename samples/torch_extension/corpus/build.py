"""Compiles the corpus of IValues for the installed torch, and prints the folder with its libraries."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from cached_build import BUILD_DIR, BuildError, compile_once  # noqa: E402


def build(build_dir: Path = BUILD_DIR) -> Path:
    """The folder with the libraries, compiled with ``-g -O0`` unless it is there."""
    try:
        import torch
        from torch.utils.cpp_extension import include_paths, library_paths
    except ImportError as error:
        raise BuildError(f"PyTorch is needed ({error}); type: pip install torch") from error
    flags = ["-shared", "-fPIC", "-std=c++20", "-g", "-O0"]
    flags += [f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}"]
    flags += [f"-isystem{folder}" for folder in include_paths()]
    link = [option for folder in library_paths() for option in (f"-L{folder}", f"-Wl,-rpath,{folder}")]
    link += ["-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10"]
    version = Path(torch.__file__).parent / "version.py"
    sources = {"sample_corpus.so": HERE / "corpus.cpp", "sample_printed.so": HERE / "printed.cpp"}
    commands = {library: [*flags, str(source), *link] for library, source in sources.items()}
    return compile_once("corpus", commands, [*sources.values(), version], build_dir)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build-dir", type=Path, default=BUILD_DIR, help="where the output is kept")
    options = parser.parse_args()
    try:
        print(build(options.build_dir))
    except BuildError as error:
        print(f"build.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
