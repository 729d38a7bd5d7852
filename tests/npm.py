"""Packages of npm that tests need, downloaded the first time."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from dualdbg.system.patience import patient
from tests.support import ROOT, require

DOWNLOADS = ROOT / "build" / "editors"


def npm_package(name: str, version: str) -> Path:
    """The folder with the package in ``node_modules``; no test without npm, or where its registry is not reached."""
    npm = require(shutil.which("npm"), "npm (apt-get install nodejs npm)")
    final = DOWNLOADS / f"{name.replace('/', '-').removeprefix('@')}-{version}"
    if not final.is_dir():
        DOWNLOADS.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=DOWNLOADS) as place:
            folder = Path(place) / "package"
            folder.mkdir()
            (folder / "package.json").write_text("{}")
            done = subprocess.run(
                [npm, "install", f"{name}@{version}", "--ignore-scripts", "--no-audit", "--no-fund"],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                cwd=folder,
                timeout=patient(300),
            )
            require(done.returncode == 0, f"npm's registry: {done.stderr[-300:]}")
            if not final.is_dir():
                folder.rename(final)
    return final
