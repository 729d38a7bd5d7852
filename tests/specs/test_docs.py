"""The page of the documentation: every spec and every configuration in it is one that dualdbg reads."""

from __future__ import annotations

import re
from pathlib import Path

from dualdbg.config import find_config
from dualdbg.model import BreakpointKind
from dualdbg.symbols.locspec.breakpoint_spec import parse_spec
from dualdbg.symbols.locspec.locspec import parse_locspec
from dualdbg.symbols.locspec.presets import shipped
from tests import support

PAGE = (support.ROOT / "docs" / "breakpoints.md").read_text(encoding="utf-8")
OPERATORS = {"randn", "add", "mm"}


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def first_cells(title: str) -> list[str]:
    rows = [row for row in section(title).splitlines() if row.startswith("| `")]
    return [spec for row in rows for spec in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


def test_places() -> None:
    specs = first_cells("Places")
    assert len(specs) > 30
    kinds = {parse_spec(spec, OPERATORS.__contains__).kind for spec in specs}
    assert kinds == set(BreakpointKind)  # every kind has its example


def test_suffixes() -> None:
    specs = first_cells("Suffixes")
    assert len(specs) > 5
    for spec in specs:
        if not spec.startswith("thread "):
            read = parse_spec(spec, OPERATORS.__contains__)
            assert read != parse_locspec(read.text, OPERATORS.__contains__), spec


def test_presets() -> None:
    assert first_cells("Presets") == list(shipped())


def test_configuration(tmp_path: Path) -> None:
    blocks = [
        part
        for title in ("Presets", "Configuration")
        for part in re.findall(r"(?:^    .*\n?)+", section(title), re.M)
    ]
    path = tmp_path / "pyproject.toml"
    path.write_text("\n".join(re.sub("^    ", "", block, flags=re.M) for block in blocks))
    config = find_config(tmp_path)
    assert config.breakpoints and config.symbols and config.glue and config.source_maps and config.presets
    assert config.just_my_code is True
