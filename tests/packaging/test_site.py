"""The site of the documentation: every page is in its navigation, and what its hook does to the texts."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from tests.support import ROOT


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml without making the Python objects that it names."""


Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: None)


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_pages", ROOT / "scripts/site_pages.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pages(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from pages(entry)


def test_every_page_is_in_the_navigation(hook: ModuleType) -> None:
    site = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)
    nav, excluded = site["nav"], tuple(site["exclude_docs"].split())
    docs = ROOT / "docs"
    there = {str(page.relative_to(docs)) for page in docs.rglob("*.md")} | set(hook.FROM_ROOT)
    there = {page for page in there if not page.startswith(excluded)}  # reports to others
    assert sorted(pages(hook.with_folders(nav, docs))) == sorted(there)


def test_a_folder_in_the_navigation_is_its_pages(hook: ModuleType, tmp_path: Path) -> None:
    for name in ("walks/b.md", "walks/a.md", "x.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    nav = ["x.md", {"Walks": "walks/"}, {"None yet": "later/"}, {"All": ["x.md", "walks/"]}]
    walks = ["walks/a.md", "walks/b.md"]
    assert hook.with_folders(nav, tmp_path) == ["x.md", {"Walks": walks}, {"All": ["x.md", *walks]}]


@pytest.mark.parametrize(
    ("page", "text", "on_site"),
    [
        ("index.md", "[a](docs/jobs.md#x) [b](CONTRIBUTING.md)", "[a](jobs.md#x) [b](CONTRIBUTING.md)"),
        ("index.md", "![a](docs/images/a.svg)", "![a](images/a.svg)"),
        (
            "index.md",
            '<img src="docs/images/a.svg" alt="a" width="640">',
            '<img src="images/a.svg" alt="a" width="640">',
        ),
        ("CONTRIBUTING.md", "[a](README.md)", "[a](index.md)"),
        ("facts.md", "[a](../README.md#x) [b](jobs.md)", "[a](index.md#x) [b](jobs.md)"),
        (
            "design/tests.md",
            "[a](../../CONTRIBUTING.md) [b](../jobs.md)",
            "[a](../CONTRIBUTING.md) [b](../jobs.md)",
        ),
        ("facts.md", "[a](https://x.org/docs/a.md)", "[a](https://x.org/docs/a.md)"),
        ("facts.md", "| `a \\| b` | c \\| d |", "| `a | b` | c \\| d |"),
        ("facts.md", "    | `a \\| b` |", "    | `a \\| b` |"),
    ],
)
def test_texts_are_written_for_the_site(hook: ModuleType, page: str, text: str, on_site: str) -> None:
    assert hook.for_site(text, page) == on_site
