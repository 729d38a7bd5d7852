"""What runs here, by name and version: dualdbg, its Python, the system, and the packages that it uses."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

from .. import __version__

NEEDED = ("debugpy", "prompt_toolkit", "psutil", "pygdbmi", "pygments", "shtab", "textual")
"""Distributions of :pep:`508` that dualdbg depends on, as pyproject.toml has them (but for tomli)."""

OPTIONAL = ("iced-x86", "mcp")
"""Those of its extras."""


def versions() -> list[tuple[str, str]]:
    """Names with versions; of a package that is not installed, that. Nothing is started."""
    rows = [
        ("dualdbg", __version__),
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
