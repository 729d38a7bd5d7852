"""Pictures of the documentation's site, by a Chromium without a screen: its first page, light and dark."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "site"
SECONDS = 300
SIZE = (1280, 900)
SITES = {"site": 1, "site-dark": 0}
"""The pictures, and what the browser says of the user's wish: Blink's number for light and for dark."""

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def take(name: str) -> bytes:
    """The picture as PNG. Raises SystemExit where the site cannot be built or there is no browser."""
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if browser is None:
        raise SystemExit(
            f"{name}: no browser takes the picture: none of {', '.join(_BROWSERS)} is on the PATH"
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


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a server for the site's files, on loopback: its search works with a server only."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: object) -> None:
        """Requests are not told."""
