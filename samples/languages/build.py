"""Compiles the samples in further languages; prints their folder, and on stderr what had to be left out and why."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from cached_build import BUILD_DIR, BuildError, compile_once, cython_source, show  # noqa: E402

LEVELS = ("0", "2")  # of optimisation; each in a folder of its own, O0 and O2
_RUST = HERE / "sample_rust.rs"
_FORTRAN = HERE / "sample_fortran.f90"


def build(build_dir: Path = BUILD_DIR) -> Path:
    """The folder with ``O0`` and ``O2``, each with what the compilers of this machine can make.

    ``bare`` has the module in Cython with neither debug info nor assertions.
    """
    folder = _with_c_compiler(build_dir)
    for level in LEVELS:
        target = folder / f"O{level}"
        if _missing("rustc") is None and not (target / f"sample_rust{_suffix()}").is_file():
            _rust(target, level)
        if _missing("gfortran") is None and not (target / "libsample_fortran.so").is_file():
            _run(
                "gfortran",
                "-shared",
                "-fPIC",
                "-g",
                f"-O{level}",
                _FORTRAN,
                target / "libsample_fortran.so",
                target,
            )
    return folder


def _with_c_compiler(build_dir: Path) -> Path:
    include = sysconfig.get_path("include")
    generated = cython_source(HERE / "sample_fast.pyx", "-here.c", ["-3", "--line-directives"], build_dir)
    sources = [HERE / "sample_workers.cpp", HERE / "sample_assembly.S"]
    commands = {}
    for level in LEVELS:
        flags = ["-shared", "-fPIC", "-g", f"-O{level}"]
        c = [*flags, f"-I{include}", "-x", "c", str(generated)]
        commands[f"O{level}/sample_fast{_suffix()}"] = c
        commands[f"O{level}/libsample_workers.so"] = [*flags, "-fopenmp", "-std=c++17", str(sources[0])]
        commands[f"O{level}/libsample_assembly.so"] = [*flags, str(sources[1])]
    bare = ["-shared", "-fPIC", "-O2", "-DNDEBUG", f"-I{include}", "-x", "c", str(generated)]
    commands[f"bare/sample_fast{_suffix()}"] = bare
    inputs = [
        HERE / "sample_fast.pyx",
        *sources,
        _RUST,
        _FORTRAN,
        HERE / "build.py",
        Path(include) / "patchlevel.h",
    ]
    return compile_once("languages", commands, inputs, build_dir)


def _suffix() -> str:
    return str(sysconfig.get_config_var("EXT_SUFFIX"))


def _missing(compiler: str) -> str | None:
    """Why a compiler cannot be used; None when it can."""
    if _found(compiler) is None:
        return f"{compiler} is not installed"
    return None


def _found(compiler: str) -> str | None:
    return shutil.which(compiler) or shutil.which(compiler, path=str(Path.home() / ".cargo" / "bin"))


def _rust(target: Path, level: str) -> None:
    """The module: at -O0 with the names that rustc gives by default, at -O2 with v0's."""
    arguments = ["--edition", "2021", "--crate-type", "cdylib", "--crate-name", "sample_rust", "-g"]
    arguments += ["-C", "symbol-mangling-version=v0"] if level == "2" else []
    arguments += ["-C", f"opt-level={level}", _RUST]
    _run("rustc", *arguments, target / f"sample_rust{_suffix()}", target)


def _run(compiler: str, *arguments: str | Path) -> None:
    """Run a compiler; the last two arguments are the file that it makes and the folder of that."""
    *options, output, folder = arguments
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        written = Path(scratch) / Path(output).name
        command = [_found(compiler) or compiler, *map(str, options), "-o", str(written)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=scratch)
        if done.returncode != 0:
            raise BuildError(f"this command failed: {' '.join(command)}\n{done.stderr}")
        written.replace(output)


def main() -> int:
    if show(build):
        return 1
    for compiler in ("rustc", "gfortran"):
        reason = _missing(compiler)
        if reason is not None:
            print(f"build.py: {reason}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
