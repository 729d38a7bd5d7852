"""Where control goes after an instruction, in gdb: of code that was assembled, and of what other gdbs print."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
from typing import Any

import pytest

from dualdbg.system.patience import patient
from tests.gdb_scripts.gdb_run import ENTRY, HERE
from tests.support import require

# Each label is one instruction, with where control goes behind it.
ASSEMBLY = {
    "x86_64": {
        "begin": ("test %eax, %eax", ["branch"]),
        "branch": ("je loop_", ["call", "loop_"]),
        "call": ("call *%rax", ["jump"]),
        "jump": ("jmp over", ["over"]),
        "dead": ("ud2", []),
        "loop_": ("loop begin", ["table", "begin"]),
        "table": ("notrack jmp *%rdx", ["indirect"]),
        "memory": ("jmp *begin(%rip)", ["indirect"]),
        "over": ("hlt", []),
        "back": ("repz ret", ["returns"]),
    },
    "aarch64": {
        "begin": ("cmp x0, #1", ["branch"]),
        "branch": ("b.eq loop_", ["call", "loop_"]),
        "call": ("blr x1", ["jump"]),
        "jump": ("b over", ["over"]),
        "dead": ("udf #0", []),
        "loop_": ("tbnz w0, #3, begin", ["table", "begin"]),
        "table": ("br x2", ["indirect"]),
        "memory": ("br x3", ["indirect"]),
        "over": ("brk #1000", []),
        "back": ("ret", ["returns"]),
    },
}
GIVEN: list[tuple[str, str, list[Any]]] = [
    ("i386:x86-64", "jmpq   0x4010 <f+16>", [0x4010]),
    ("i386:x86-64", "bnd jne 0x4010 <f(char *)+16>", [0x404, 0x4010]),
    ("i386:x86-64", "jmpq   *0x2fe2(%rip)        # 0x4000 <puts@got.plt>", ["indirect"]),
    ("i386:x86-64", "(bad)", []),
    ("i386:x86-64", "repz retq", ["returns"]),
    ("i386:x86-64", "rep stos %al,%es:(%rdi)", [0x404]),
    ("aarch64", "cbz\tx0, 0x4010 <f+16>", [0x404, 0x4010]),
    ("aarch64", "tbz\tw0, #3, 0x4010 <f+16>", [0x404, 0x4010]),
    ("aarch64", "b.ne\t0x4010 <f+16>  // b.any", [0x404, 0x4010]),
    ("aarch64", "bc.ne\t0x4010 <f+16>  // bc.any", [0x404, 0x4010]),
    ("aarch64", "cbgt\tx0, #3, 0x4010 <f+16>", [0x404, 0x4010]),
    ("aarch64", "cbbhi\tw0, w1, 0x4010 <f+16>", [0x404, 0x4010]),
    ("aarch64", "b\t0x4010 <f+16>", [0x4010]),
    ("aarch64", "bl\t0x4010 <f+16>", [0x404]),
    ("aarch64", "braa\tx1, x2", ["indirect"]),
    ("aarch64", "brk\t#0x3e8", []),
    ("aarch64", "bic\tx0, x1, x2", [0x404]),
    ("aarch64", "retaa", ["returns"]),
]


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What gdb says of the code above."""
    folder = tmp_path_factory.mktemp("control_flow")
    rows = ASSEMBLY[platform.machine()]
    lines = [f".global {label}\n{label}: {text}" for label, (text, _) in rows.items()]
    source = folder / "code.s"
    source.write_text("\n".join([".text", *lines, ".global end", "end:", ""]))
    compiler = require(shutil.which("gcc"), "a C compiler")
    program = folder / "code"
    subprocess.run([compiler, "-nostdlib", "-no-pie", "-Wl,-e,begin", source, "-o", program], check=True)
    gdb = require(shutil.which("gdb"), "gdb")
    done = subprocess.run(
        [gdb, "-nx", "-q", "-batch", "-x", HERE / "targets" / "look_at_control_flow.py", program],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=patient(120),
        env={
            **os.environ,
            "DUALDBG_TEST_SCRIPTS": str(ENTRY.parent),
            "DUALDBG_TEST_LABELS": " ".join([*rows, "end"]),
            "DUALDBG_TEST_ROWS": json.dumps([row[:2] for row in GIVEN]),
        },
    )
    answers = [line for line in done.stdout.splitlines() if line.startswith("answer: ")]
    assert answers, done.stdout + done.stderr
    return dict(json.loads(answers[0].removeprefix("answer: ")))


def test_where_control_goes(answer: dict[str, Any]) -> None:
    assert answer["flows"] == {label: goes for label, (_, goes) in ASSEMBLY[platform.machine()].items()}
    assert answer["unread"] is None


def test_where_control_goes_as_other_gdbs_print_it(answer: dict[str, Any]) -> None:
    assert dict(zip([row[1] for row in GIVEN], answer["given"], strict=True)) == {
        text: goes for _, text, goes in GIVEN
    }


def test_what_control_comes_to(answer: dict[str, Any]) -> None:
    assert sorted(answer["reached"]) == sorted(["begin", "branch", "call", "jump", "over", "loop_", "table"])
    assert sorted(answer["without"]) == sorted(["begin", "branch", "call", "jump", "over"])
