"""Runs the program of its second argument in the way that its first one names."""

import os
import subprocess
import sys

program = sys.argv[2]
WAYS = {
    "subprocess": lambda: subprocess.call([program, "one"]),
    "shell": lambda: subprocess.call(f"'{program}' two; exit $?", shell=True),
    "spawn": lambda: os.waitstatus_to_exitcode(
        os.waitpid(os.posix_spawn(program, [program, "three"], os.environ), 0)[1]
    ),
    "exec": lambda: subprocess.call(["/bin/sh", "-c", f"exec '{program}' four"]),
    "static": lambda: subprocess.call([program]),
}

if __name__ == "__main__":
    print(f"status {WAYS[sys.argv[1]]()}", flush=True)
