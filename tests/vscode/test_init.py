"""``dualdbg vscode init``: what it writes, where files are already, and whether VS Code would accept it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from dualdbg.cli.main import main
from dualdbg.plugins.vscode.jsonc import parse
from dualdbg.plugins.vscode.profiles import FILES, PROFILES
from dualdbg.system.resources import resource_directory
from tests.support import SHARED, require

pytestmark = pytest.mark.processes  # `main` imports the command that it runs, which asks an interpreter

COMMENTED = {
    "launch.json": """{
    // Use IntelliSense to learn about possible attributes.
    "version": "0.2.0",
    "configurations": [
        {
            "name": "mine", // the one that I use
            "type": "debugpy",
            "request": "launch",
            "program": "${file}",
        },
    ],
}
""",
    "tasks.json": '{"version": "2.0.0", "tasks": [/* none yet */]}\n',
    "settings.json": '{\n  "editor.rulers": [110], // wide\n  "debug.allowBreakpointsEverywhere": false\n}',
    "c_cpp_properties.json": '{\n\t"configurations": [\n\t\t{\n\t\t\t"name": "Linux"\n\t\t}\n\t],\n\t"version": 4\n}\n',
}


def init(folder: Path, *options: str, status: int = 0) -> str:
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        done = main(["vscode", "init", str(folder), *options])
    assert done == status, told.getvalue()
    return told.getvalue()


def read(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((folder / ".vscode").iterdir())}


def value(text: str) -> Any:
    node = parse(text, "test")
    assert node is not None
    return node.value


@pytest.mark.parametrize("profile", PROFILES)
def test_empty_folder_and_again(tmp_path: Path, profile: str) -> None:
    init(tmp_path, "--profile", profile)
    first = read(tmp_path)
    without = {
        "remote": {"c_cpp_properties.json"},
        "pytorch-user": {"tasks.json"},
        "port": {"settings.json", "c_cpp_properties.json"},
    }
    assert set(first) == set(FILES) - without.get(profile, set())
    assert not re.search(r"@\w+@", "".join(first.values()))
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / ".vscode").iterdir()}
    assert "nothing to add" in init(tmp_path, "--profile", profile)
    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert "is missing" not in init(tmp_path, "--profile", profile, "--check")


@pytest.mark.smoke
def test_check_writes_nothing(tmp_path: Path) -> None:
    told = init(tmp_path, "--check", status=1)
    assert ".vscode/launch.json: is missing" in told
    assert list(tmp_path.iterdir()) == []


def test_commented_files_keep_all_that_they_have(tmp_path: Path) -> None:
    folder = tmp_path / ".vscode"
    folder.mkdir()
    for name, text in COMMENTED.items():
        (folder / name).write_text(text)
    told = init(tmp_path, "--profile", "extension", "--check", status=1)
    assert ".vscode/launch.json: configurations > dualdbg: this file is missing" in told
    assert ".vscode/settings.json: debug.allowBreakpointsEverywhere differs: false, and not true" in told
    assert read(tmp_path) == COMMENTED
    told = init(tmp_path, "--profile", "extension")
    assert ".vscode/launch.json: added configurations > dualdbg: this file" in told
    assert "kept yours where it differs: configurations > Linux differs: includePath is missing" in told
    after = read(tmp_path)
    for name, text in COMMENTED.items():
        lines = iter(after[name].splitlines())
        kept = [line for line in text.splitlines() if "tasks" not in line and line.strip("\t }],") != ""]
        assert all(any(line in other for other in lines) for line in kept), after[name]
    names = [each["name"] for each in value(after["launch.json"])["configurations"]]
    assert names[:2] == ["mine", "dualdbg: this file"]
    assert "/* none yet */" in after["tasks.json"]
    assert after["settings.json"] == COMMENTED["settings.json"]
    init(tmp_path, "--profile", "extension")
    assert read(tmp_path) == after


def test_pytorch_checkout_is_known_by_its_layout(tmp_path: Path) -> None:
    for name in ("torch/csrc/autograd", "aten/src/ATen/native", "c10/core"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "setup.py").write_text("")
    (tmp_path / "aten/src/ATen/native/TensorFactories.cpp").write_text("")
    assert init(tmp_path).startswith("profile pytorch-source")
    files = read(tmp_path)
    (build,) = (
        task for task in value(files["tasks.json"])["tasks"] if task["label"] == "build: PyTorch, debug"
    )
    switches = {**build["options"]["env"]}
    assert switches.pop("CMAKE_EXPORT_COMPILE_COMMANDS") == "1"
    assert switches.pop("DEBUG") == "1"
    off = ["DISTRIBUTED", "MKLDNN", "CUDA", "FBGEMM", "NNPACK", "QNNPACK", "XNNPACK"]
    assert switches == {**{f"USE_{name}": "0" for name in off}, "BUILD_TEST": "0"}
    (linux,) = value(files["c_cpp_properties.json"])["configurations"]
    assert linux["compileCommands"] == "${workspaceFolder}/build/compile_commands.json"
    assert "is missing" not in init(tmp_path, "--check")


def test_a_folder_that_is_no_checkout_is_told_of(tmp_path: Path) -> None:
    """The files are written all the same: the checkout may come later."""
    (tmp_path / "setup.py").write_text("")
    told = init(tmp_path, "--profile", "pytorch-source")
    assert f"{tmp_path} is not a checkout of PyTorch: it has no torch/csrc, no aten/src; the tasks" in told
    assert "or leave --profile away: then it is pytorch-user" in told
    assert "build: PyTorch, debug" in read(tmp_path)["tasks.json"]
    for name in ("torch/csrc", "aten/src"):
        (tmp_path / name).mkdir(parents=True)
    assert "is not" not in init(tmp_path, "--profile", "pytorch-source")
    assert "is not" not in init(tmp_path / "torch", "--profile", "pytorch-user")


def test_jobs_of_a_build_fit_into_memory(tmp_path: Path) -> None:
    init(tmp_path, "--profile", "pytorch-source")
    (build,) = (
        task
        for task in value(read(tmp_path)["tasks.json"])["tasks"]
        if task["label"] == "build: PyTorch, debug"
    )
    until_pip = build["command"].partition("; '${command")[0]
    shown = subprocess.run(["sh", "-c", until_pip], capture_output=True, text=True, check=True).stdout
    jobs = int(shown.split()[2])
    available = int(Path("/proc/meminfo").read_text().partition("MemAvailable:")[2].split()[0])
    assert 1 <= jobs <= min(os.cpu_count() or 1, max(1, available // 2000000))


@pytest.mark.parametrize(
    ("files", "profile"),
    [
        (("train.py",), "pytorch-user"),
        (("setup.py", "src/module.cpp"), "extension"),
        (("fast.pyx",), "extension"),
        (("main.py", "build/generated.cpp", ".venv/x.c"), "pytorch-user"),
    ],
)
def test_guess(tmp_path: Path, files: tuple[str, ...], profile: str) -> None:
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    assert init(tmp_path, "--check", status=1).startswith(f"profile {profile}:")


def test_settings_of_the_remote_profile_are_for_the_user_to_fill(tmp_path: Path) -> None:
    init(tmp_path, "--profile", "remote")
    settings = tmp_path / ".vscode/settings.json"
    settings.write_text(settings.read_text().replace("user@server", "me@gpu-7"))
    init(tmp_path, "--profile", "remote", "--check", status=0)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (b"{ nonsense", "launch.json, line 1, column 3: a name in quotes was expected"),
        (b"\xff{}", "launch.json is not UTF-8: byte 0"),
    ],
)
def test_a_broken_file_is_named_and_nothing_is_written(tmp_path: Path, text: bytes, what: str) -> None:
    (tmp_path / ".vscode").mkdir()
    (tmp_path / ".vscode/launch.json").write_bytes(text)
    assert what in init(tmp_path, status=2)
    assert [path.name for path in (tmp_path / ".vscode").iterdir()] == ["launch.json"]
    assert (tmp_path / ".vscode/launch.json").read_bytes() == text


def test_bad_arguments(tmp_path: Path) -> None:
    assert "there is no folder" in init(tmp_path / "none", status=2)
    assert "is no port" in init(tmp_path, "--port", "70000", status=2)
    assert "invalid choice" in init(tmp_path, "--profile", "rust", status=2)
    assert "there is no such file" in init(tmp_path, "--python", "/none/python", status=2)


def test_a_link_stays_a_link_and_permissions_stay(tmp_path: Path) -> None:
    (tmp_path / ".vscode").mkdir()
    elsewhere = tmp_path / "shared-settings.json"
    elsewhere.write_text("{}")
    elsewhere.chmod(0o640)
    (tmp_path / ".vscode/settings.json").symlink_to(elsewhere)
    init(tmp_path, "--profile", "extension")
    assert (tmp_path / ".vscode/settings.json").is_symlink()
    assert elsewhere.stat().st_mode & 0o777 == 0o640
    assert value(elsewhere.read_text())["debug.allowBreakpointsEverywhere"] is True


# The properties that VS Code adds to each type's own (debugger.ts, getSchemaAttributes, 1.96).
COMMON = {
    "name": {"type": "string"},
    "type": {"type": "string"},
    "request": {"enum": ["launch", "attach"]},
    "debugServer": {"type": "number"},
    "preLaunchTask": {"type": ["string", "object"]},
    "postDebugTask": {"type": ["string", "object"]},
    "internalConsoleOptions": {"enum": ["neverOpen", "openOnSessionStart", "openOnFirstSessionStart"]},
    "suppressMultipleSessionWarning": {"type": "boolean"},
    "presentation": {
        "type": "object",
        "properties": {
            "hidden": {"type": "boolean"},
            "group": {"type": "string"},
            "order": {"type": "number"},
        },
        "additionalProperties": False,
    },
    "linux": {"type": "object"},
    "osx": {"type": "object"},
    "windows": {"type": "object"},
}


def vscode_schema(types: dict[str, Any]) -> dict[str, Any]:
    """What VS Code holds a launch.json against: one alternative for each type and request."""
    alternatives = []
    for name, debugger in types.items():
        for request, attributes in debugger["configurationAttributes"].items():
            alternatives.append(
                {
                    "type": "object",
                    "properties": {
                        **attributes.get("properties", {}),
                        **COMMON,
                        "type": {"const": name},
                        "request": {"const": request},
                    },
                    "required": ["name", "type", "request", *attributes.get("required", [])],
                    "additionalProperties": False,
                }
            )
    compound = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "presentation": COMMON["presentation"],
            "configurations": {"type": "array", "items": {"type": "string"}},
            "stopAll": {"type": "boolean"},
            "preLaunchTask": {"type": "string"},
        },
        "required": ["name", "configurations"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "version": {"type": "string"},
            "configurations": {"type": "array", "items": {"anyOf": alternatives}},
            "compounds": {"type": "array", "items": compound},
            "inputs": {"type": "array"},
        },
        "required": [],
        "additionalProperties": False,
    }


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    path = SHARED / "schemas/vscode_debuggers.json"
    require(path.is_file(), f"{path} is missing", outside=True)
    return vscode_schema(json.loads(path.read_text()))


@pytest.mark.parametrize("profile", PROFILES)
def test_vscode_accepts_launch_json(tmp_path: Path, profile: str, schema: dict[str, Any]) -> None:
    init(tmp_path, "--profile", profile)
    launch = value(read(tmp_path)["launch.json"])
    jsonschema.validate(launch, schema)
    for entry in launch["configurations"]:  # the schema is one that refuses
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({"configurations": [{**entry, "stopAtEntry": True, "cwd": "/"}]}, schema)


@pytest.mark.parametrize("profile", PROFILES)
def test_names_lead_somewhere(tmp_path: Path, profile: str) -> None:
    """Tasks, inputs, configurations and settings that are named exist."""
    init(tmp_path, "--profile", profile)
    files = dict.fromkeys(FILES, "{}") | read(tmp_path)
    launch = value(files["launch.json"])
    labels = {task["label"] for task in value(files["tasks.json"]).get("tasks", [])}
    assert {each["preLaunchTask"] for each in launch["configurations"] if "preLaunchTask" in each} <= labels
    for name in ("launch.json", "tasks.json"):
        inputs = {each["id"] for each in value(files[name]).get("inputs", [])}
        assert set(re.findall(r"\$\{input:([^}]+)\}", files[name])) == inputs
    for name in ("dualdbg.remote.host", "dualdbg.remote.folder", "dualdbg.remote.command"):
        assert (f"${{config:{name}}}" in files["tasks.json"]) == (name in value(files["settings.json"]))


def test_files_of_dualdbg_0_2_are_replaced_where_nobody_has_changed_them(tmp_path: Path) -> None:
    """They had the entries of the profile "port", by names without "(port)"."""
    init(tmp_path, "--profile", "port", "--port", "7001", "--dualdbg", "/opt/dualdbg")
    former = {name: text.replace(" (port)", "") for name, text in read(tmp_path).items()}
    for name, text in former.items():
        (tmp_path / ".vscode" / name).write_text(text)
    told = init(tmp_path)
    assert ".vscode/launch.json: replaced, for it was as dualdbg 0.2 wrote it" in told
    assert ".vscode/tasks.json: removed" in told
    after = read(tmp_path)
    assert "tasks.json" not in after and "7001" not in after["launch.json"]
    changed = former["launch.json"].replace('"justMyCode": true', '"justMyCode": false')
    (tmp_path / ".vscode/launch.json").write_text(changed)
    told = init(tmp_path)
    assert "kept yours where it differs: configurations > dualdbg: this file differs" in told
    assert "added configurations > dualdbg: tests" in told


def test_entries_of_templates_begin_on_lines_of_their_own() -> None:
    """What merging a template relies on."""
    for path in resource_directory("vscode_templates").glob("*/*.json"):
        if path.parent.name in ("extension_package", "editors"):
            continue
        text = path.read_text()
        root = parse(text, str(path))
        assert root is not None and root.members is not None
        for node in root.members.values():
            for entry in (node, *(node.items or ())):
                line = text[text.rfind("\n", 0, entry.start) + 1 : entry.start]
                assert line.strip() == "" or line.strip().startswith('"'), (path, line)
