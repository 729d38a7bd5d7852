"""Compiles the corpus once for this interpreter; prints the folder of an extension. A recipe is a row of a table.

python build.py capi O2         by the compiler alone
python build.py cython meson    by a build system, with its own options
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "sources"
PACKAGES = HERE / "packages"
sys.path.insert(0, str(HERE.parent.parent / "samples"))

import cargo_build  # noqa: E402
from cached_build import (  # noqa: E402
    BUILD_DIR,
    IN_CACHE,
    ROOT,
    BuildError,
    compile_once,
    cython_source,
    digest,
    made_once,
    run,
    show,
)


@dataclass(frozen=True)
class Layer:
    """A binding layer: the module, its sources, and the compiler's further arguments, which may be sources too."""

    module: str
    sources: tuple[str, ...]
    arguments: Callable[[], list[str]] = list


@dataclass(frozen=True)
class System:
    """A build system: its PEP 517 backend, the files of its package, and compiler options that it does not give."""

    backend: str
    folder: str
    flags: str = ""


def _pybind11() -> list[str]:
    import pybind11

    return [f"-I{pybind11.get_include()}", "-fvisibility=hidden"]


def _nanobind() -> list[str]:
    import nanobind

    root = Path(nanobind.include_dir()).parent
    folders = [root / "include", *root.glob("**/robin_map/include")]
    includes = [f"-I{folder}" for folder in folders]
    return [*includes, "-fvisibility=hidden", "-fno-strict-aliasing", str(root / "src" / "nb_combined.cpp")]


LAYERS = {
    "capi": Layer("corpus_capi", ("corpus.cpp", "corpus_capi.cpp")),
    "pybind": Layer("corpus_pybind", ("corpus.cpp", "corpus_pybind.cpp"), _pybind11),
    "nanobind": Layer("corpus_nanobind", ("corpus.cpp", "corpus_nanobind.cpp"), _nanobind),
}
RUST = {"rust": "corpus_rust", "pyo3": "corpus_pyo3"}
CYTHON = {
    "cython": "corpus_cython",
    "cython-steps": "corpus_steps",
    "cython-kinds": "corpus_kinds",
    "cython-pure": "corpus_pure",
}
AS_CXX = {"cython-kinds"}
OTHERS = {"indirect": Layer("indirect", ("indirect.cpp",)), "shown": Layer("shown", ("shown.cpp",))}

MODULES = {**{name: layer.module for name, layer in LAYERS.items()}, **RUST, **CYTHON}

VARIANTS = {
    "O0": ["-O0", "-g"],
    "O2": ["-O2", "-g"],
    "O3-lto": ["-O3", "-g", "-flto"],
    "O2-nodebug": ["-O2"],
}
MORE = {"O1": ["-O1", "-g"], "Os": ["-Os", "-g"], "O3": ["-O3", "-g"]}
_OF_RUSTC = {
    "O0": ["-g"],
    "O2": ["-Copt-level=2", "-g", "-Csymbol-mangling-version=v0"],
    "O3-lto": ["-Copt-level=3", "-g", "-Clto=fat"],
    "O2-nodebug": ["-Copt-level=2"],
}

# Modules of Python that a layer needs to be built.
_NEEDED = {"pybind": ("pybind11",), "nanobind": ("nanobind",), "cython": ("Cython",)}

SYSTEMS = {
    "setuptools": System("setuptools.build_meta", "setuptools", "-O2 -g"),
    "scikit-build": System("scikit_build_core.build", "scikit_build"),
    "meson": System("mesonpy", "meson"),
}


MATURIN = "maturin"  # the build system of Rust


def build(layer: str, variant: str, build_dir: Path = BUILD_DIR) -> Path:
    """The folder with the extension of this layer, compiled with these options unless it is there."""
    if variant in SYSTEMS:
        return _build_package(layer, SYSTEMS[variant], build_dir)
    if layer == "pyo3" and variant == MATURIN:
        return _build_by_maturin(build_dir)
    if layer == "pyo3":
        sources = [SOURCES / "corpus_pyo3.rs", SOURCES / "corpus.rs"]
        return cargo_build.build(PACKAGES / "pyo3" / "Cargo.toml", variant, sources)
    if layer == "rust":
        return _build_rust(variant, build_dir)
    if layer in CYTHON:
        return _build_cython(layer, variant, build_dir)
    recipe = {**LAYERS, **OTHERS}[layer]
    include = Path(sysconfig.get_path("include"))
    common = ["-shared", "-fPIC", "-std=c++17", f"-I{include}", f"-I{SOURCES}"]
    sources = [SOURCES / name for name in recipe.sources]
    output = recipe.module + sysconfig.get_config_var("EXT_SUFFIX")
    try:
        extra = recipe.arguments()
    except ImportError as error:
        raise BuildError(f"{error}; type: pip install '.[dev]'") from error
    commands = {output: [*common, *{**VARIANTS, **MORE}[variant], *map(str, sources), *extra]}
    inputs = [*sorted(SOURCES.glob("*.hpp")), *sources, include / "patchlevel.h"]
    return compile_once(f"corpus-{layer}-{variant}", commands, inputs, build_dir)


def _build_rust(variant: str, build_dir: Path) -> Path:
    """The folder with the extension that was written in Rust against the C API."""
    rustc = shutil.which("rustc") or shutil.which("rustc", path=str(Path.home() / ".cargo" / "bin"))
    if rustc is None:
        raise BuildError("rustc is not installed")
    sources = [SOURCES / "corpus_rust.rs", SOURCES / "corpus.rs"]
    about = subprocess.run([rustc, "--version"], capture_output=True, text=True, check=True).stdout
    options = [
        "--edition",
        "2021",
        "--crate-type",
        "cdylib",
        "--crate-name",
        "corpus_rust",
        *_OF_RUSTC[variant],
    ]
    options += [f"--remap-path-prefix={ROOT}={IN_CACHE}", str(sources[0])]

    def make(folder: Path) -> None:
        output = folder / f"corpus_rust{sysconfig.get_config_var('EXT_SUFFIX')}"
        run([rustc, *options, "-o", str(output)])

    name = f"corpus-rust-{variant}-{digest((sys.version, about, options), sources)}"
    return made_once(name, make, build_dir)


def _build_cython(layer: str, variant: str, build_dir: Path) -> Path:
    """The folder with the extension that was written in Cython."""
    module = CYTHON[layer]
    source = next(SOURCES.glob(f"{module}.py*"))
    language, options = ("c++", ["--cplus"]) if layer in AS_CXX else ("c", [])
    generated = cython_source(source, ".c", ["-3", "--line-directives", *options], build_dir)
    include = sysconfig.get_path("include")
    output = f"{module}{sysconfig.get_config_var('EXT_SUFFIX')}"
    flags = ["-shared", "-fPIC", f"-I{include}", *{**VARIANTS, **MORE}[variant]]
    commands = {output: [*flags, "-x", language, str(generated)]}
    return compile_once(f"corpus-{layer}-{variant}", commands, [generated], build_dir)


def missing(layer: str, system: System) -> str | None:
    """Why a build system cannot make the package of a layer here; None when it can."""
    modules = [name.partition(".")[0] for name in (system.backend, *_NEEDED.get(layer, ()))]
    absent = next((name for name in modules if find_spec(name) is None), None)
    return f"the module {absent} is not here; type: pip install '.[dev]'" if absent is not None else None


def _build_package(layer: str, system: System, build_dir: Path) -> Path:
    """The folder with what the wheel of a build system holds, for a binding layer."""
    reason = missing(layer, system)
    if reason is not None:
        raise BuildError(reason)
    sources = sorted(path for path in SOURCES.iterdir() if path.suffix in (".cpp", ".hpp", ".pyx"))
    files = [*sorted((PACKAGES / system.folder).iterdir()), *sources]
    flags = f"{system.flags} -ffile-prefix-map=@PROJECT@={IN_CACHE}/{SOURCES.relative_to(ROOT)}"  # what stays
    name = f"corpus-{layer}-{system.folder}-{digest((sys.version, system, flags), files)}"
    # Ninja, cmake and cython of the environment.
    folders = [str(Path(sys.executable).parent), os.environ.get("PATH", "")]
    env = {"CORPUS_LAYER": layer, "PATH": os.pathsep.join(folders), "CFLAGS": flags, "CXXFLAGS": flags}
    return _wheel(name, system.backend, {file.name: file.read_bytes() for file in files}, env, build_dir)


def why_no_maturin() -> str | None:
    """Why maturin cannot make the package of PyO3 here; None when it can."""
    return cargo_build.missing() or (
        "maturin is not here; type: pip install maturin" if find_spec("maturin") is None else None
    )


def _build_by_maturin(build_dir: Path) -> Path:
    """The folder with what the wheel of maturin holds."""
    reason, crates = why_no_maturin(), cargo_build.crates()
    if reason is not None or crates is None:
        raise BuildError(reason or "")
    replaced = f'[source.crates-io]\nreplace-with = "here"\n[source.here]\ndirectory = "{crates}"\n'
    files = {
        "pyproject.toml": (PACKAGES / "maturin" / "pyproject.toml").read_bytes(),
        "Cargo.toml": (PACKAGES / "pyo3" / "Cargo.toml").read_bytes(),
        ".cargo/config.toml": replaced.encode(),
        **{f"src/{name}": (SOURCES / name).read_bytes() for name in ("corpus_pyo3.rs", "corpus.rs")},
    }
    flags = f"{cargo_build.flags_for(crates)} --remap-path-prefix=src={IN_CACHE}/{SOURCES.relative_to(ROOT)}"
    name = f"corpus-pyo3-maturin-{digest((sys.version, sorted(files.items()), flags), [])}"
    env = {
        "RUSTFLAGS": flags,
        "CARGO_NET_OFFLINE": "true",
        "CARGO_TARGET_DIR": str(build_dir / "cargo" / "maturin"),
    }
    return _wheel(name, "maturin", files, env, build_dir)


def _wheel(name: str, backend: str, files: dict[str, bytes], env: dict[str, str], build_dir: Path) -> Path:
    """The folder with what the wheel of a project holds, made unless it is there. ``@PROJECT@`` in ``env`` is where."""

    def make(folder: Path) -> None:
        with tempfile.TemporaryDirectory() as work:
            project = Path(work) / "project"
            (project / "dist").mkdir(parents=True)
            for file, content in files.items():
                (project / file).parent.mkdir(exist_ok=True)
                (project / file).write_bytes(content)
            command = [sys.executable, "-c", f"import {backend} as b; b.build_wheel('dist')"]
            here = {variable: value.replace("@PROJECT@", str(project)) for variable, value in env.items()}
            run(command, cwd=project, env={**os.environ, **here})
            zipfile.ZipFile(next((project / "dist").glob("*.whl"))).extractall(folder)

    return made_once(name, make, build_dir)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("layer", choices=[*MODULES, *OTHERS])
    parser.add_argument("variant", choices=[*VARIANTS, *MORE, *SYSTEMS, MATURIN])
    options = parser.parse_args()
    return show(lambda: build(options.layer, options.variant))


if __name__ == "__main__":
    sys.exit(main())
