"""Run by the program's own interpreter in an editor's terminal: it becomes the program that its arguments name.

So the command line that the terminal shows begins with that interpreter. CPython 3.8 and later.
"""

import os
import sys

if __name__ == "__main__":
    os.execv(sys.argv[1], sys.argv[1:])
