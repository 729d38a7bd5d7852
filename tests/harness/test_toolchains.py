"""What has been moved to a toolchain's folder is named nowhere else."""

from __future__ import annotations

import re
from pathlib import Path

import dualdbg
from dualdbg.toolchains.registry import TOOLCHAINS

ROOT = Path(dualdbg.__file__).parent
# Parts of the core that ask the registry alone.
FREE = (
    *("session/stepping/arrival.py", "session/stepping/plan.py", "session/stepping/ground.py"),
    *("symbols/objfile.py", "symbols/names/symbol.py"),
)


def test_what_asks_the_registry_names_no_toolchain() -> None:
    names = re.compile("cython|pyx|fortran", re.IGNORECASE)
    found = {path: names.findall((ROOT / path).read_text()) for path in FREE}
    assert found == {path: [] for path in FREE}


def test_each_toolchain_has_a_folder_of_its_name() -> None:
    folders = {path.parent.name for path in (ROOT / "toolchains").glob("*/__init__.py")}
    assert folders == {one.language for one in TOOLCHAINS}
