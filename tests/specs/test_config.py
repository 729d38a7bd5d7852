"""The configuration file: where it is found, what it may say, and what is said when it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.config import Config, PresetTable, find_config
from dualdbg.errors import ConfigError

FULL = """
breakpoints = ["randn", "train.py:12 if step > 3"]
symbols = ["lazy", "libmine*=full"]
glue = ["mylib::detail::*"]
just-my-code = false

[source-maps]
"/build/src" = "src"
"/usr/src" = "/elsewhere"

[presets]
short = ["randn", "throw"]

[presets.long]
about = "everything of mine"
breakpoints = ["mylib::*"]
"""


def test_every_key(tmp_path: Path) -> None:
    path = tmp_path / "dualdbg.toml"
    path.write_text(FULL)
    config = find_config(tmp_path)
    assert config == Config(
        path=path,
        breakpoints=("randn", "train.py:12 if step > 3"),
        presets=config.presets,
        symbols=("lazy", "libmine*=full"),
        source_maps=(("/build/src", str(tmp_path / "src")), ("/usr/src", "/elsewhere")),
        glue=("mylib::detail::*",),
        just_my_code=False,
    )
    assert dict(config.presets) == {
        "short": PresetTable(("randn", "throw")),
        "long": PresetTable(("mylib::*",), "everything of mine"),
    }


def test_the_nearest_folder_decides(tmp_path: Path) -> None:
    inner = tmp_path / "project" / "src" / "deep"
    inner.mkdir(parents=True)
    assert find_config(inner) == Config()
    (tmp_path / "dualdbg.toml").write_text('breakpoints = ["outer"]')
    assert find_config(inner).breakpoints == ("outer",)
    (tmp_path / "project" / "pyproject.toml").write_text('[project]\nname = "x"\n')
    assert find_config(inner).breakpoints == ("outer",)
    (tmp_path / "project" / "pyproject.toml").write_text('[tool.dualdbg]\nbreakpoints = ["inner"]')
    assert find_config(inner).breakpoints == ("inner",)
    (tmp_path / "project" / "dualdbg.toml").write_text("")
    assert find_config(inner) == Config(path=tmp_path / "project" / "dualdbg.toml")


WRONG = [
    (
        'breakpoint = ["randn"]',
        "unknown key {}breakpoint",
        "did you mean breakpoints? keys: breakpoints, presets,",
    ),
    (
        "colour = 1",
        "unknown key {}colour",
        "keys: breakpoints, presets, symbols, source-maps, glue, just-my-code",
    ),
    ('breakpoints = "randn"', "{}breakpoints is 'randn'", "it must be a list of texts"),
    ("breakpoints = [1]", "{}breakpoints is [1]", "it must be a list of texts"),
    ('glue = [""]', "{}glue is ['']", "it must be a list of texts"),
    ("just-my-code = 1", "{}just-my-code is 1", "it must be true or false"),
    ("symbols = 3", "{}symbols is 3", 'it must be "full", "lazy" or a list'),
    ('source-maps = ["a"]', "{}source-maps is ['a']", "it must be a table"),
    ("presets = 1", "{}presets is 1", "it must be a table of presets"),
    ('presets.x = "randn"', "{}presets.x is 'randn'", "it must be a list of specs"),
    ('presets.x = {about = "y"}', "{}presets.x has no breakpoints", "add breakpoints"),
    ("presets.x = {breakpoints = [], abut = 1}", "unknown key {}presets.x.abut", "did you mean about?"),
    ("breakpoints = [", "is not valid TOML", "correct the file"),
]


@pytest.mark.parametrize("name", ["dualdbg.toml", "pyproject.toml"])
@pytest.mark.parametrize(("text", "message", "hint"), WRONG, ids=[wrong[0] for wrong in WRONG])
def test_wrong_files(tmp_path: Path, name: str, text: str, message: str, hint: str) -> None:
    path = tmp_path / name
    section = "" if name == "dualdbg.toml" else "tool.dualdbg."
    path.write_text(text if not section else f"[tool.dualdbg]\n{text}")
    with pytest.raises(ConfigError) as caught:
        find_config(tmp_path)
    assert str(path) in caught.value.message
    assert message.format(section) in caught.value.message
    assert caught.value.hint.startswith(hint)


def test_a_section_that_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\ndualdbg = 3\n")
    with pytest.raises(ConfigError, match=r"tool\.dualdbg is no table"):
        find_config(tmp_path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "dualdbg.toml").mkdir()
    with pytest.raises(ConfigError, match=r"cannot read .*dualdbg\.toml: Is a directory"):
        find_config(tmp_path)


def test_a_file_that_is_not_in_utf_8(tmp_path: Path) -> None:
    (tmp_path / "dualdbg.toml").write_bytes(b'glue = ["\xff"]')
    with pytest.raises(ConfigError, match=r"dualdbg\.toml is not valid TOML"):
        find_config(tmp_path)
