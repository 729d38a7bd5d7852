"""The VS Code extension: what is in the ``.vsix``, and how it gets into VS Code."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import dualdbg
from dualdbg.dap.options import OPTIONS
from dualdbg.plugins.vscode.extension import file_name, pack
from dualdbg.system.patience import patient
from tests import warm
from tests.support import ROOT, require

NAMESPACE = "{http://schemas.microsoft.com/developer/vsx-schema/2011}"


@pytest.fixture(scope="module")
def vsix(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    path = tmp_path_factory.mktemp("vsix") / file_name()
    pack(path)
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def manifest(vsix: zipfile.ZipFile) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(vsix.read("extension/package.json"))
    return loaded


def test_what_the_manifest_names_is_there(vsix: zipfile.ZipFile, manifest: dict[str, Any]) -> None:
    names = set(vsix.namelist())
    root = ElementTree.fromstring(vsix.read("extension.vsixmanifest"))
    identity = root.find(f"{NAMESPACE}Metadata/{NAMESPACE}Identity")
    assert identity is not None
    assert (identity.get("Id"), identity.get("Version")) == ("dualdbg", dualdbg.__version__)
    assets = {asset.get("Path") for asset in root.iter(f"{NAMESPACE}Asset")}
    assert assets and assets <= names
    assert f"extension/{manifest['icon']}" in names
    types = ElementTree.fromstring(vsix.read("[Content_Types].xml"))
    assert {Path(name).suffix for name in names if not name.startswith("[")} <= {
        each.get("Extension") for each in types
    }
    assert vsix.read(f"extension/{manifest['icon']}").startswith(b"\x89PNG")
    assert vsix.read("extension/LICENSE.txt") == (ROOT / "LICENSE").read_bytes()


def test_it_has_no_code(vsix: zipfile.ZipFile, manifest: dict[str, Any]) -> None:
    assert {Path(name).suffix for name in vsix.namelist()} <= {
        ".json",
        ".md",
        ".png",
        ".txt",
        ".xml",
        ".vsixmanifest",
    }
    assert not {"main", "browser", "activationEvents"} & set(manifest)


def test_the_adapter_is_dualdbg_dap(manifest: dict[str, Any]) -> None:
    (debugger,) = manifest["contributes"]["debuggers"]
    assert (debugger["type"], debugger["runtime"], debugger["runtimeArgs"]) == ("dualdbg", "dualdbg", ["dap"])


def test_languages_can_have_breakpoints(manifest: dict[str, Any]) -> None:
    languages = {each["language"] for each in manifest["contributes"]["breakpoints"]}
    assert {"python", "c", "cpp", "cuda-cpp", "cython"} <= languages


def test_schema_offers_what_the_adapter_takes(manifest: dict[str, Any]) -> None:
    (debugger,) = manifest["contributes"]["debuggers"]
    for request in ("launch", "attach"):
        schema = debugger["configurationAttributes"][request]
        jsonschema.Draft7Validator.check_schema(schema)
        expected = {option.name for option in OPTIONS if request in option.requests and not option.hidden}
        assert set(schema["properties"]) == expected
        assert all(each["description"] for each in schema["properties"].values())


def test_what_is_offered_to_begin_with_fits_the_schema(manifest: dict[str, Any]) -> None:
    (debugger,) = manifest["contributes"]["debuggers"]
    snippets = [each["body"] for each in debugger["configurationSnippets"]]
    for entry in [*debugger["initialConfigurations"], *snippets]:
        known = debugger["configurationAttributes"][entry["request"]]["properties"]
        assert set(entry) <= {*known, "name", "type", "request", "debugServer"}, entry
        assert entry["type"] == "dualdbg"


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("first", "second"):
        pack(tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


def test_make_vsix_needs_only_python(tmp_path: Path) -> None:
    """No environment, no network: the interpreter alone, without its site-packages."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(ROOT / "scripts/make-vsix"), str(tmp_path / "dist")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=patient(60),
    )
    assert (done.returncode, done.stderr) == (0, "")
    path = Path(done.stdout.strip())
    assert path.name == f"dualdbg-{dualdbg.__version__}.vsix"
    assert zipfile.is_zipfile(path)


def install(*options: str, path: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return warm.run(
        [sys.executable, "-m", "dualdbg", "vscode", "install", *options],
        text=True,
        env={"PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(cwd)},
        cwd=cwd,
        timeout=patient(60),
    )


def editor(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def test_install_hands_the_vsix_to_vscode(tmp_path: Path) -> None:
    """A stand-in for the command `code` keeps what it is given; make test-editors does it with the real one."""
    copy, told = tmp_path / "got.vsix", tmp_path / "words"
    cp = require(shutil.which("cp"), "cp")
    editor(tmp_path, "code", f'echo "$@" > "{told}"\n{cp} "$2" "{copy}"\n')
    done = install(path=str(tmp_path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    words = told.read_text().split()
    assert (words[0], words[2]) == ("--install-extension", "--force")
    with zipfile.ZipFile(copy) as archive:
        (debugger,) = json.loads(archive.read("extension/package.json"))["contributes"]["debuggers"]
    command = [debugger["runtime"], *debugger["runtimeArgs"]]
    assert Path(command[0]).is_absolute()  # VS Code's PATH may be another
    shown = subprocess.run(
        [*command, "--help"], capture_output=True, text=True, cwd=ROOT, timeout=patient(60)
    )
    assert shown.stdout.startswith("usage: dualdbg dap")


def test_install_without_vscode(tmp_path: Path) -> None:
    done = install(path=str(tmp_path), cwd=tmp_path)
    assert done.returncode == 3
    assert "VS Code's command is not on PATH (looked for code, " in done.stderr
    assert "--code /path/to/code" in done.stderr


def test_install_tells_what_vscode_says(tmp_path: Path) -> None:
    refusing = editor(tmp_path, "mycode", "echo no room left >&2\nexit 7\n")
    done = install("--code", str(refusing), path=str(tmp_path), cwd=tmp_path)
    assert done.returncode == 3
    assert "did not install the extension (status 7): no room left" in done.stderr
