"""Wheel and sdist carry what dualdbg needs beside its code, and an installed wheel finds it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

import dualdbg
from dualdbg.system.patience import patient
from tests.support import ROOT

pytestmark = pytest.mark.slow

DATA_FOLDERS = ("gdb_scripts", "vscode_templates")


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    # Neither the checkout nor the caller's settings: only what is installed.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment,
        timeout=patient(300),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def installed(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a fresh environment with the wheel in it; the dependencies are borrowed from ours."""
    folder = tmp_path_factory.mktemp("fresh environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin/python"
    (wheel,) = distributions.glob("*.whl")
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        wheel,
    )
    site_packages = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    # A path file adds a folder without reading the path files in it, such as that of an editable dualdbg.
    (Path(site_packages) / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def data_files(folder: str) -> set[str]:
    """The files of a folder of the checkout, as paths from the checkout on."""
    files = (path for path in (ROOT / folder).rglob("*") if path.is_file())
    return {str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts}


@pytest.mark.parametrize("folder", DATA_FOLDERS)
def test_wheel_carries(distributions: Path, folder: str) -> None:
    (wheel,) = distributions.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    expected = {f"dualdbg/_data/{name}" for name in data_files(folder)}
    assert expected
    assert expected <= names


@pytest.mark.parametrize("folder", [*DATA_FOLDERS, "samples", "tests", "scripts"])
def test_sdist_carries(distributions: Path, folder: str) -> None:
    (sdist,) = distributions.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    expected = data_files(folder)
    assert expected
    assert expected <= names
    assert {"LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "pyproject.toml"} <= names


def test_wheel_has_what_is_shared_with_gdb_on_both_sides(distributions: Path) -> None:
    """``dualdbg/shared`` is a link in the checkout, and files in a wheel."""
    (wheel,) = distributions.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in data_files("gdb_scripts/dualdbg_shared"):
            here = name.replace("gdb_scripts/dualdbg_shared", "dualdbg/shared")
            assert archive.read(here) == archive.read(f"dualdbg/_data/{name}") == (ROOT / name).read_bytes()


def test_wheel_has_only_the_package(distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    name = f"dualdbg-{dualdbg.__version__}"
    assert {name.partition("/")[0] for name in names} == {"dualdbg", f"{name}.data", f"{name}.dist-info"}
    shared = [one for one in names if one.startswith(f"{name}.data/")]
    assert sorted(shared) == [
        f"{name}.data/data/share/man/man1/dualdbg.1",
        f"{name}.data/scripts/dualdbg-debug-adapter",
    ]


def test_installed_wheel_tells_its_version(installed: Path, tmp_path: Path) -> None:
    assert dualdbg.__version__ in run(installed, "-m", "dualdbg", "--version", cwd=tmp_path)
    assert dualdbg.__version__ in run(installed.parent / "dualdbg", "--version", cwd=tmp_path)


def test_installed_wheel_finds_its_files(installed: Path, tmp_path: Path) -> None:
    code = f"""
import json
from dualdbg.system.resources import resource_directory
print(json.dumps([str(resource_directory(name)) for name in {DATA_FOLDERS!r}]))
"""
    folders = [Path(folder) for folder in json.loads(run(installed, "-c", code, cwd=tmp_path))]
    assert [folder.name for folder in folders] == list(DATA_FOLDERS)
    for folder in folders:
        assert folder.is_relative_to(installed.parent.parent)
        assert any(folder.iterdir())


def test_installed_wheel_serves_editors(installed: Path, tmp_path: Path) -> None:
    """The files of a project, the extension and the other editors' texts need nothing of the checkout."""
    dualdbg = installed.parent / "dualdbg"
    run(dualdbg, "vscode", "init", tmp_path, "--python", installed, cwd=tmp_path)
    assert f"{installed.parent.name}/dualdbg-debug-adapter" in (tmp_path / ".vscode/launch.json").read_text()
    assert installed.with_name("dualdbg-debug-adapter").is_file()
    assert str(dualdbg) in run(dualdbg, "editor", "nvim", cwd=tmp_path)
    keep = tmp_path / "code"
    keep.write_text('#!/bin/sh\ncp "$2" kept.vsix\n')
    keep.chmod(0o755)
    run(dualdbg, "vscode", "install", "--code", keep, cwd=tmp_path)
    with zipfile.ZipFile(tmp_path / "kept.vsix") as archive:
        assert {"extension/package.json", "extension/README.md", "extension/icon.png"} <= set(
            archive.namelist()
        )
