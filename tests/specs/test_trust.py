"""Whose configuration counts: only the user's own, in folders that nobody else may write to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from prompt_toolkit.history import FileHistory, InMemoryHistory

from dualdbg.cli.prompt import open_history
from dualdbg.config import Config, configuration, find_config, notices
from dualdbg.console.history import add_to_history, history_path, read_history
from dualdbg.errors import UsageError
from dualdbg.shared.trust import objection
from dualdbg.tui import settings
from tests import support

NOBODY = 65534


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """``project/src/deep``, with a configuration in ``project``."""
    tmp_path.chmod(0o755)
    deep = tmp_path / "project" / "src" / "deep"
    deep.mkdir(parents=True)
    write(tmp_path / "project" / "dualdbg.toml")
    return tmp_path / "project"


def write(path: Path, name: str = "mine") -> Path:
    path.write_text(
        f'breakpoints = ["{name}"]' if path.name == "dualdbg.toml" else f'[tool.dualdbg]\nglue = ["{name}"]'
    )
    return path


def give_away(path: Path) -> None:
    support.require(os.geteuid() == 0, "root, to give a file to another user", outside=True)
    os.chown(path, NOBODY, NOBODY)


def refused(folder: Path) -> str:
    """Why the nearest configuration does not count, which then has no effect."""
    config = find_config(folder)
    assert config == Config(refused=config.refused), "it was used"
    return config.refused[0].why


PLACES = ["dualdbg.toml", ".", "src", "src/deep"]


@pytest.mark.parametrize("place", PLACES)
def test_every_place_down_to_the_working_directory_has_to_be_the_user_s(project: Path, place: str) -> None:
    assert find_config(project / "src" / "deep").breakpoints == ("mine",)
    give_away(project / place)
    assert refused(project / "src" / "deep") == f"{(project / place).resolve()} belongs to nobody"


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
@pytest.mark.parametrize("place", PLACES)
def test_what_others_may_write_to_does_not_count(project: Path, place: str, mode: int) -> None:
    """The sticky bit is no help: others may still put a file there."""
    (project / place).chmod(mode)
    assert "may write to" in refused(project / "src" / "deep")


@pytest.mark.parametrize("place", PLACES)
def test_a_group_is_others_unless_it_is_the_user_s_own(project: Path, place: str) -> None:
    own = project.stat().st_gid
    (project / place).chmod(0o775)
    if objection(project) is None:  # as useradd makes users: a group for each
        assert find_config(project / "src" / "deep").breakpoints == ("mine",)
    support.require(os.geteuid() == 0, "root, to give a file to another group", outside=True)
    assert own == 0
    os.chown(project / place, 0, NOBODY)
    (project / place).chmod(0o775)
    assert "the group" in refused(project / "src" / "deep")
    (project / place).chmod(0o755)
    assert find_config(project / "src" / "deep").breakpoints == ("mine",)


def test_an_access_list_makes_the_group_count_as_others(project: Path) -> None:
    acl = support.require(shutil.which("setfacl"), "setfacl", outside=True)
    subprocess.run([acl, "-m", "u:65534:rwx", project], check=True)
    assert "may write to" in refused(project)


def test_folders_above_the_file_do_not_matter(project: Path) -> None:
    """/tmp/mine is fine, though everybody may write to /tmp: nobody can put another folder in its place unseen."""
    project.parent.chmod(0o1777)
    assert find_config(project / "src").breakpoints == ("mine",)


def test_a_refused_file_is_told_and_the_next_one_that_counts_is_used(project: Path) -> None:
    give_away(write(project / "src" / "dualdbg.toml", "theirs"))
    give_away(write(project / "src" / "pyproject.toml", "theirs"))
    config = find_config(project / "src" / "deep")
    assert config.breakpoints == ("mine",)
    told = notices(config)
    assert [notice.level for notice in told] == ["warning", "warning", "info"]
    assert told[0].message == (
        f"the configuration {project}/src/dualdbg.toml is not used: {project}/src/dualdbg.toml belongs to nobody"
    )
    assert told[0].hint == f"if you trust it, name it: --config {project}/src/dualdbg.toml"
    assert told[2].message == f"configuration: {project}/dualdbg.toml"


def test_a_file_that_the_user_names_counts(project: Path) -> None:
    give_away(project / "dualdbg.toml")
    assert configuration(str(project / "dualdbg.toml")).breakpoints == ("mine",)


def test_another_s_file_is_not_even_read(project: Path) -> None:
    """What is in it may be wrong, and a pipe would make us wait for ever."""
    (project / "src" / "dualdbg.toml").write_text("not TOML")
    give_away(project / "src" / "dualdbg.toml")
    os.mkfifo(project / "src" / "deep" / "dualdbg.toml")
    give_away(project / "src" / "deep" / "dualdbg.toml")
    os.mkfifo(project / "src" / "deep" / "pyproject.toml")
    give_away(project / "src" / "deep" / "pyproject.toml")
    config = find_config(project / "src" / "deep")
    assert config.breakpoints == ("mine",)
    assert [one.path.name for one in config.refused] == ["dualdbg.toml", "dualdbg.toml"]


def test_a_pyproject_of_others_that_says_nothing_of_us_is_no_news(project: Path) -> None:
    (project / "src" / "pyproject.toml").write_text('[project]\nname = "x"\n')
    give_away(project / "src" / "pyproject.toml")
    assert find_config(project / "src").refused == ()


def test_a_link_to_another_s_file_does_not_count(project: Path, tmp_path: Path) -> None:
    give_away(write(tmp_path / "dualdbg.toml", "theirs"))
    (project / "src" / "dualdbg.toml").symlink_to(tmp_path / "dualdbg.toml")
    assert find_config(project / "src").breakpoints == ("mine",)


def test_a_working_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(UsageError, match="does not exist any more"):
        find_config()


AS_ALICE = """\
import os, sys
from pathlib import Path
from dualdbg.shared.trust import objection
os.chdir(sys.argv[1])
os.setegid(4001)
os.seteuid(4001)
print(objection(Path()))
"""


@pytest.mark.processes
@pytest.mark.parametrize("mallory, counts", [("4002:4002", True), ("4002:4001", False)])
def test_who_has_the_group_as_the_own_one_is_in_it(tmp_path: Path, mallory: str, counts: bool) -> None:
    """The list of a group's members, group(5), does not have them."""
    support.require(os.geteuid() == 0, "root, to have other accounts", outside=True)
    probe = subprocess.run(["unshare", "-m", "true"], stderr=subprocess.DEVNULL)
    support.require(probe.returncode == 0, "mount namespaces", outside=True)
    (tmp_path / "passwd").write_text(
        f"root:x:0:0::/root:/bin/sh\nalice:x:4001:4001::/:/bin/sh\nmallory:x:{mallory}::/:/bin/sh\n"
    )
    (tmp_path / "group").write_text("root:x:0:\nalice:x:4001:\n")
    project = tmp_path / "project"
    project.mkdir()
    os.chown(project, 4001, 4001)
    project.chmod(0o775)
    accounts = "mount --bind passwd /etc/passwd && mount --bind group /etc/group"
    done = subprocess.run(
        [
            "unshare",
            "-m",
            "sh",
            "-c",
            f'{accounts} && exec "$@"',
            "sh",
            sys.executable,
            "-c",
            AS_ALICE,
            project,
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(support.ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("None\n" if counts else "the group alice may write to .\n")


@pytest.mark.parametrize(
    "owner, mode, theirs", [(0, 0o755, False), (0, 0o1777, False), (0, 0o777, True), (NOBODY, 0o755, True)]
)
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_files_are_kept_only_where_nobody_can_exchange_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: int, mode: int, theirs: bool, depth: int
) -> None:
    """Sudo may keep HOME: then another user could lead root's history into any file by a link."""
    support.require(os.geteuid() == 0, "root, to give a folder to another user", outside=True)
    home = tmp_path / "home"
    state = home / ".local" / "state"
    state.mkdir(parents=True)
    changed = (state, state.parent, home)[depth]
    changed.chmod(mode)
    os.chown(changed, owner, owner)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    add_to_history(history_path(), "print 1")
    settings.save(settings.state_path(), settings.Settings())
    assert open_history().__class__ is (InMemoryHistory if theirs else FileHistory)
    assert read_history(history_path()) == ([] if theirs else ["print 1"])
    found = {path.name: path.stat().st_mode & 0o777 for path in state.rglob("*")}
    wanted = {"dualdbg": 0o700, "history": 0o600, "dashboard.json": 0o600}
    assert found == ({} if theirs else wanted)


def test_a_history_that_others_could_read_is_the_user_s_alone_from_now_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    history_path().touch(0o644)
    add_to_history(history_path(), "print 1")
    assert history_path().stat().st_mode & 0o777 == 0o600


def test_a_home_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    """Accounts of services have none; root, and whoever may write above it, could make it."""
    gone = tmp_path / "nonexistent"
    program = tmp_path / "program.py"
    program.write_text("pass\n")
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(support.ROOT), "HOME": str(gone)}
    keep = (
        f"import sys; sys.path.insert(0, {str(support.ROOT / 'gdb_scripts')!r})\n"
        "from dualdbg.console.history import add_to_history, history_path\n"
        "from dualdbg.symbols.cache import cache_directory, store\n"
        "from dualdbg_helpers.layout.types_object import cache_folder\n"
        "add_to_history(history_path(), 'print 1')\n"
        "assert store('a', [b'b']).read_bytes() == b'b'\n"
        "print(history_path(), cache_folder())\n"
    )
    for words in (
        ["-c", keep],
        *(
            ["-m", "dualdbg", *command]
            for command in (["doctor"], ["run", "--batch", str(program), "-x", "bt"])
        ),
    ):
        done = subprocess.run([sys.executable, *words], env=env, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert not gone.exists(), words
        if words[1] == keep:
            assert done.stdout == "/dev/null/dualdbg/history /dev/null/dualdbg\n"
