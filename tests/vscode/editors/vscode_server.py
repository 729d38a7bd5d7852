"""VS Code without a screen: code-server's copy of it from npm, installed once, and a server of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from types import TracebackType

import psutil

from dualdbg.system.patience import patient
from tests.support import ROOT, require

VERSION = "4.96.4"  # VS Code 1.96.4; later ones want Node 22
PUPPETEER = "23"
DOWNLOADS = ROOT / "build" / "editors"

# They are compiled for this machine; the others of the package are not needed here.
_NATIVE_MODULES = ("@vscode/spdlog", "native-watchdog", "node-pty", "@parcel/watcher")


def node() -> str:
    """Node.js 20 or 21."""
    found = require(shutil.which("node"), "node, version 20")
    shown = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    require(re.match(r"v2[01]\.", shown), f"node, version 20 (here is {shown.strip()})")
    return found


def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    return require(found, "chromium")


def installed_vscode() -> Path:
    """The folder ``lib/vscode`` of code-server, downloaded and installed the first time."""
    final = DOWNLOADS / f"code-server-{VERSION}"
    if not final.is_dir():
        DOWNLOADS.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=DOWNLOADS) as name:
            folder = Path(name)
            npm("pack", f"code-server@{VERSION}", cwd=folder)
            with tarfile.open(folder / f"code-server-{VERSION}.tgz") as archive:
                archive.extractall(folder, filter="data")
            _install(folder / "package" / "lib" / "vscode")
            (folder / "package").rename(final)
    return final / "lib" / "vscode"


def _install(vscode: Path) -> None:
    shrinkwrap = vscode / "npm-shrinkwrap.json"
    locked = json.loads(shrinkwrap.read_text())
    # It points outside the registry, and serves proxies only.
    locked["packages"].pop("node_modules/@vscode/proxy-agent", None)
    locked["packages"][""]["dependencies"].pop("@vscode/proxy-agent", None)
    shrinkwrap.write_text(json.dumps(locked))
    npm("install", "--omit=dev", "--ignore-scripts", cwd=vscode)
    npm("rebuild", *_NATIVE_MODULES, cwd=vscode)


def installed_puppeteer() -> Path:
    """A folder with puppeteer-core in ``node_modules``."""
    final = DOWNLOADS / f"puppeteer-{PUPPETEER}"
    if not final.is_dir():
        DOWNLOADS.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=DOWNLOADS) as name:
            folder = Path(name) / "modules"
            folder.mkdir()
            (folder / "package.json").write_text("{}")
            npm("install", f"puppeteer-core@{PUPPETEER}", cwd=folder)
            folder.rename(final)
    return final


def npm(*words: str, cwd: Path) -> None:
    done = subprocess.run(
        [require(shutil.which("npm"), "npm"), *words, "--no-audit", "--no-fund"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=patient(300),
    )
    assert done.returncode == 0, f"npm {' '.join(words)}: {done.stderr}"


class Server:
    """A running server, with extensions and settings of its own below ``folder``; ``url`` leads to it."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = {**os.environ, **environment}
        self.url = ""
        self._main = [node(), str(installed_vscode() / "out" / "server-main.js")]
        self._options = [
            "--accept-server-license-terms",
            f"--extensions-dir={folder / 'extensions'}",
            f"--server-data-dir={folder / 'data'}",
        ]
        (folder / "extensions").mkdir(parents=True, exist_ok=True)

    def command(self, path: Path) -> Path:
        """Write a program that takes what ``code`` takes, and return its path."""
        words = " ".join(f"'{word}'" for word in (*self._main, *self._options))
        path.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        path.chmod(0o755)
        return path

    def __enter__(self) -> Server:
        self._process = subprocess.Popen(
            [
                *self._main,
                *self._options,
                "--host=127.0.0.1",
                "--port=0",
                "--without-connection-token",
                "--disable-workspace-trust",
                "--telemetry-level=off",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=(self.folder / "server-errors.txt").open("w"),
            text=True,
            env=self.environment,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            found = re.search(r"agent listening on (\d+)", line)
            if found:
                self.url = f"http://127.0.0.1:{found.group(1)}"
                return self
        raise AssertionError(f"the server ended with {self._process.wait()}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the server and what it started: extension host, terminals and what runs in them outlive it else."""
        own = [*psutil.Process(self._process.pid).children(recursive=True)]
        self._process.terminate()
        _, alive = psutil.wait_procs([psutil.Process(self._process.pid), *own], timeout=patient(5))
        for process in alive:
            process.kill()
        psutil.wait_procs(alive, timeout=patient(120))
        self._process.wait(patient(10))
        assert self._process.stdout is not None
        self._process.stdout.close()
