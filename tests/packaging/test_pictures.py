"""The pictures of the documentation say what sessions of now say, and what compares them sees what differs."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from dualdbg.system.patience import patient
from scripts import picture_text, screenshots, site_pictures
from tests import rows
from tests.support import ROOT

IMAGES = ROOT / "docs" / "images"
# One of each kind: the machine's view, a hang, and a terminal.
SOME = ("dashboard-machine", screenshots.HANG, "terminal-step")


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.processes
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the pictures are those of Python 3.11")
@pytest.mark.parametrize(
    "name", rows.some(sorted(screenshots.DRAWN, key=lambda name: name not in SOME), len(SOME))
)
def test_a_picture_shows_what_a_session_shows(name: str) -> None:
    pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, "scripts/screenshots.py", "--check", name],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=patient(600),
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_picture_is_made_by_the_script_and_shown_on_a_page() -> None:
    made = {f"{name}.svg" for name in screenshots.DRAWN} | {f"{name}.png" for name in screenshots.BROWSED}
    assert {path.name for path in IMAGES.iterdir()} == made
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    shown = {name for page in pages for name in re.findall(r"images/([\w-]+\.\w+)[)\"]", page.read_text())}
    assert made == shown


def test_the_text_of_a_picture_is_read_line_by_line() -> None:
    lines = picture_text.lines_of((IMAGES / "terminal-step.svg").read_text())
    assert (
        "$ dualdbg run samples/native_demo.py -b native_demo.py:23 -x step -x bt -x finish --batch" in lines
    )
    assert ">#0 c++  capi_outer  samples/native/sample_capi.cpp:38" in lines


def test_only_what_varies_may_be_another() -> None:
    there = (IMAGES / "terminal-step.svg").read_text()
    assert not [*picture_text.differences(there, re.sub(r"(thread&#160;)\d+", r"\g<1>4712", there))]
    (told,) = picture_text.differences(there, there.replace("sample_capi.cpp:38", "sample_capi.cpp:39", 1))
    assert "- capi_outer  samples/native/sample_capi.cpp:38" in told and "+ capi_outer" in told


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "0x7fff325b6680 48 81 1d d6 03 00 f0 3f  H......?   │ r10    0x7f6bd42ea8d8",
            "0x7ffff9177840 48 21 dc 20 03 00 f0 3f  H!. ...?   │ r10    0x7fc61de84258",
        ),
        ("* Breakpoint 1: native, thread 978 python  ▄│", "* Breakpoint 1: native, thread 23838 python▄│"),
    ],
)
def test_what_varies_is_the_same(one: str, other: str) -> None:
    assert picture_text.same_of(one) == picture_text.same_of(other)


def test_a_site_without_a_browser_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SystemExit, match="no browser takes the picture: none of chromium"):
        site_pictures.take("site")
