"""Whose configuration counts: only the user's own, in folders that nobody else may write to."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.config import Config, configuration, find_config, notices
from dualdbg.errors import UsageError
from dualdbg.trust import objection
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
