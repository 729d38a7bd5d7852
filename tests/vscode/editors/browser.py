"""A page of a headless Chromium, driven by ``drive.js`` with puppeteer."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

from dualdbg.system.patience import patient

SECONDS = patient(60.0)


class Browser:
    """``modules`` is the folder with npm's puppeteer-core in ``node_modules``; ``profile`` is an empty one.

    ``failure`` gets a picture of the page when something is waited for in vain.
    """

    def __init__(self, node: str, chromium: str, modules: Path, profile: Path, failure: Path) -> None:
        self._failure = failure
        self._process = subprocess.Popen(
            [node, str(Path(__file__).with_name("drive.js")), chromium, str(profile)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "NODE_PATH": str(modules / "node_modules")},
        )

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(patient(30))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise
        finally:
            assert self._process.stdout is not None
            self._process.stdout.close()

    def do(self, does: str, **given: Any) -> Any:
        """One command of drive.js; its value."""
        answer = self._ask(does, given)
        if "error" in answer:
            self._failure.parent.mkdir(parents=True, exist_ok=True)
            self._ask("screenshot", {"path": str(self._failure)})
            pytest.fail(f"{does} {given}: {answer['error']}; see {self._failure}")
        return answer["value"]

    def _ask(self, does: str, given: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"does": does, **given}) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(
            self._process.stdout.readline() or '{"error": "the browser is gone"}'
        )
        return answer

    def press(self, *keys: str) -> None:
        """Keys that are held down together: ``press("Control", "KeyG")``."""
        self.do("press", keys=keys)

    def type(self, text: str) -> None:
        self.do("type", text=text)

    def wait(self, selector: str, pattern: str = "", seconds: float = SECONDS) -> list[str]:
        """The texts of all elements of ``selector``, once one of them matches."""
        texts: list[str] = self.do("wait", selector=selector, pattern=pattern, seconds=seconds)
        return texts

    def comes(self, selector: str, pattern: str = "", seconds: float = SECONDS) -> bool:
        """Whether an element of ``selector`` matches in time."""
        return "error" not in self._ask(
            "wait", {"selector": selector, "pattern": pattern, "seconds": seconds}
        )

    def wait_rows(self, selector: str, pattern: str, seconds: float = SECONDS) -> list[str]:
        """The rows of a list, once all of them, a line each, match."""
        rows: list[str] = self.do("waitRows", selector=selector, pattern=pattern, seconds=seconds)
        return rows

    def gone(self, selector: str, pattern: str = "", seconds: float = SECONDS) -> None:
        self.do("gone", selector=selector, pattern=pattern, seconds=seconds)

    def click(self, selector: str, pattern: str = "", count: int = 1) -> None:
        self.do("click", selector=selector, pattern=pattern, count=count)

    def screenshot(self, path: Path) -> None:
        self.do("screenshot", path=str(path))
