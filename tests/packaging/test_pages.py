"""The pages name what is there (links, paths) and all that is there: commands of the prompt, options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dualdbg.cli.main import summaries
from dualdbg.console.commands.registry import all_commands
from tests.cli.driver import dualdbg
from tests.support import ROOT

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
FOR_DEVELOPERS = [
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs" / "ARCHITECTURE.md",
    ROOT / "docs" / "debugging-dualdbg.md",
    *sorted((ROOT / "docs" / "design").iterdir()),
]
OURS = ("dualdbg", "gdb_scripts", "vscode_templates", "samples", "tests", "docs", "bench", "scripts")
_LINK = re.compile(r"\]\(([^)#:\s]+)(#[^)\s]*)?\)")
# What a command has printed, as a page shows it: text, not markup.
_TRANSCRIPT = re.compile(r"<!-- transcript -->\n(?:(?: {4}.*)?\n)+")
_PATH = re.compile(r"`([\w.\-/]+/[\w.\-/]*|[\w\-]+\.(?:py|c|toml))`")
NO_FILES = re.compile(r"process-N/|dualdbg/_data")  # what a session writes, and what only an installation has


def headings(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in _LINK.findall(_TRANSCRIPT.sub("", page.read_text(encoding="utf-8"))):
        file = (page.parent / target).resolve()
        assert file.exists(), target
        if anchor and file.suffix == ".md":
            assert anchor[1:] in headings(file), target + anchor


def is_there(path: str) -> bool:
    """Whether a path is one of the tree, from its root or from the middle of it."""
    named = Path(path)
    if named.parts[0] in OURS:
        return (ROOT / named).exists()
    bases = [ROOT / top for top in OURS]
    return (ROOT / named).exists() or any(
        next(base.rglob(path.rstrip("/")), None) is not None for base in bases
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_of_ours_are_there(page: Path) -> None:
    named = {path for path in _PATH.findall(page.read_text(encoding="utf-8")) if not NO_FILES.fullmatch(path)}
    ours = {path for path in named if Path(path).parts[0] in OURS or Path(path).name.startswith("test_")}
    assert sorted(path for path in ours if not is_there(path)) == []


@pytest.mark.parametrize("page", FOR_DEVELOPERS, ids=lambda page: page.name)
def test_the_developers_pages_name_files_that_are_there(page: Path) -> None:
    """Here short paths too, as of a file in the folder that the sentence is about."""
    text = page.read_text(encoding="utf-8")
    named = {path for path in _PATH.findall(text) if not NO_FILES.fullmatch(path)}
    assert named
    assert sorted(path for path in named if not is_there(path)) == []


def test_the_architecture_is_read_in_ten_minutes() -> None:
    """At 220 words a minute. What is detail has pages of its own in docs/design."""
    assert len((ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8").split()) <= 2200


def test_the_page_of_the_prompt_names_every_command() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    words = set(re.findall(r"[\w?-]+", page.partition("## The prompt")[2].partition("\n## ")[0]))
    missing = [row.name for row in all_commands() if row.area != "torch" and row.name not in words]
    assert missing == []


@pytest.mark.parametrize("command", summaries())
def test_each_option_is_on_a_page(command: str) -> None:
    written = [page for page in PAGES if page.name != "commands.md"]  # that one is made from the parsers
    pages = "".join(page.read_text(encoding="utf-8") for page in written)
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", dualdbg(command, "--help").stdout)) - {"--help"}
    assert sorted(option for option in options if not re.search(rf"{option}(?![\w-])", pages)) == []
