"""Runs in the virtual machine, as root: ``USER COMMAND...``. Each command as that user, a line of JSON for each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
USER, WANTED = int(sys.argv[1]), sys.argv[2:]
CORE = os.environ["CORE"]
ROOT = Path.cwd()
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
DUALDBG = [*AS_USER, sys.executable, "-m", "dualdbg"]
ENVIRONMENT = {**os.environ, "DUALDBG_PATIENCE": "20"}  # gdb takes half a minute to start here
TICKS = str(ROOT / "tests" / "target" / "ticks.py")
SCOPE_NOW = ["-x", f"gdb python print('scope while attached:', open('{SCOPE}').read())"]


def start_ticks() -> subprocess.Popen[str]:
    """One of the user's programs, which dualdbg has not started. It answers each line with the number of the line."""
    command = [*AS_USER, sys.executable, "-u", TICKS]
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert answer(program) == "1"
    return program


def answer(program: subprocess.Popen[str]) -> str:
    assert program.stdin is not None and program.stdout is not None
    print(file=program.stdin, flush=True)
    return program.stdout.readline().strip()


def main() -> None:
    program = start_ticks()
    pid = str(program.pid)
    attach = ["attach", pid, "--batch", *SCOPE_NOW, "-x", "bt"]
    commands = {
        "run": ["run", "--batch", "-b", "ticks.py:11", "-x", "bt", TICKS],
        "stacks": ["stacks", pid],
        "stacks --fix-ptrace": ["stacks", pid, "--fix-ptrace"],
        "attach": attach,
        "attach --fix-ptrace": [*attach, "--fix-ptrace"],
        "core": ["core", CORE],
    }
    for number, name in enumerate(WANTED, 2):
        began = time.monotonic()
        done = subprocess.run(
            [*DUALDBG, *commands[name]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=ENVIRONMENT,
        )
        row = {
            "command": name,
            "status": done.returncode,
            "out": done.stdout,
            "err": done.stderr,
            "scope": int(SCOPE.read_text()),
            "unharmed": answer(program) == str(number),
            "seconds": round(time.monotonic() - began, 1),
        }
        print(json.dumps(row), flush=True)
    program.kill()
    program.wait()


if __name__ == "__main__":
    main()
