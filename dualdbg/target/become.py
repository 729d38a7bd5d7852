"""Run by an interpreter, it becomes the program that its arguments name: ``python -I -S become.py PROGRAM ARGUMENT…``.

In an editor's terminal the program's own interpreter runs it, so that the command line that is shown begins with that
one; everywhere the interpreter of ``debugLauncherPython`` does, so that the program has what a wrapper of that one puts
into the environment. CPython 3.8 and later.
"""

import os
import sys

if __name__ == "__main__":
    os.execv(sys.argv[1], sys.argv[1:])
