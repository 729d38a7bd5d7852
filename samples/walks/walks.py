"""Follows a plan through Python and C++ (sample_walks.cpp); with a file's name it writes there what happened.

``walks.py PLAN [FILE]``. The trace is made without a debugger: each line of Python by sys.settrace, each of C++ by its
own mark.
"""

import json
import sys

import sample_walks

PLAN = sys.argv[1]
LINES = []


def leaf(at, depth):
    value = at
    return value + depth


def native(at, depth):
    value = sample_walks.block(at + 2, depth + 1)
    return value


def nested(at, depth):
    value = block(at + 2, depth + 1)
    return value


def guarded(at, depth):
    value = 0
    try:
        value = block(at + 2, depth + 1)
        value += 1
    except Exception:
        value = -1
    return value


def repeated(at, depth):
    value = 0
    try:
        value = block(at + 2, depth + 1)
    except Exception:
        value = -1
        raise
    return value


def raised(at, depth):
    code = at
    raise ValueError(code)


def produced(at, depth):
    yield 1
    value = block(at + 2, depth + 1)
    yield value


def generated(at, depth):
    total = 0
    for value in produced(at, depth + 1):
        total += value
    return total


def block(at, depth):
    total = 0
    while PLAN[at] != ")":
        total += STEPS[PLAN[at]](at, depth + 1)
        at = AFTER[at]
    return total


STEPS = {
    "l": leaf,
    "n": native,
    "p": nested,
    "y": generated,
    "g": guarded,
    "r": repeated,
    "t": raised,
    "q": leaf,
    "w": leaf,
}


def trace(frame, event, argument):
    if frame.f_code.co_filename != __file__ or "depth" not in frame.f_locals:
        return None
    if event == "line":
        LINES.append((sample_walks.count(), frame.f_code.co_name, frame.f_lineno, frame.f_locals["depth"]))
    return trace


sample_walks.prepare(PLAN, block)
AFTER = sample_walks.after()
if len(sys.argv) > 2:
    sys.settrace(trace)
try:
    print(block(0, 1))
finally:
    if len(sys.argv) > 2:
        sys.settrace(None)
        with open(sys.argv[2], "w") as file:
            json.dump({"lines": LINES, "marks": sample_walks.marks()}, file)
