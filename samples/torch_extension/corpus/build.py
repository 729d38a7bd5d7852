"""Compiles the corpus of IValues for the installed torch, and prints the folder with its libraries."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))

from cached_build import BUILD_DIR, BuildError, compile_once, torch_flags  # noqa: E402


def build(build_dir: Path = BUILD_DIR) -> Path:
    """The folder with the libraries, compiled with ``-g -O0`` unless it is there."""
    flags, link, version = torch_flags()
    sources = {"sample_corpus.so": HERE / "corpus.cpp", "sample_printed.so": HERE / "printed.cpp"}
    commands = {library: [*flags, "-O0", str(source), *link] for library, source in sources.items()}
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
