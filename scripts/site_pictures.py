"""Pictures of the documentation's site, by a Chromium without a screen: its first page, light and dark."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from scripts import chromium
from scripts.served import served

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "site"
SECONDS = 300
SIZE = (1280, 900)
SITES = {"site": 1, "site-dark": 0}
"""The pictures, and what the browser says of the user's wish: Blink's number for light and for dark."""


def take(name: str) -> bytes:
    """The picture as PNG. Raises SystemExit where the site cannot be built or there is no browser."""
    browser = chromium.find()
    if browser is None:
        raise SystemExit(
            f"{name}: no browser takes the picture: none of {', '.join(chromium.NAMES)} is on the PATH"
        )
    if subprocess.run([ROOT / "scripts" / "build-docs", ROOT / "build" / "docs-venv"], cwd=ROOT).returncode:
        raise SystemExit(f"{name}: the site could not be built (see above)")
    with served(SITE) as address, tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "picture.png"
        words = [
            browser,
            "--headless",
            "--disable-gpu",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
            f"--blink-settings=preferredColorScheme={SITES[name]}",
            f"--window-size={SIZE[0]},{SIZE[1]}",
            "--virtual-time-budget=8000",  # of the page's own clock: its scripts have run
            f"--screenshot={picture}",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),  # Chromium has none for root
            f"{address}/index.html",
        ]
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS
        )
        if done.returncode or not picture.exists():
            raise SystemExit(f"{name}: {browser}: status {done.returncode}\n{done.stderr}")
        return picture.read_bytes()
