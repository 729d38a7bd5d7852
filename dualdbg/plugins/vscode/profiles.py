"""What ``dualdbg vscode init`` writes: profiles, made from ``vscode_templates/``, and the values that fill them."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ...errors import TargetError
from ...shared.trust import objection
from ...system.resources import resource_directory
from ...target import interpreter
from .merge import merge

FILES = ("launch.json", "tasks.json", "settings.json", "c_cpp_properties.json")

# Settings that the user fills in: any value in the file is right.
USERS_OWN = frozenset({"dualdbg.remote.host", "dualdbg.remote.folder", "dualdbg.remote.command"})

# Problem matchers for the output of a task. They are written out: a name such as $gcc needs an extension.
_MATCHERS = ("ready", "gcc")

_NATIVE_SUFFIXES = frozenset({".c", ".cc", ".cpp", ".cxx", ".cu", ".pyx"})
_SKIPPED = frozenset({"build", "dist", "node_modules", "third_party", "site-packages", "__pycache__"})
_DEEPEST = 3  # folders below the project in which native sources are looked for


@dataclass(frozen=True)
class Profile:
    """``folders`` of the templates, whose entries come in this order. ``breakpoint``: a place offered to stop at.

    ``needs``: what its tasks are about, which a project of this kind has.
    """

    description: str
    folders: tuple[str, ...]
    breakpoint: str
    needs: tuple[str, ...] = ()


PROFILES = {
    "extension": Profile("a project with a native extension", ("extension", "common"), "module.cpp:1"),
    "pytorch-user": Profile("a program that uses PyTorch as pip installs it", ("common",), "randn"),
    "pytorch-source": Profile(
        "a checkout of PyTorch",
        ("pytorch-source", "common"),
        "at::native::randn",
        ("torch/csrc", "aten/src", "setup.py"),
    ),
    "port": Profile("an editor that connects to a port, on which a task listens", ("port",), "randn"),
    "remote": Profile("the program on a server, the editor elsewhere", ("remote",), ""),
}
_PORT_SUFFIX = " (port)"  # of names in the profile "port"
FORMERLY = (
    "launch.json",
    "tasks.json",
)  # as 0.2 wrote them in all profiles but "remote": those of "port", without the suffix


@dataclass(frozen=True)
class Values:
    """What is put into the templates: ``dualdbg`` is the command, ``port`` the first of two that sessions use, and
    ``adapter`` the file that Microsoft's extension starts."""

    dualdbg: str
    adapter: str
    port: int
    gdb: str
    include_path: tuple[str, ...]


def guess(folder: Path) -> str:
    """The profile that fits what lies in ``folder``."""
    if not missing("pytorch-source", folder):
        return "pytorch-source"
    return "extension" if _has_native_source(folder) else "pytorch-user"


def missing(profile: str, folder: Path) -> list[str]:
    """What a profile's tasks are about and ``folder`` does not have."""
    return [path for path in PROFILES[profile].needs if not (folder / path).exists()]


def generate(profile: str, values: Values) -> dict[str, str]:
    """The text of each file of a profile, by its name in ``.vscode``."""
    chosen = PROFILES[profile]
    return _generate(chosen, chosen.folders, values, _PORT_SUFFIX)


def is_former(name: str, text: str, profile: str, values: Values) -> bool:
    """Whether the file ``name`` is as dualdbg 0.2 wrote it for the profile, with whatever port and command."""
    chosen = PROFILES[profile]
    if name not in FORMERLY or "common" not in chosen.folders:
        return False
    port, command = 61000, "the command of dualdbg"
    folders = tuple("port" if folder == "common" else folder for folder in chosen.folders)
    former = _generate(chosen, folders, replace(values, port=port, dualdbg=command), "")[name]
    pattern = re.escape(former).replace(str(port), r"\d+").replace(str(port + 1), r"\d+")
    return re.fullmatch(pattern.replace(re.escape(command), r'[^"\n]+'), text) is not None


def _generate(chosen: Profile, folders: Sequence[str], values: Values, port_suffix: str) -> dict[str, str]:
    templates = resource_directory("vscode_templates")
    words = {
        **asdict(values),
        "port_suffix": port_suffix,
        "attach_port": values.port + 1,
        "breakpoint": chosen.breakpoint,
        **{name: _read(templates / f"{name}.json") for name in _MATCHERS},
    }
    texts: dict[str, str] = {}
    for name in FILES:
        for folder in folders:
            template = templates / folder / name
            if template.is_file():
                text = _fill(template.read_text(encoding="utf-8"), words)
                texts[name] = merge(text, texts[name], name).text if name in texts else text
    return texts


def own_command(folder: Path) -> str:
    """The command that starts this dualdbg in a task of the project in ``folder``: by name where that finds it."""
    script = Path(sys.executable).with_name("dualdbg")
    by_name = shutil.which("dualdbg", path=_path_without_environment())
    if by_name is not None and (not script.exists() or Path(by_name).samefile(script)):
        return "dualdbg"
    return within(folder, script) if script.exists() else by_name or "dualdbg"


def debug_adapter(folder: Path) -> str:
    """The file ``debug_adapter.py`` as pip has installed it, for the project in ``folder``. Raises TargetError."""
    file = Path(sys.executable).with_name("dualdbg-debug-adapter")
    if not file.exists():
        raise TargetError(f"vscode: there is no {file}", "install dualdbg again with pip")
    if file.is_relative_to(Path.home()) and not file.is_relative_to(folder):
        return f"${{userHome}}/{file.relative_to(Path.home())}"  # the same for a whole team
    return within(folder, file)


def interpreter_of(folder: Path, otherwise: str) -> tuple[str, str]:
    """The interpreter of the project's own environment, or ``otherwise``; and why the project's one is not used.

    The interpreter will be run, so the environment and the project's folder have to belong to the user.
    """
    for name in (".venv", "venv", "env"):
        python = folder / name / "bin" / "python"
        if python.exists():
            places = (folder, folder / name, python.parent, python)
            why = next((why for why in map(objection, places) if why is not None), "")
            return (otherwise, f"{python} is not used: {why}") if why else (str(python), "")
    return otherwise, ""


_ASK = """
folders = [sysconfig.get_path("include")]
for name in ("torch", "pybind11"):
    spec = find(name)
    for place in (spec.submodule_search_locations or []) if spec else []:
        include = os.path.join(place, "include")
        api = os.path.join(include, "torch", "csrc", "api", "include")
        folders += [each for each in (include, api) if os.path.isdir(each)]
print("\\ndualdbg:" + json.dumps({"folders": folders}))
"""


def include_path(folder: Path, python: str) -> tuple[str, ...]:
    """Where the C++ extension finds headers: the project, Python, PyTorch, pybind11. Raises UsageError."""
    folders = interpreter.ask(interpreter.find(python), _ASK)["folders"]
    return ("${workspaceFolder}/**", *(within(folder, Path(each)) for each in folders))


def within(folder: Path, path: Path) -> str:
    """``path`` as VS Code's files name it: below the project by ``${workspaceFolder}``."""
    try:
        return f"${{workspaceFolder}}/{path.relative_to(folder)}"
    except ValueError:
        return str(path)


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _fill(text: str, words: Mapping[str, Any]) -> str:
    """A placeholder ``@name@`` becomes its value: where it is a whole text, as JSON, else within the text."""

    def whole(found: re.Match[str]) -> str:
        margin = re.match(" *", found.group(1))
        indent = margin.group() if margin else ""
        value = json.dumps(words[found.group(2)], indent=4, ensure_ascii=False)
        return found.group(1) + value.replace("\n", "\n" + indent)

    text = re.sub(r'^(.*)"@(\w+)@"', whole, text, flags=re.MULTILINE)
    return re.sub(r"@(\w+)@", lambda found: str(words[found.group(1)]), text)


def _has_native_source(folder: Path) -> bool:
    for where, folders, files in os.walk(folder):
        depth = len(Path(where).relative_to(folder).parts)
        folders[:] = [
            name for name in folders if depth < _DEEPEST and name not in _SKIPPED and name[0] not in "._"
        ]
        if any(Path(name).suffix in _NATIVE_SUFFIXES for name in files):
            return True
    return False


def _path_without_environment() -> str:
    """PATH as a new terminal has it: without the virtual environment that is active here."""
    active = os.environ.get("VIRTUAL_ENV")
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(each for each in folders if not active or Path(each) != Path(active) / "bin")
