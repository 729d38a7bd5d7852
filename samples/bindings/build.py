"""Compiles the samples of further binding layers, nanobind and Cython, for this interpreter; prints their folder."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from cached_build import BUILD_DIR, BuildError, compile_once, cython_source, show  # noqa: E402


def build(build_dir: Path = BUILD_DIR) -> Path:
    """The folder with ``sample_nanobind`` and ``sample_cython``, compiled with ``-g -O0`` unless they are there."""
    try:
        import nanobind
    except ImportError as error:
        raise BuildError(f"{error}; type: pip install cython nanobind") from error
    include = sysconfig.get_path("include")
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    flags = ["-shared", "-fPIC", "-std=c++17", "-g", "-O0", f"-I{include}"]
    nanobinds = Path(nanobind.include_dir()).parent
    layer = ["-fvisibility=hidden", "-fno-strict-aliasing", f"-I{nanobinds / 'include'}"]
    layer += [f"-I{folder}" for folder in nanobinds.glob("**/robin_map/include")]
    generated = cython_source(HERE / "sample_cython.pyx", ".cpp", ["--cplus"], build_dir)
    commands = {
        f"sample_nanobind{suffix}": [
            *flags,
            *layer,
            str(HERE / "sample_nanobind.cpp"),
            str(nanobinds / "src" / "nb_combined.cpp"),
        ],
        f"sample_cython{suffix}": [*flags, str(generated)],
    }
    inputs = [HERE / "sample_nanobind.cpp", HERE / "sample_cython.pyx", Path(include) / "patchlevel.h"]
    inputs.append(nanobinds / "include" / "nanobind" / "nanobind.h")
    return compile_once("bindings", commands, inputs, build_dir)


def main() -> int:
    return show(build)


if __name__ == "__main__":
    sys.exit(main())
