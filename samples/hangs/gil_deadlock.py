"""A deadlock of the GIL and a C++ mutex: each of two threads holds one and waits for the other."""

from __future__ import annotations

import os
import sys

from hang_support import end_after, parse_arguments
from sample_path import add_native_modules

add_native_modules()

import sample_locks  # noqa: E402


def double(item):
    return item * 2


def main():
    end_after(parse_arguments(__doc__).limit)
    # Nothing of Python can run once it hangs, so C++ prints the line.
    ready_line = f"ready pid={os.getpid()}\n"
    result = sample_locks.process_item(double, 21.0, sys.stdout.fileno(), ready_line)
    print(result)


if __name__ == "__main__":
    main()
