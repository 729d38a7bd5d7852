"""Compiles Rust by cargo without a network, with the crates that are on this machine: see scripts/fetch-crates."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from cached_build import BUILD_DIR, BuildError

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
    digest = hashlib.sha256(repr((sys.version, sys.prefix, str(source), _version(cargo), flags)).encode())
    for file in [Path(__file__), manifest, *sources]:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    name = re.findall(r'^name = "(\w+)"', manifest.read_text(), re.MULTILINE)[0]
    folder = BUILD_DIR / f"{name}-{profile}-{digest.hexdigest()[:12]}"
    if folder.is_dir():
        return folder
    work = BUILD_DIR / "cargo"
    work.mkdir(parents=True, exist_ok=True)
    replaced = ["source.crates-io.replace-with='here'", f"source.here.directory='{source}'"]
    project = work / name
    (project / "src").mkdir(parents=True, exist_ok=True)
    shutil.copy(manifest, project)
    for file in sources:
        shutil.copy(file, project / "src")
    command = [cargo, "rustc", "--offline", "--quiet", "--profile", profile, "--lib"]
    command += [part for setting in replaced for part in ("--config", setting)]
    command += ["--", *flags, *flags_for(source).split()]
    command += [f"--remap-path-prefix=src={sources[0].parent}"]  # debug info names the sample itself
    env = {**os.environ, "CARGO_TARGET_DIR": str(work / "target"), "PYO3_PYTHON": sys.executable}
    done = subprocess.run(
        command, cwd=project, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise BuildError(f"this command failed: {' '.join(command)}\n{done.stderr}")
    unfinished = work / f".{folder.name}-{os.getpid()}"
    unfinished.mkdir()
    made = work / "target" / profile / f"lib{name}.so"
    shutil.copy(made, unfinished / f"{name}{sysconfig.get_config_var('EXT_SUFFIX')}")
    unfinished.rename(folder)
    return folder


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
