"""What runs here, by name and version: dualdbg, its Python, the system, and the packages that it uses."""

from __future__ import annotations

import platform
import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from .. import __version__

NEEDED = ("debugpy", "prompt_toolkit", "psutil", "pygdbmi", "pygments", "shtab", "textual")
"""Distributions of :pep:`508` that dualdbg depends on, as pyproject.toml has them for all systems."""

OPTIONAL = ("iced-x86", "mcp")
"""Those of its extras; iced-x86 is a dependency on x86-64 alone."""


def versions() -> list[tuple[str, str]]:
    """Names with versions; of a package that is not installed, that. Nothing is started."""
    rows = [
        ("dualdbg", __version__ + of_checkout(Path(__file__).resolve().parents[2])),
        ("Python", f"{platform.python_version()} ({platform.python_compiler()})"),
        ("system", f"{_distribution()}, {platform.system()} {platform.release()}, {platform.machine()}"),
        ("C library", " ".join(platform.libc_ver()).strip() or "not glibc"),
    ]
    return [*rows, *((name, _package(name)) for name in (*NEEDED, *OPTIONAL))]


def version_lines() -> str:
    """The same as text, a line each, and gdb, which is asked for its version."""
    from ..target.doctor import check_gdb

    gdb = "; ".join(finding.text for finding in check_gdb(None))
    rows = [*versions(), ("gdb", gdb), ("installed in", sys.prefix)]
    width = max(len(name) for name, _ in rows)
    return "".join(f"{name:<{width}}  {text}\n" for name, text in rows)


def of_checkout(folder: Path) -> str:
    """The commit of a git checkout, of which a version says little; read from its files, for git may not be there."""
    try:
        git = folder / ".git"
        if git.is_file():  # of a worktree: where its own part of the repository is
            git = folder / git.read_text().partition("gitdir: ")[2].strip()
        head = (git / "HEAD").read_text().strip()
        common = git / "commondir"
        shared = git / common.read_text().strip() if common.exists() else git
        if head.startswith("ref: "):
            head = _commit_of(shared, head.removeprefix("ref: "))
    except OSError:
        return ""
    return f", commit {head[:12]}" if re.fullmatch("[0-9a-f]{40,64}", head) else ""


def _commit_of(git: Path, reference: str) -> str:
    loose = git / reference
    if loose.exists():
        return loose.read_text().strip()
    rows = (row.split() for row in (git / "packed-refs").read_text().splitlines())
    return next((row[0] for row in rows if row[1:] == [reference]), "")


def _package(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "a Linux without a name")
    except OSError:
        return "a system without /etc/os-release"
