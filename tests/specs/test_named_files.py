"""Which source file a path means that a user has typed: one rule for both languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.system.source_files import means_file, search_names

# (typed in FOLDER, the path that debug info or Python has, whether that is meant). {} is FOLDER.
PATHS = [
    ("p1/a.cpp", "{}/p1/a.cpp", True),
    ("./p1/a.cpp", "{}/p1/a.cpp", True),
    ("p1//a.cpp", "{}/p1/a.cpp", True),
    ("p1/../p1/a.cpp", "{}/p1/a.cpp", True),
    ("../project/p1/a.cpp", "{}/p1/a.cpp", True),
    ("{}/p1/./a.cpp", "{}/p1/a.cpp", True),
    ("link/a.cpp", "{}/p1/a.cpp", True),
    ("p1/a.cpp", "{}/link/a.cpp", True),
    ("p1/a.cpp", "{}/build/../p1/a.cpp", True),
    ("a b/c:d.cpp", "{}/a b/c:d.cpp", True),
    ("~/project/p1/a.cpp", "{}/p1/a.cpp", True),
    ("a.cpp", "{}/p1/a.cpp", True),  # the last components
    ("p1/a.cpp", "{}/p2/a.cpp", False),
    ("1/a.cpp", "{}/p1/a.cpp", False),  # whole ones
    ("a.cpp", "{}/p1/aa.cpp", False),
    ("A.cpp", "{}/p1/a.cpp", False),
    ("../nowhere/p1/a.cpp", "/built/nowhere/p1/a.cpp", True),
    ("p1/a.cpp", "/built/p1/a.cpp", True),  # compiled elsewhere
    ("{}/p1/a.cpp", "/built/p1/a.cpp", False),
    ("p1/a.cpp", "{}/copy/p1/a.cpp", True),  # a copy, as builds make them
    ("p1/a.cpp", "{}/other/p1/a.cpp", False),  # another file is there
    ("{}/p1/a.cpp", "./p1/a.cpp", True),  # -fdebug-prefix-map
    ("{}/p1/a.cpp", "a.cpp", True),
    ("{}/p1/a.cpp", "./p2/a.cpp", False),
    ("/nowhere/p1/a.cpp", "{}/p1/a.cpp", False),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    for name in ("p1/a.cpp", "p2/a.cpp", "a b/c:d.cpp", "copy/p1/a.cpp", "other/p1/a.cpp"):
        path = folder / name
        path.parent.mkdir(parents=True)
        path.write_text("other" if name.startswith("other") else "same")
    (folder / "link").symlink_to("p1")
    monkeypatch.setenv("HOME", str(tmp_path))
    return folder


@pytest.mark.parametrize(("typed", "recorded", "is_meant"), PATHS)
def test_a_typed_path_means_the_file_it_leads_to_or_ends_like(
    folder: Path, typed: str, recorded: str, is_meant: bool
) -> None:
    assert means_file(typed.format(folder), recorded.format(folder), [folder]) is is_meant


def test_an_engine_is_asked_for_the_file_itself_first(folder: Path) -> None:
    assert search_names("link/../p1/a.cpp", [folder]) == [str(folder / "p1/a.cpp"), "p1/a.cpp", "a.cpp"]
    assert search_names("../gone/b.cpp", [folder]) == ["gone/b.cpp", "b.cpp"]
