"""Where the files that ship beside the code lie: in the wheel, or in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def resource_directory(name: str) -> Path:
    """The folder ``name`` (``gdb_scripts``, ``vscode_templates``) that belongs to this installation.

    A wheel carries it under ``dualdbg/_data``; in a checkout it stands beside the package.
    """
    for candidate in (_PACKAGE / "_data" / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"the folder {name} is missing from this installation of dualdbg")
