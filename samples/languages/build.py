"""Compiles the samples in further languages; prints their folder, and on stderr what had to be left out and why."""

from __future__ import annotations

import shutil
import sys
import sysconfig
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from cached_build import (  # noqa: E402
    BUILD_DIR,
    IN_CACHE,
    MAPPED,
    ROOT,
    compiler,
    cython_source,
    digest,
    made_once,
    run,
    show,
)

LEVELS = ("0", "2")  # of optimisation; each in a folder of its own, O0 and O2
_RUST = HERE / "sample_rust.rs"
_FORTRAN = HERE / "sample_fortran.f90"


def build(build_dir: Path = BUILD_DIR) -> Path:
    """The folder with ``O0`` and ``O2``, each with what the compilers of this machine can make.

    ``bare`` has the module in Cython with neither debug info nor assertions.
    """
    include = sysconfig.get_path("include")
    generated = cython_source(HERE / "sample_fast.pyx", "-here.c", ["-3", "--line-directives"], build_dir)
    native = [HERE / "sample_workers.cpp", HERE / "sample_assembly.S"]
    cxx, rustc, gfortran = str(compiler()), _found("rustc"), _found("gfortran")
    commands = {}
    for level in LEVELS:
        flags = [*MAPPED, "-shared", "-fPIC", "-g", f"-O{level}"]
        commands[f"O{level}/sample_fast{_suffix()}"] = [
            cxx,
            *flags,
            f"-I{include}",
            "-x",
            "c",
            str(generated),
        ]
        commands[f"O{level}/libsample_workers.so"] = [cxx, *flags, "-fopenmp", "-std=c++17", str(native[0])]
        commands[f"O{level}/libsample_assembly.so"] = [cxx, *flags, str(native[1])]
        if rustc is not None:
            commands[f"O{level}/sample_rust{_suffix()}"] = [rustc, *_rust(level)]
        if gfortran is not None:
            commands[f"O{level}/libsample_fortran.so"] = [gfortran, *flags, str(_FORTRAN)]
    bare = [*MAPPED, "-shared", "-fPIC", "-O2", "-DNDEBUG", f"-I{include}", "-x", "c", str(generated)]
    commands[f"bare/sample_fast{_suffix()}"] = [cxx, *bare]
    inputs = [generated, *native, _RUST, _FORTRAN, Path(include) / "patchlevel.h"]

    def make(folder: Path) -> None:
        for output, command in commands.items():
            (folder / output).parent.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory() as scratch:  # rustc leaves files beside its output
                run([*command, "-o", str(Path(scratch) / Path(output).name)], cwd=scratch)
                shutil.move(Path(scratch) / Path(output).name, folder / output)

    tools = [(one, Path(one).resolve().stat().st_size) for one in (cxx, rustc, gfortran) if one is not None]
    return made_once(f"languages-{digest((tools, commands), inputs)}", make, build_dir)


def _suffix() -> str:
    return str(sysconfig.get_config_var("EXT_SUFFIX"))


def _missing(compiler: str) -> str | None:
    """Why a compiler cannot be used; None when it can."""
    if _found(compiler) is None:
        return f"{compiler} is not installed"
    return None


def _found(compiler: str) -> str | None:
    return shutil.which(compiler) or shutil.which(compiler, path=str(Path.home() / ".cargo" / "bin"))


def _rust(level: str) -> list[str]:
    """How the module is made: at -O0 with the names that rustc gives by default, at -O2 with v0's."""
    arguments = ["--edition", "2021", "--crate-type", "cdylib", "--crate-name", "sample_rust", "-g"]
    arguments += ["-C", "symbol-mangling-version=v0"] if level == "2" else []
    return [*arguments, f"--remap-path-prefix={ROOT}={IN_CACHE}", "-C", f"opt-level={level}", str(_RUST)]


def main() -> int:
    if show(build):
        return 1
    for name in ("rustc", "gfortran"):
        reason = _missing(name)
        if reason is not None:
            print(f"build.py: {reason}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
