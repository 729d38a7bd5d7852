"""Runs calls under gdb, and counts at which places each of them came by."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dualdbg.system.patience import patient
from tests import support

HERE = Path(__file__).parent


def run(
    calls: Sequence[str],
    places: Iterable[set[str]],
    folder: Path,
    modules: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> list[dict[str, int]]:
    """The hits of each call at all of the places, which are ``PATH+0xADDRESS`` with link-time addresses.

    ``modules`` are what the calls use beside torch.
    """
    hits, _ = _run(calls, places, folder, modules, environment, stacks=False)
    return [hits.get(str(number), {}) for number in range(len(calls))]


def run_with_stacks(
    calls: Sequence[str], places: Iterable[set[str]], folder: Path
) -> tuple[list[list[dict[str, Any]]], dict[str, int]]:
    """Every hit of each call, one after the other, as count_stops.py writes them; and where each file is mapped."""
    hits, bases = _run(calls, places, folder, (), None, stacks=True)
    return [hits.get(str(number), []) for number in range(len(calls))], bases


def _run(
    calls: Sequence[str],
    places: Iterable[set[str]],
    folder: Path,
    modules: Sequence[str],
    environment: Mapping[str, str] | None,
    stacks: bool,
) -> tuple[dict[str, Any], dict[str, int]]:
    gdb = support.require(shutil.which("gdb"), "gdb")
    files = {name: folder / f"{name}.json" for name in ("calls", "target", "plan", "out")}
    wanted = sorted({tuple(place.rsplit("+", 1)) for own in places for place in own})
    plan = {
        "target": str(files["target"]),
        "stacks": stacks,
        "out": str(files["out"]),
        "places": [(library, int(offset, 16)) for library, offset in wanted],
    }
    files["calls"].write_text(json.dumps([list(calls), list(modules)]))
    files["plan"].write_text(json.dumps(plan))
    settings = ["auto-solib-add off", "debuginfod enabled off", "auto-load off", "startup-with-shell off"]
    commands = [f"set {setting}" for setting in settings]
    commands += ["run", f'set $plan = "{files["plan"]}"', f"source {HERE / 'count_stops.py'}"]
    program = [sys.executable, HERE / "call_each.py", files["calls"], files["target"]]
    command = [
        gdb,
        "-nx",
        "-batch",
        *(word for text in commands for word in ("-ex", text)),
        "--args",
        *program,
    ]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=patient(300),
        env={**os.environ, **(environment or {})},
    )
    assert files["out"].exists(), done.stdout[-2000:] + done.stderr[-2000:]
    return json.loads(files["out"].read_text()), json.loads(files["target"].read_text())["bases"]
