"""Frames of code without names: their library and the offset in it, the same in a session and in a snapshot."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dualdbg.console.printer import Printer
from dualdbg.console.reports import StackReport, numbered
from dualdbg.console.style import Style
from dualdbg.dap.presentation.bodies import frame_name
from dualdbg.model import NativeFrame, PythonFrame, Quality, Stack
from dualdbg.snapshot.report.fold import shown_runs
from tests.cli.driver import dualdbg
from tests.support import wait_until

DEPTH = 6
SOURCE = """\
#include <unistd.h>
static __attribute__((noipa)) int f0(void) { return getppid() + pause(); }
#define CALLS(F, G) static __attribute__((noipa)) int F(void) { return G() + 1; }
CALLS(f1, f0) CALLS(f2, f1) CALLS(f3, f2) CALLS(f4, f3) CALLS(f5, f4)
int enter(void) { return f5() + 1; }
"""
PROGRAM = """\
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
print("ready", flush=True)
library.enter()
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[int, int]]]:
    """A stripped library, and where its functions f0, f1, … begin and end, as its symbols said before."""
    folder = tmp_path_factory.mktemp("nameless")
    made = folder / "libplain.so"
    command = ["gcc", "-O1", "-fPIC", "-shared", "-x", "c", "-", "-o", str(made)]
    subprocess.run(command, input=SOURCE, text=True, check=True)
    listed = subprocess.run(["nm", "-S", made], capture_output=True, text=True, check=True)
    words = [line.split() for line in listed.stdout.splitlines()]
    found = {
        word[3]: (int(word[0], 16), int(word[0], 16) + int(word[1], 16)) for word in words if len(word) == 4
    }
    subprocess.run(["strip", made], check=True)
    (folder / "program.py").write_text(PROGRAM)
    return made, [found[f"f{number}"] for number in range(DEPTH)]


def waiting(pid: int, library: Path) -> list[int]:
    """The offsets of the library's frames, innermost first, once its innermost function waits."""
    report = json.loads(dualdbg("stacks", "--json", str(pid)).stdout.splitlines()[0])
    frames = report["threads"][0]["frames"]
    found = [int(row["offset"], 16) for row in frames if row["library"] == str(library)]
    return found if len(found) > DEPTH and frames[0]["function"] == "pause" else []


def test_frames_have_the_offset_that_tools_take(library: tuple[Path, list[tuple[int, int]]]) -> None:
    made, functions = library
    program = made.parent / "program.py"
    done = dualdbg("run", "--batch", "--json", "-b", "getppid", "-x", "bt", "-x", "kill", program, made)
    frames = [row for row in done.of("stack")[0]["frames"] if row["library"] == str(made)]
    session = [int(row["offset"], 16) for row in frames[:DEPTH]]
    with subprocess.Popen([sys.executable, program, made], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
            alive = wait_until(lambda: waiting(process.pid, made))
            text = dualdbg("stacks", str(process.pid)).stdout
        finally:
            process.kill()
    for offsets in (session, alive):
        assert all(begin < at <= end for at, (begin, end) in zip(offsets, functions, strict=False)), offsets
    assert f"?? (libplain.so+{alive[0]:#x})\n" in text
    assert f"\n  ... {DEPTH - 1} more frames of libplain.so without names\n" in text


def test_the_label_is_the_same_for_all() -> None:
    nameless = NativeFrame(0, 0x7F00, library="/a/libfoo.so.1", offset=0x1A2B)
    assert frame_name(nameless) == nameless.label == "?? (libfoo.so.1+0x1a2b)"
    wild = NativeFrame(1, 0x41414141)
    assert frame_name(wild) == wild.label == "?? (0x41414141)"
    stack = Stack(1, (nameless, wild, PythonFrame("f", "/p.py", 3)), Quality.FULL)
    lines = Printer(Style()).render(StackReport(stack, numbered(stack, False))).splitlines()
    assert [line.rstrip() for line in lines[:2]] == [
        " #0 c++  ?? (libfoo.so.1+0x1a2b)",
        " #1 c++  ?? (0x41414141)",
    ]


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        ([1, 2, 3], ["", "", ""]),
        ([1, 2, 3, 4], ["... 3 more frames of l.so without names"]),
        ([1, 1, 1, 1], ["... the same frame 3 more times"]),
        ([1, 2, 3, 4, 0] * 4, ["... the same 5 frames 3 more times"]),
    ],
)
def test_frames_of_a_library_are_folded_and_cycles_stay_cycles(
    offsets: list[int], expected: list[str]
) -> None:
    frames = [NativeFrame(0, at, "named" if at == 0 else None, "/l.so", offset=at) for at in offsets]
    assert [text for _, text in shown_runs(frames)] == expected
