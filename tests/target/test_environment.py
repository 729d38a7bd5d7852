"""What is started for ourselves runs nothing that the user set up for others: gdb, and interpreters that are asked."""

from __future__ import annotations

import ast
import asyncio
import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from dualdbg.backends.gdb import GdbEngine, GdbOptions
from dualdbg.backends.wirelog import WireLog
from dualdbg.errors import UsageError
from dualdbg.plugins.vscode.profiles import include_path
from dualdbg.symbols.callables.native_entries import find_entries
from dualdbg.system.environment import for_gdb, for_questions, own_module
from dualdbg.system.resources import resource_directory
from dualdbg.target import doctor, interpreter
from tests import rows, support

# Every call in dualdbg that starts a program without saying which environment it gets, and why that is right.
WITH_OUR_ENVIRONMENT = {
    "dualdbg/cli/terminal_guard.py": "stty, for the user's terminal",
    "dualdbg/target/doctor.py": "/bin/sh, which waits to be traced",
    "dualdbg/target/become.py": "becomes dualdbg's helper in an editor's terminal, or the user's program",
    "dualdbg/plugins/pytest_plugin/debugger.py": "becomes dualdbg, whose program is the user's tests",
    "dualdbg/plugins/job/fan_out.py": "ssh, srun, kubectl and their like, as the user runs them",
    "dualdbg/plugins/job/launchers.py": "the same, asked for the nodes of a job",
    "dualdbg/plugins/job/ray_node.py": "runs on a node, where the launcher has made its environment",
    "dualdbg/system/in_thread.py": "what its callers give it",
    "dualdbg/target/scope.py": "sudo, which cleans it",
    "dualdbg/plugins/vscode/extension.py": "the user's editor",
    "dualdbg/plugins/vscode/debug_adapter.py": "becomes dualdbg, whose programs are to have what the editor gave",
}
STARTERS = {
    "subprocess": {"Popen", "run", "call", "check_call", "check_output"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "os": {"execv", "execvp", "execl", "execlp", "system", "popen", "posix_spawn", "spawnv"},
}


def test_every_program_that_is_started_gets_an_environment_on_purpose() -> None:
    found = set()
    for path in sorted((support.ROOT / "dualdbg").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            starts = node.func.attr in STARTERS.get(ast.unparse(node.func.value), ())
            if starts and not any(keyword.arg == "env" for keyword in node.keywords):
                found.add(str(path.relative_to(support.ROOT)))
    assert found == set(WITH_OUR_ENVIRONMENT)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """Is made by everything of :func:`hostile` that runs."""
    return tmp_path / "somebody-ran"


@pytest.fixture
def hostile(tmp_path: Path, marker: Path) -> Path:
    """A folder with modules, start-up files and a sitecustomize that each tell that they ran."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    text = f"open({str(marker)!r}, 'a').write(__file__ + '\\n')\n"
    names = "json sys os sysconfig site ctypes inspect importlib re copy dataclasses sitecustomize usercustomize gdb"
    for name in names.split():
        (folder / f"{name}.py").write_text(text)
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text(text)
    (folder / "start.sh").write_text(f"echo start.sh >> {marker}\n")
    (folder / ".gdbinit").write_text(f"shell echo .gdbinit >> {marker}\n")
    (folder / ".gdbearlyinit").write_text(f"shell echo .gdbearlyinit >> {marker}\n")
    (folder / "gdb").mkdir()
    (folder / "gdb" / "gdbinit").write_text(f"shell echo gdb/gdbinit >> {marker}\n")
    return folder


def variables(folder: Path) -> dict[str, str]:
    """An environment in which whatever is started carelessly runs something of ``folder``, or fails."""
    return {
        **os.environ,
        "PYTHONPATH": str(folder),
        "PYTHONHOME": "/no/such/home",
        "PYTHONSTARTUP": str(folder / "sys.py"),
        "PYTHONWARNINGS": "error",
        "PYTHONINSPECT": "1",
        "PYTHONUSERBASE": str(folder),
        "PYTHONMALLOC": "no-such-allocator",
        "BASH_ENV": str(folder / "start.sh"),
        "ENV": str(folder / "start.sh"),
        "BASH_FUNC_exec%%": f'() {{ echo function >> {folder.parent}/somebody-ran; builtin exec "$@"; }}',
        "HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }


def wrapper(folder: Path) -> str:
    """An interpreter that is a script of bash, as pyenv's shims are."""
    path = folder / "python"
    path.write_text(f'#!/bin/bash\nexec {sys.executable} "$@"\n')
    path.chmod(0o755)
    return str(path)


def test_an_interpreter_is_asked_without_running_anything_else(
    hostile: Path, marker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile)
    for path in (sys.executable, wrapper(tmp_path)):
        facts = interpreter.inspect(path, variables(hostile))
        assert facts.version == sys.version_info[:3]
        assert facts.torch == str(hostile / "torch"), "the program would import this one"
        assert not marker.exists(), marker.read_text()


def test_what_vscode_asks_runs_nothing_else(
    hostile: Path, marker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile)
    for name, value in variables(hostile).items():
        monkeypatch.setenv(name, value)
    assert include_path(hostile, wrapper(tmp_path))[0] == "${workspaceFolder}/**"
    assert not marker.exists(), marker.read_text()


def test_a_reader_of_callables_imports_what_it_is_asked_for_and_no_more(hostile: Path, marker: Path) -> None:
    library = sysconfig.get_path("stdlib")
    [answer] = find_entries(
        sys.executable,
        ["math.sin"],
        directory=hostile,
        environment=variables(hostile),
        search_path=[library, f"{library}/lib-dynload", str(hostile)],
    )
    assert answer.entries and answer.error is None
    assert not marker.exists(), marker.read_text()


def test_bash_given_for_an_interpreter_runs_nothing(hostile: Path, marker: Path) -> None:
    with pytest.raises(UsageError, match="is not a Python interpreter"):
        interpreter.inspect("/bin/bash", variables(hostile))
    assert not marker.exists(), marker.read_text()


async def _python_in_gdb(folder: Path) -> str:
    gdb = support.require(shutil.which("gdb"), "gdb")
    engine = GdbEngine(
        GdbOptions(gdb, resource_directory("gdb_scripts"), WireLog(None, "gdb", 0.0)), lambda event: None
    )
    await engine.start()
    try:
        return await engine.user_command(
            "python import os, sys; print(sorted(name for name in os.environ if name.startswith('PYTHON')), sys.path)"
        )
    finally:
        await engine.close()


def test_gdb_s_python_is_not_the_user_s(hostile: Path, marker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(hostile)
    for name, value in variables(hostile).items():
        monkeypatch.setenv(name, value)
    told = asyncio.run(_python_in_gdb(hostile))
    assert told.startswith("['PYTHONNOUSERSITE'] ")
    assert str(hostile) not in told
    [finding] = doctor.check_gdb(None)
    assert finding.status is doctor.Status.OK
    assert not marker.exists(), marker.read_text()


def test_a_module_of_ours_runs_from_any_folder(hostile: Path, marker: Path) -> None:
    done = subprocess.run(
        [*own_module("dualdbg"), "--version"],
        cwd=hostile,
        env={**os.environ, "PYTHONPATH": str(hostile)},
        capture_output=True,
        text=True,
    )
    assert (done.stdout[:8], done.stderr) == ("dualdbg ", "")
    assert not marker.exists(), marker.read_text()


def test_nothing_that_runs_code_is_passed_on(hostile: Path) -> None:
    environ = {**variables(hostile), "LD_PRELOAD": "x", "LD_AUDIT": "x", "PATH": "/bin", "LC_ALL": "C"}
    assert {"PATH", "HOME", "LC_ALL"} <= for_questions(environ).keys()
    for kept in (for_questions(environ), for_gdb(environ)):
        named = [name for name in kept if name.startswith(("PYTHON", "BASH_"))]
        assert named in ([], ["PYTHONNOUSERSITE"])
        assert "ENV" not in kept
        assert not {"LD_PRELOAD", "LD_AUDIT"} & kept.keys()
    assert json.dumps(for_gdb({"A": "b"}))  # plain texts


PROGRAM = """
import os
shown = [os.environ.get("PYTHONWARNINGS"), os.environ.get("PYTHONSTARTUP")]
print(shown)
"""


def test_a_session_under_strict_warnings_works_and_the_program_sees_its_own_environment(
    tmp_path: Path,
) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "dualdbg",
            "run",
            "-b",
            "program.py:4",
            "-x",
            "bt",
            "-x",
            "continue",
            "--batch",
            script,
        ],
        env={**os.environ, "PYTHONWARNINGS": "error", "PYTHONSTARTUP": "/no/such/file"},
        capture_output=True,
        text=True,
    )
    assert "['error', '/no/such/file']" in done.stdout, done
    assert "#0 py   <module>" in done.stdout
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("sanitizer", rows.some(["asan", "tsan"], 1))
def test_what_is_preloaded_is_for_the_program_alone(tmp_path: Path, sanitizer: str) -> None:
    """gdb hangs with a sanitizer in it; dualdbg, which the user starts with it, and the program do not."""
    library = support.sanitizer(sanitizer)
    script = tmp_path / "program.py"
    script.write_text(
        "import os\nos.getpid()\nprint([os.environ[name] for name in ('LD_PRELOAD', 'ASAN_OPTIONS')])\n"
    )
    given = {"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0"}
    words = ["run", "--batch", "-b", "getpid", "-x", "bt", "-x", "delete", "-x", "continue", script]
    done = subprocess.run(
        [sys.executable, "-m", "dualdbg", *words],
        env={**os.environ, **given},
        capture_output=True,
        text=True,
    )
    assert str(list(given.values())) in done.stdout and "#1 py   <module>" in done.stdout, done
    assert done.returncode == 0, done.stderr
