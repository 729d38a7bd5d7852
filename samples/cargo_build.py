"""Compiles Rust by cargo without a network, with the crates that are on this machine: see scripts/fetch-crates."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from cached_build import BUILD_DIR, IN_CACHE, ROOT, BuildError, digest, made_once, run

_CRATES = "usr/share/cargo/registry"  # where Debian's packages have the sources of crates
_BOUND_SINCE = (0, 21)  # the PyO3 whose modules are given as Bound


def missing() -> str | None:
    """Why nothing can be compiled by cargo with PyO3; None when it can."""
    if _cargo() is None:
        return "cargo is not installed"
    if crates() is None:
        return "the crates of PyO3 are not here; on Debian and its kin scripts/fetch-crates gets them"
    return None


def crates() -> Path | None:
    """The folder with the sources of PyO3 and of what it needs."""
    folders = [BUILD_DIR.parent / "crates" / _CRATES, Path("/") / _CRATES]
    return next((folder for folder in folders if any(folder.glob("pyo3-[0-9]*"))), None)


def build(manifest: Path, profile: str, sources: list[Path], flags: tuple[str, ...] = ()) -> Path:
    """The folder with the extension of a package, compiled for this interpreter unless it is there.

    ``manifest`` is its Cargo.toml, ``sources`` are what goes into its ``src`` and lie in one folder, ``flags`` those of
    rustc for this package alone. What was made of the crates is kept for other packages.
    """
    reason, cargo, source = missing(), _cargo(), crates()
    if reason is not None or cargo is None or source is None:
        raise BuildError(reason or "")
    about = (sys.version, str(source), _version(cargo), flags, profile)
    name = re.findall(r'^name = "(\w+)"', manifest.read_text(), re.MULTILINE)[0]
    options = [
        *flags,
        *flags_for(source).split(),
        f"--remap-path-prefix=src={sources[0].parent}".replace(ROOT, IN_CACHE),
    ]

    def make(folder: Path) -> None:
        made = _made(cargo, source, manifest, profile, sources, options)
        shutil.copy(made, folder / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}")

    return made_once(f"{name}-{profile}-{digest(about, [Path(__file__), manifest, *sources])}", make)


def _made(
    cargo: str, crates: Path, manifest: Path, profile: str, sources: list[Path], options: list[str]
) -> Path:
    """What cargo makes of the package."""
    work = BUILD_DIR / "cargo"
    work.mkdir(parents=True, exist_ok=True)
    replaced = ["source.crates-io.replace-with='here'", f"source.here.directory='{crates}'"]
    name = re.findall(r'^name = "(\w+)"', manifest.read_text(), re.MULTILINE)[0]
    project = work / name
    (project / "src").mkdir(parents=True, exist_ok=True)
    shutil.copy(manifest, project)
    for file in sources:
        shutil.copy(file, project / "src")
    command = [cargo, "rustc", "--offline", "--quiet", "--profile", profile, "--lib"]
    command += [part for setting in replaced for part in ("--config", setting)]
    command += ["--", *options]
    run(
        command,
        cwd=project,
        env={**os.environ, "CARGO_TARGET_DIR": str(work / "target"), "PYO3_PYTHON": sys.executable},
    )
    return work / "target" / profile / f"lib{name}.so"


def flags_for(crates: Path) -> str:
    """The options of rustc that tell a package which PyO3 it gets."""
    return "--cfg pyo3_bound" if _pyo3(crates) >= _BOUND_SINCE else ""


def _cargo() -> str | None:
    return shutil.which("cargo") or shutil.which("cargo", path=str(Path.home() / ".cargo" / "bin"))


def _version(cargo: str) -> str:
    return subprocess.run([cargo, "--version"], capture_output=True, text=True, check=True).stdout


def _pyo3(folder: Path) -> tuple[int, ...]:
    newest = max(_numbers(one.name) for one in folder.glob("pyo3-[0-9]*"))
    return newest[:2]


def _numbers(name: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", name.removeprefix("pyo3-")))
