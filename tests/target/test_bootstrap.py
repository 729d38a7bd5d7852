"""The program behaves as it does without a debugger: the same output, errors and exit status, byte for byte."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from dualdbg.system.patience import patient
from dualdbg.target.launcher import BOOTSTRAP, Launch
from tests import rows, support

from .client import Outcome, run_to_its_end
from .programs import PROGRAMS, Program

OTHERS = [row for row in rows.versions() if row.values != (rows.OURS,)]

# What depends on how the interpreter starts, forks, traces and ends: other versions run these. The errors and ends of
# the rest are told by code that is the same for all.
IN_EACH = (
    "surroundings",
    "surroundings-module",
    "surroundings-code",
    "surroundings-flags",
    "traceback",
    "traceback-in-thread",
    "traceback-recursion",
    "interactive",
    "atexit",
    "multiprocessing",
    "fork",
    "fork-with-threads",
    "exec",
    "own-sitecustomize",
    "modules",
    "modules-shadowed",
    "modules-shadowed-elsewhere",
    "thread-names",
    "left-to-the-end",
    "no-breakpoints",
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_plain_python(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    if sys.version_info < program.since:
        pytest.skip(support.OUTSIDE + f"Python {program.since} has this first")
    plain, debugged = both(program, sys.executable, tmp_path)
    assert debugged == plain


@pytest.mark.slow
@pytest.mark.parametrize("version", OTHERS)
def test_what_depends_on_the_version_is_the_same_in_another_one(version: str, tmp_path: Path) -> None:
    same_in_another_version(version, IN_EACH, tmp_path)


@pytest.mark.exhaustive
@pytest.mark.parametrize("version", OTHERS)
def test_same_as_plain_python_in_another_version(version: str, tmp_path: Path) -> None:
    same_in_another_version(version, PROGRAMS, tmp_path)


def same_in_another_version(version: str, names: Iterable[str], tmp_path: Path) -> None:
    python = support.other_interpreter(version)
    wanted = tuple(map(int, version.split(".")))
    different = {}
    for name in names:
        program = PROGRAMS[name]
        if wanted >= program.since:
            folder = tmp_path / name
            folder.mkdir()
            plain, debugged = both(program, str(python), folder, tmp_path / "cache")
            if plain != debugged:
                different[name] = (plain, debugged)
    assert different == {}


Ended = tuple[Outcome, list[str]]


def both(program: Program, python: str, folder: Path, cache: Path | None = None) -> tuple[Ended, Ended]:
    """What the program does without us, and under the bootstrap."""
    for path, text in {**program.files, **({"main.py": program.main} if program.main else {})}.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text)
    launch = Launch(
        python,
        program.script,
        program.module,
        program.code,
        program.args,
        str(folder),
        program.env,
        program.flags,
        stdin="pipe",
        stdout="pipe",
        stderr="pipe",
    )
    plain = run_plainly(launch, program.stdin), left_by(program, folder)
    debugged = asyncio.run(run_to_its_end(launch, program.stdin, cache=cache)), left_by(program, folder)
    return plain, debugged


def left_by(program: Program, folder: Path) -> list[str]:
    """What the program's files have in them; they are gone then."""
    texts = [(folder / name).read_text() for name in program.leaves]
    for name in program.leaves:
        (folder / name).unlink()
    return texts


def run_plainly(launch: Launch, stdin: bytes) -> Outcome:
    done = subprocess.run(
        launch.command(),
        input=stdin,
        capture_output=True,
        cwd=launch.cwd,
        env={**os.environ, **launch.env},
        timeout=patient(60),
    )
    return Outcome(done.stdout.decode(), done.stderr.decode(), done.returncode)


@pytest.mark.slow
def test_a_hundred_megabytes_without_a_newline(tmp_path: Path) -> None:
    program = Program("import sys\nfor _ in range(100):\n    sys.stdout.write('x' * 1000000)")
    plain, debugged = both(program, sys.executable, tmp_path)
    assert len(debugged[0].stdout) == 100_000_000
    assert debugged == plain


@pytest.mark.parametrize("version", [pytest.param(rows.OURS), *OTHERS])
def test_a_folder_of_pythonpath_may_have_any_module_of_the_standard_library(
    version: str, tmp_path: Path
) -> None:
    """What the interpreter has not imported by then is for the program alone."""
    interpreter = sys.executable if version == rows.OURS else support.other_interpreter(version)
    # A Python without packages: files of theirs (*.pth) import when it starts, from that folder too.
    subprocess.run([interpreter, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = str(tmp_path / "venv/bin/python")
    words = [python, "-c", "import sys; print(*sys.modules)"]
    begun = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    # A module of the last name would be imported by each file of the standard library that has such a statement.
    own = {*begun, "sitecustomize", "usercustomize", "__future__"}
    names = [name for name in sys.stdlib_module_names if name not in own]
    files = {f"lib/{name}.py": "raise SystemExit('run: ' + __name__)" for name in names}
    program = Program("print('begins')\nimport random", files=files, env={"PYTHONPATH": "lib"})
    plain, debugged = both(program, python, tmp_path, tmp_path / "cache")
    assert plain[0].stdout == "begins\n" and plain[0].stderr == "run: random\n"
    assert debugged == plain


FROZEN = """
import importlib.util, sys
sys.path.insert(0, sys.argv[1])
import dualdbg_imports
class Loader:
    def create_module(self, spec): return None
    def exec_module(self, module): module.of = "the application"
class Place:
    def __init__(self, entry):
        if entry != "application": raise ImportError(entry)
    def find_spec(self, name, target=None): return importlib.util.spec_from_loader(name, Loader())
sys.path_hooks.append(Place)
for path in sys.argv[2:]:
    sys.path[0] = path
    with dualdbg_imports.StandardLibrary():
        try:
            import nt
        except ModuleNotFoundError as error:
            print(error)
        else:
            print(sys.modules.pop("nt").of)
"""


def test_an_application_may_have_the_standard_library_in_a_place_of_its_own(tmp_path: Path) -> None:
    """As one that is frozen; and a folder, one without a file, and an archive are none."""
    (tmp_path / "file").mkdir()
    (tmp_path / "file" / "nt.py").write_text("of = 'the file'")
    (tmp_path / "folder" / "nt").mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("nt.py", "of = 'the archive'")
    places = ["application", *(str(tmp_path / name) for name in ("file", "folder", "archive.zip"))]
    words = [sys.executable, "-I", "-c", FROZEN, str(BOOTSTRAP), *places]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["the application", *["No module named 'nt'"] * 3]


@pytest.mark.parametrize(("limit", "kept"), [(1024, 500), (520, 3), (64, 3)])
def test_what_a_library_keeps_open_is_not_in_the_programs_way(limit: int, kept: int) -> None:
    """Some libffi keeps a descriptor open when pydevd imports ctypes: the program's own have their numbers."""
    program = (
        "import importlib.util, os, resource, sys\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[2]),) * 2)\n"
        "spec = importlib.util.spec_from_file_location('ours', sys.argv[1])\n"
        "ours = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(ours)\n"
        "taken = ours.take_low_descriptors()\n"
        "kept = os.open('/dev/null', os.O_RDONLY)\n"
        "for one in taken: os.close(one)\n"
        "print(kept, os.open('/dev/null', os.O_RDONLY))\n"
    )
    words = [sys.executable, "-I", "-c", program, BOOTSTRAP / "sitecustomize.py", str(limit)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(kept), "3" if kept == 500 else "4"]
