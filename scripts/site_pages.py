"""What the site of the documentation (mkdocs.yml) takes from outside docs/, and how its pages differ from the files.

A hook of MkDocs: pages of the root become pages of the site, folders in the navigation become their pages, and
Markdown that forges and Python-Markdown read differently is written for the latter.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
FROM_ROOT = {  # page of the site -> file of the root
    "index.md": "README.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "SECURITY.md": "SECURITY.md",
}
_LINK = re.compile(r"""(?<=\]\()[^)\s:#]+|(?<=<img src=")[^"\s:#]+""")
_CODE = re.compile(r"`[^`]*`")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Folders in the navigation become their pages."""
    config.nav = with_folders(config.nav, ROOT / "docs")
    return config


def with_folders(nav: Any, docs: Path) -> Any:
    """A navigation in which ``folder/`` is the list of its pages in order; one without pages is left out."""
    if isinstance(nav, str):
        return sorted(f"{nav}{page.name}" for page in (docs / nav).glob("*.md")) if nav.endswith("/") else nav
    if isinstance(nav, dict):
        return {title: with_folders(entry, docs) for title, entry in nav.items()}
    entries: list[Any] = []
    for entry in nav:
        found = with_folders(entry, docs)
        if isinstance(found, list):
            entries += found
        elif not isinstance(found, dict) or all(found.values()):
            entries.append(found)
    return entries


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """The pages of the root are added."""
    from mkdocs.structure.files import File

    for page, name in FROM_ROOT.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The text of a page, as Python-Markdown reads it."""
    return for_site(markdown, page.file.src_uri)


def for_site(markdown: str, page: str) -> str:
    """Links lead to pages of the site, and code in tables has the bars that it is to show.

    Lines that are code are left alone.
    """
    in_root = page in FROM_ROOT
    lines = []
    for line in markdown.split("\n"):
        if not line.startswith("    "):
            line = _LINK.sub(lambda match: _target(match.group(), in_root), line)
            if line.startswith("|"):
                line = _CODE.sub(lambda match: match.group().replace("\\|", "|"), line)
        lines.append(line)
    return "\n".join(lines)


def _target(link: str, in_root: bool) -> str:
    if in_root:
        return "index.md" if link == "README.md" else link.removeprefix("docs/")
    up, _, name = link.rpartition("../")
    depth = "../" * (up.count("../") if up else 0)
    page = next((page for page, file in FROM_ROOT.items() if file == name), None)
    return depth + page if page is not None and link.startswith("../") else link
