"""Compiles the modules of the tests of steps, at a level of optimisation; prints the folder to put on PYTHONPATH."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from cached_build import BUILD_DIR, BuildError, compile_once, show  # noqa: E402
from native.build import this_interpreter  # noqa: E402

# Many wheels bring the C++ library and the unwinder within the extension.
STATIC_RUNTIME = ["-static-libstdc++", "-static-libgcc"]


def build(optimize: str = "0", build_dir: Path = BUILD_DIR, static: bool = False) -> Path:
    """The folder with the modules for this interpreter, compiled with ``-g -O<optimize>`` unless they are there.

    ``static``: the C++ runtime is linked in.
    """
    target = this_interpreter()
    if not target.pybind11:
        raise BuildError("no pybind11 here; type: pip install pybind11")
    flags = ["-fPIC", "-std=c++17", "-Wall", "-pthread", "-g", f"-O{optimize}"]
    flags += ["-fvisibility=hidden", f"-I{target.include}", f"-I{target.pybind11[0]}"]
    sources = [HERE / "sample_walks.cpp", HERE / "sample_throws.cpp"]
    compiled = {f"{source.stem}.o": [*flags, "-c", str(source)] for source in sources}
    # Both kinds of module are linked from the same objects.
    objects = compile_once(f"walks-O{optimize}-objects-{target.tag}", compiled, sources, build_dir)
    linked = ["-shared", "-pthread", *(STATIC_RUNTIME if static else [])]
    commands = {
        f"{source.stem}{target.suffix}": [*linked, str(objects / f"{source.stem}.o")] for source in sources
    }
    return compile_once(
        f"walks-O{optimize}{'-static' if static else ''}-{target.tag}", commands, sources, build_dir
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--optimize", default="0", choices=["0", "1", "2", "3"], help="the level of -O")
    optimize = parser.parse_args().optimize
    return show(lambda: build(optimize))


if __name__ == "__main__":
    sys.exit(main())
