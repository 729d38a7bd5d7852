"""Modules that import each other in a circle can only be understood together: circles are small, or there is none."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.import_graph import circles, graph
from tests.support import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LARGEST = 4  # modules

FOLDERS = [
    "dualdbg/dap",
    "dualdbg/console",
    "dualdbg/cli",
    "dualdbg/tui",
    "dualdbg/session",
]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_large_circle_of_imports(folder: str) -> None:
    found = graph(ROOT / folder)
    assert found, folder
    assert [circle for circle in circles(found) if len(circle) > LARGEST] == []


def test_every_module_of_the_session_has_a_layer() -> None:
    """import-linter looks only at the modules that a contract names."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = (one for one in contracts if one.get("containers") == ["dualdbg.session"])
    layered = [
        f"dualdbg.session.{name}" for layer in contract["layers"] for name in re.split(r" [:|] ", layer)
    ]
    assert len(layered) == len(set(layered))
    found = graph(ROOT / "dualdbg/session")
    for name in layered:
        assert name in found, f"{name} is gone"
    packages = {name for name in found if any(other.startswith(f"{name}.") for other in found)}
    modules = [name for name in found if name not in packages]
    assert [name for name in modules if not any(f"{name}.".startswith(f"{one}.") for one in layered)] == []


def test_imports_count_wherever_they_stand(tmp_path: Path) -> None:
    package = tmp_path / "p"
    (package / "q").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "q" / "__init__.py").write_text("from ..a import x\n")
    (package / "a.py").write_text("if TYPE_CHECKING:\n    from .b import X\n")
    (package / "b.py").write_text("def f():\n    from p import c, missing\n")
    (package / "c.py").write_text("import p.a\nimport os\n")
    (package / "d.py").write_text("from .q import y\nfrom . import d\n")
    found = graph(package, tmp_path)
    assert found == {
        "p": set(),
        "p.q": {"p.a"},
        "p.a": {"p.b"},
        "p.b": {"p.c", "p"},
        "p.c": {"p.a"},
        "p.d": {"p.q"},
    }
    assert circles(found) == [["p.a", "p.b", "p.c"]]
