"""Compiles the samples of further binding layers, nanobind and Cython, for this interpreter; prints their folder."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from cached_build import BUILD_DIR, BuildError, compile_once  # noqa: E402


def build(build_dir: Path = BUILD_DIR) -> Path:
    """The folder with ``sample_nanobind`` and ``sample_cython``, compiled with ``-g -O0`` unless they are there."""
    try:
        import Cython
        import nanobind
    except ImportError as error:
        raise BuildError(f"{error}; type: pip install cython nanobind") from error
    include = sysconfig.get_path("include")
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    flags = ["-shared", "-fPIC", "-std=c++17", "-g", "-O0", f"-I{include}"]
    nanobinds = Path(nanobind.include_dir()).parent
    layer = ["-fvisibility=hidden", "-fno-strict-aliasing", f"-I{nanobinds / 'include'}"]
    layer += [f"-I{folder}" for folder in nanobinds.glob("**/robin_map/include")]
    generated = _generated(Cython.__version__, build_dir)
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


def _generated(version: str, build_dir: Path) -> Path:
    """What Cython makes of the source, under a name that stays the same: debug info has it."""
    source = HERE / "sample_cython.pyx"
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:8]
    target = build_dir / f"sample_cython-{version}-{digest}.cpp"
    if target.is_file():
        return target
    build_dir.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build_dir) as folder:
        written = Path(folder) / "sample_cython.cpp"
        command = [sys.executable, "-m", "cython", "--cplus", str(source), "-o", str(written)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise BuildError(f"this command failed: {' '.join(command)}\n{done.stderr}")
        written.replace(target)
    return target


def main() -> int:
    try:
        print(build())
    except BuildError as error:
        print(f"build.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
