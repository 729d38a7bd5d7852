"""What a session leaves on disk is the user's alone: logs, cores, reports. Nothing is written through a link."""

from __future__ import annotations

import os
import re
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dualdbg.backends.wirelog import WireLog
from dualdbg.cli import main as entry
from dualdbg.model import Notice
from dualdbg.session.stops.crash_core import _new
from dualdbg.system.log_names import DebugpysLogs
from dualdbg.system.private_files import new_file
from tests.session.driver import Driver, run_session


@pytest.fixture(autouse=True)
def open_umask() -> Iterator[None]:
    """The most careless one that a user may have."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_log_is_the_user_s_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "log"
    log = WireLog(folder, "gdb", 0.0)
    log.sent("secret")
    log.close()
    assert (mode(folder), mode(folder / "gdb.log")) == (0o700, 0o600)


def test_a_log_replaces_what_has_its_name(tmp_path: Path) -> None:
    """Not what a link leads to, and not a file that others can read."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "gdb.log").symlink_to(victim)
    (tmp_path / "session.log").write_text("of an earlier session")
    (tmp_path / "session.log").chmod(0o644)
    for name in ("gdb", "session"):
        log = WireLog(tmp_path, name, 0.0)
        log.sent("x")
        log.close()
        assert mode(tmp_path / f"{name}.log") == 0o600
        assert (tmp_path / f"{name}.log").read_text().endswith("> x\n")
    assert victim.read_text() == "precious"


def test_a_log_for_debugpys_folder_takes_a_name_that_is_free(tmp_path: Path) -> None:
    logs = DebugpysLogs(tmp_path, 7)
    (tmp_path / "debugpy.server-7.log").write_text("of another process")
    for _ in range(2):
        WireLog(logs, "debugpy", 0.0).close()
    WireLog(replace(logs, launches=True), "session", 0.0).close()
    WireLog(logs, "session", 0.0).close()
    WireLog(logs, "editor-2", 0.0).close()
    assert (tmp_path / "debugpy.server-7.log").read_text() == "of another process"
    assert {file.name for file in tmp_path.iterdir()} == {
        "debugpy.server-7.log",
        "debugpy.server-7-2.log",
        "debugpy.server-7-3.log",
        "debugpy.launcher-7.log",
        "dualdbg.session-7.log",
        "debugpy.adapter-7.log",
    }


def test_a_core_gets_a_name_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "core.7").symlink_to(tmp_path / "nowhere")
    (tmp_path / "core.7.2").write_text("an older one")
    path, descriptor = _new(tmp_path / "core.7")
    os.close(descriptor)
    assert path == tmp_path / "core.7.3" and mode(path) == 0o600
    assert not (tmp_path / "nowhere").exists()


def test_a_new_file_is_no_other(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError):
        new_file(tmp_path / "link")


@pytest.fixture
def cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder in which we are, where whatever crashes leaves its core."""
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    resource.setrlimit(resource.RLIMIT_CORE, before)


def test_a_gdb_that_crashes_leaves_no_core(cores: Path) -> None:
    """The program's own limit is as it was."""
    (cores / "program.py").write_text("import time\ntime.sleep(1000)\n")

    async def crash(run: Driver) -> None:
        session = run.session
        await session.pause()
        await run.stop()
        gdb = session.native.pid
        assert gdb is not None
        limits = {pid: resource.prlimit(pid, resource.RLIMIT_CORE) for pid in (gdb, session.pid)}
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        assert limits == {gdb: (0, hard), session.pid: (hard, hard)}
        os.kill(gdb, signal.SIGSEGV)
        while (await run.next(Notice)).level != "error":
            pass
        assert "gdb is gone" in run.notices[-1].message

    run_session(crash, "program.py")
    assert [path.name for path in cores.iterdir()] == ["program.py"]


CRASH = """
import sys
from dualdbg.cli import main
main._dispatch = lambda words: 1 / 0
sys.exit(main.main())
"""


def test_a_report_of_an_error_holds_no_secret_and_has_no_name_to_guess(tmp_path: Path) -> None:
    words = ["run", "-b", "hunter2", "--env=TOKEN=hunter2", "-phunter2", "x.py", "--password", "hunter2"]
    paths = set()
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", CRASH, *words],
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
        )
        [path] = [Path(found) for found in re.findall(r"the report is in (\S+)", done.stderr)]
        paths.add(path)
        text = path.read_text()
        assert "ZeroDivisionError" in text and "dualdbg run -b --env -p --password" in text
        assert "hunter2" not in text
        assert (mode(path), mode(path.parent)) == (0o600, 0o700)
    assert len(paths) == 2


def test_options_are_named_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["dualdbg", "secret", "-----BEGIN KEY", "--log-dir", "/x", "-"])
    assert entry._what_was_asked() == "dualdbg --log-dir"
