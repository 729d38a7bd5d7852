"""`stepi` and `nexti` at the prompt: one instruction of native code, and why not at a Python stop."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.driver import dualdbg

PROGRAM = """\
import os
os.getpgid(0)
print("end")
"""


def test_instructions_are_for_native_stops(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    commands = ("nexti", "continue", "cpp $pc", "stepi", "cpp $pc", "nexti 2", "cpp $pc")
    words = [word for command in commands for word in ("-x", command)]
    done = dualdbg("run", "-b", "program.py:2", "-b", "::getpgid", *words, "--batch", script)
    assert "nexti needs a native stop" in done.stdout + done.stderr
    answers = [part.split("\n")[1] for part in done.stdout.split("(dualdbg) cpp $pc")[1:]]
    assert len(set(answers)) == 3, done
    assert done.stdout.count("* Step: native") == 3
    assert len(set(re.findall(r"^=> 0x\w+ <.*>:\t\S+", done.stdout, re.MULTILINE))) == 2, (
        "the one at each end is shown"
    )
