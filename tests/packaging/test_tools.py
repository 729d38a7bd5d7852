"""The helpers of the Makefile: what they find, and what they say when they find nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from tests.support import ROOT, require


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A folder to be PATH, with the few programs that the scripts themselves are made of."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "dirname", "tr", "id", "rm", "mktemp", "cat"):
        (folder / name).symlink_to(require(shutil.which(name), name))
    return folder


def run(script: str, *arguments: str, path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ROOT / "scripts" / script), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={"PATH": str(path), **environment},
        timeout=patient(60),
    )


def add_program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)


@pytest.mark.smoke
def test_find_python_passes_over_what_does_not_run(bare_path: Path) -> None:
    add_program(bare_path, "python3", "#!/bin/sh\nexit 127\n")  # a pyenv shim without a version does this
    add_program(bare_path, "python3.12", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    done = run("find-python", path=bare_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{bare_path}/python3.12\n", "")


def test_find_python_says_that_there_is_none(bare_path: Path) -> None:
    done = run("find-python", path=bare_path)
    assert done.returncode == 1
    assert "no Python of version 3.10 or later is on PATH" in done.stderr


def test_find_python_takes_the_named_one_or_none(bare_path: Path) -> None:
    add_program(bare_path, "python3", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    done = run("find-python", path=bare_path, PYTHON="no-such-python")
    assert done.returncode == 1
    assert "PYTHON=no-such-python is not a Python of version 3.10 or later" in done.stderr
    assert run("find-python", path=bare_path, PYTHON=sys.executable).stdout == f"{sys.executable}\n"


def test_ensure_tools_names_what_it_cannot_install(bare_path: Path) -> None:
    done = run("ensure-tools", "venv", "gdb", "g++", path=bare_path, PYTHON=sys.executable)
    assert done.returncode == 1
    assert done.stderr == "ensure-tools: please install: gdb g++\n"


def test_ensure_tools_is_silent_when_all_is_there(bare_path: Path) -> None:
    for name in ("gdb", "g++"):
        add_program(bare_path, name, "#!/bin/sh\n")
    done = run("ensure-tools", "venv", "gdb", "g++", path=bare_path, PYTHON=sys.executable)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


APT = """#!/bin/sh
for last; do :; done
case $1:$last in
    install:neovim) echo '#!/bin/sh' > "$BIN/nvim"; chmod +x "$BIN/nvim" ;;
    install:tmux) echo "no space left" >&2; exit 100 ;;
    show:neovim | show:tmux | show:gdb) ;;
    *) exit 1 ;;
esac
"""


def test_ensure_tools_installs_wishes_where_it_can(bare_path: Path) -> None:
    """One is installed, one of them cannot be, and of one there is no package."""
    (bare_path / "id").unlink()
    add_program(bare_path, "id", "#!/bin/sh\necho 0\n")
    (bare_path / "chmod").symlink_to(require(shutil.which("chmod"), "chmod"))
    for name in ("apt-get", "apt-cache"):
        add_program(bare_path, name, APT)
    wishes = ("nvim", "tmux", "python3.77")
    done = run(
        "ensure-tools",
        "venv",
        "--if-possible",
        *wishes,
        path=bare_path,
        PYTHON=sys.executable,
        BIN=str(bare_path),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "installing neovim\ninstalling tmux\nnot here, and what needs them is skipped: tmux python3.77\n"
    )


def test_ensure_tools_passes_over_wishes_where_it_installs_nothing(bare_path: Path) -> None:
    done = run("ensure-tools", "venv", "--if-possible", "nvim", path=bare_path, PYTHON=sys.executable)
    shown = "not here, and what needs them is skipped: nvim\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, shown, "")


def test_make_help_lists_every_target() -> None:
    make = require(shutil.which("make"), "make")
    shown = subprocess.run([make, "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (phony,) = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    targets = [name for name in phony.split() if not name.startswith("tools-")]
    assert re.findall(r"^make (\S+) +\S", shown, re.MULTILINE) == targets


@pytest.mark.slow
def test_an_environment_that_was_left_half_done_is_made_anew(tmp_path: Path) -> None:
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    add_program(venv / "bin", "python", "#!/bin/sh\necho broken >&2; exit 1\n")
    (venv / ".installing").touch()
    # It gets the pip of this environment: to install one takes a quarter of a minute.
    ours = sysconfig.get_path("purelib")
    add_program(
        tmp_path,
        "python3",
        f'#!/bin/sh\n[ "$2" = venv ] || exec "{sys.executable}" "$@"\n'
        f'"{sys.executable}" -m venv --without-pip "$3"\n'
        f'for packages in "$3"/lib/python*/site-packages; do echo "{ours}" > "$packages/ours.pth"; done\n',
    )
    done = run("install", str(venv), "pip", path=Path("/usr/bin:/bin"), PYTHON=str(tmp_path / "python3"))
    assert (done.returncode, done.stderr) == (0, ""), done
    assert not (venv / ".installing").exists()
    assert (
        subprocess.run([venv / "bin/python", "-m", "pip", "--version"], capture_output=True).returncode == 0
    )
