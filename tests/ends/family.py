"""A program with descendants of every kind: ``family.py FILE stay|end``. FILE gets a line ``kind pid`` for each.

``child`` has the program's group, ``group`` its own, ``session`` its own session, ``orphan`` has lost its parent, and
``daemon`` has done what daemon(7) says.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

SLEEP = ["sleep", "1000"]
FORK_AND_LEAVE = (
    "import os, subprocess, sys; print(subprocess.Popen(['sleep', '1000'], start_new_session={}).pid)"
)


def orphan(session):
    """A process whose parent has ended."""
    command = [sys.executable, "-I", "-S", "-c", FORK_AND_LEAVE.format(session)]
    read, write = os.pipe()
    subprocess.run(command, stdout=write, check=True)
    return int(os.read(read, 100))


def main():
    path, fate = sys.argv[1:]
    family = {
        "program": os.getpid(),
        "child": subprocess.Popen(SLEEP).pid,
        "group": subprocess.Popen(SLEEP, preexec_fn=os.setpgrp).pid,
        "session": subprocess.Popen(SLEEP, start_new_session=True).pid,
        "orphan": orphan(False),
        "daemon": orphan(True),
    }
    new = Path(path + ".new")
    new.write_text("".join(f"{kind} {pid}\n" for kind, pid in family.items()))
    new.rename(path)
    while fate == "stay":
        time.sleep(0.05)


main()
