"""A Chromium without a screen that is spoken to by its own protocol (Chrome DevTools Protocol), over two pipes."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
_WITH_PIPES = """\
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
SECONDS = 120  # for one answer, or until something is so


def find() -> str | None:
    """The browser of this machine."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """A page of a browser that was started for it."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._received = b""
        self._number = 0
        self._session: str | None = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Page.enable")

    def go(self, address: str, width: int, height: int) -> None:
        """Open an address in a window of this size."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)
        self._call("Page.navigate", url=address)

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript, or what it promises, is. Raises RuntimeError."""
        told = self._call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in told:
            raise RuntimeError(f"{expression}: {told['exceptionDetails']}")
        return told["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until an expression is true. Raises TimeoutError."""
        end = time.monotonic() + SECONDS
        while not self.value(expression):
            if time.monotonic() > end:
                raise TimeoutError(f"not within {SECONDS} s: {expression}")
            time.sleep(0.1)

    def picture(self) -> bytes:
        """The page as PNG, once it does not change any more. Raises TimeoutError."""
        end = time.monotonic() + SECONDS
        last = b""
        while True:
            now = base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"])
            if now == last:
                return now
            if time.monotonic() > end:
                raise TimeoutError(f"the page changes for more than {SECONDS} s")
            last = now
            time.sleep(1)

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        told: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            told["sessionId"] = self._session
        data = json.dumps(told).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return dict(answer["result"])

    def _next(self) -> dict[str, Any]:
        """The next message."""
        while b"\0" not in self._received:
            if not select.select([self._from], [], [], SECONDS)[0]:
                raise TimeoutError(f"the browser says nothing for {SECONDS} s")
            more = os.read(self._from, 1 << 20)
            if not more:
                raise RuntimeError("the browser has ended")
            self._received += more
        text, _, self._received = self._received.partition(b"\0")
        return dict(json.loads(text))


@contextmanager
def page(browser: str) -> Iterator[Page]:
    """A page, until it is left."""
    from_us, to_browser = os.pipe()
    from_browser, to_us = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        words = [
            browser,
            "--headless",
            "--disable-gpu",
            "--hide-scrollbars",
            "--remote-debugging-pipe",  # descriptor 3 is what it reads, 4 what it writes
            f"--user-data-dir={folder}",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),  # Chromium has none for root
        ]
        command = [sys.executable, "-I", "-c", _WITH_PIPES, str(from_us), str(to_us), *words]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(from_us, to_us),
        )
        os.close(from_us)
        os.close(to_us)
        try:
            yield Page(to_browser, from_browser)
        finally:
            os.close(to_browser)  # it ends where nobody speaks to it any more
            os.close(from_browser)
            try:
                process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
