"""Where files that can be made again are kept, and where not."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dualdbg.symbols import cache
from dualdbg.system import session_folders

AS_ROOT = os.geteuid() == 0
pytestmark = pytest.mark.processes  # a shell removes a private folder after us


@pytest.fixture(autouse=True)
def no_private_folder_stays() -> Iterator[None]:
    cache._private_directory.cache_clear()
    yield
    if cache._private_directory.cache_info().currsize:
        session_folders.remove(cache._private_directory())
        cache._private_directory.cache_clear()


def test_the_folder_of_the_specification(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    (tmp_path / "xdg").mkdir(mode=0o755)
    assert cache.cache_directory() == tmp_path / "xdg" / "dualdbg"
    assert stat.S_IMODE((tmp_path / "xdg" / "dualdbg").stat().st_mode) == 0o700
    monkeypatch.setenv("XDG_CACHE_HOME", "relative/is/ignored")
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.cache_directory() == tmp_path / "home" / ".cache" / "dualdbg"


@pytest.mark.parametrize("home", ["", "/proc/self/nowhere", "relative"])
def test_without_a_usable_home_a_private_folder_serves(monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    folder = cache.cache_directory()
    assert folder.is_dir() and stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert cache.cache_directory() == folder
    path = cache.store("a", [b"x", memoryview(b"yz")])
    assert path.parent == folder and path.read_bytes() == b"xyz"
    assert cache.look_up("a", 3) == path


def test_the_private_folder_goes_with_the_process(tmp_path: Path) -> None:
    code = "from dualdbg.symbols import cache; print(cache.store('a', [b'x']))"
    environment = {**os.environ, "HOME": "/proc/self/nowhere", "TMPDIR": str(tmp_path)}
    environment.pop("XDG_CACHE_HOME", None)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_others_can_write_is_not_trusted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Somebody could put a file of his there, which gdb would then read."""
    folder = tmp_path / "dualdbg"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert not cache.cache_directory().is_relative_to(tmp_path)


@pytest.mark.skipif(not AS_ROOT, reason="only root can make another user's folder")
@pytest.mark.parametrize("place", [".", ".cache"])
def test_under_sudo_the_users_own_cache_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str
) -> None:
    """Also one of root's folders in it: the user can put another in its place."""
    (tmp_path / ".cache").mkdir(mode=0o755)
    os.chown(tmp_path / place, 12345, 12345)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = cache.cache_directory()
    assert not folder.is_relative_to(tmp_path)
    assert not list((tmp_path / ".cache").iterdir())


def test_a_file_is_there_whole_or_not_at_all(own_cache: Path) -> None:
    def failing() -> list[bytes]:
        raise OSError(28, os.strerror(28))

    with pytest.raises(OSError):
        cache.store("half", (chunk for chunk in failing()))
    path = cache.store("whole", [b"one"])
    assert cache.store("whole", [b"other"]) == path and path.read_bytes() == b"other"
    assert cache.look_up("whole", 3) is None
    assert [entry.name for entry in own_cache.iterdir()] == ["whole"]


def test_a_full_disk_moves_the_file_elsewhere(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """/dev/full answers ENOSPC to every write; here the folder itself refuses new files."""
    cache.cache_directory()
    own_cache.rmdir()
    own_cache.write_text("a file where the folder was")
    path = cache.store("elsewhere", [b"x"])
    assert path.read_bytes() == b"x" and not path.is_relative_to(own_cache)
    assert cache.look_up("elsewhere", 1) == path
    assert cache.index_folder() is None


def test_the_oldest_files_go_first(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LIMIT", 25)
    for age, name in ((300, "old"), (200, "older file in use"), (100, "young")):
        path = cache.store(name, [b"0123456789"])
        os.utime(path, (path.stat().st_atime - age, path.stat().st_mtime - age))
        if name == "older file in use":
            assert cache.look_up(name, 10) == path
    cache.store("new", [b"0123456789"])
    assert {path.name for path in own_cache.iterdir()} == {"older file in use", "new"}


def _is_older(folder: Path) -> None:
    """What was seen of the folder was so an hour ago: times of files move on by ticks of the kernel's, of some ms."""
    ago = folder.stat().st_mtime_ns - 3600 * 10**9
    for path in (folder, folder.with_suffix(".seen")):
        os.utime(path, ns=(ago, ago))


def test_old_indexes_of_gdb_go_too(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = cache.index_folder()
    assert folder is not None and folder.parent == own_cache
    _is_older(folder)
    for age, name in ((200, "old"), (100, "young")):
        path = folder / name
        path.write_bytes(b"0123456789")
        os.utime(path, (path.stat().st_atime - age, path.stat().st_mtime - age))
    monkeypatch.setattr(cache, "LIMIT", 15)
    assert cache.index_folder() == folder
    assert [path.name for path in folder.iterdir()] == ["young"]


def test_indexes_are_looked_at_where_there_are_new_ones(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = cache.index_folder()
    assert folder is not None
    looks: list[Path] = []
    monkeypatch.setattr(cache, "_prune", looks.append)
    assert [cache.index_folder(), looks] == [folder, []]
    _is_older(folder)
    (folder / "new").write_bytes(b"0123456789")
    assert [cache.index_folder(), looks] == [folder, [folder]]
    assert [cache.index_folder(), looks] == [folder, [folder]]
