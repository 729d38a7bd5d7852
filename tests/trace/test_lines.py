"""Lines of Python are counted as often as the interpreter's own trace function tells of them, in every version."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests import rows
from tests.support import other_interpreter
from tests.trace.test_counts import pytestmark, result, run

__all__ = ["pytestmark"]

# Loops of one line and of several, comprehensions (inlined from 3.12 on), generators, handlers, coroutines.
_SCRIPT = """\
import os, sys
def loops(n):
    for _ in range(n): os.getppid()
    i = 0
    while i < n: i += 1
    a = [j for j in range(n)]
    b = sum(j for j in range(n))
    c = {j: 1 for j in range(n)}; d = {j for j in range(n) if j % 2}
    for j in range(n):
        if j == 3: continue
        if j == 7:
            break
    for j in range(n):
        for k in range(3): os.getppid()
    while True:
        i -= 1
        if not i: break
    for j in range(n): pass
    else: pass
    try:
        for j in range(n): 1 // (j - 4)
    except ZeroDivisionError: pass
    finally: i = 2
    x = [
        j
        for j in range(n)
        if j
    ]
    with open(os.devnull) as f:
        for line in ["a", "b"]: f.read()
    for j in range(n): yield j
    for j in range(n): x = (lambda: j)(); y = x
    while i: i -= 1; x = 1
    for j in (1,
              2,
              3): x = j
for z in loops(9): z
list(loops(5))
for z in range(3): z + 1
async def a():
    for j in range(4): pass
    return [j async for j in g()]
async def g():
    for j in range(4): yield j
import asyncio
asyncio.run(a())
"""
_COUNTS = """\
import collections, json, sys
path = sys.argv[1]
counts = collections.Counter()
def trace(frame, event, argument):
    if frame.f_code.co_filename != path:
        return None
    if event == "line":
        counts[frame.f_lineno] += 1
    return trace
code = compile(open(path).read(), path, "exec")
sys.settrace(trace)
exec(code, {"__name__": "__main__"})
sys.settrace(None)
print(json.dumps(counts))
"""


@pytest.mark.parametrize("version", rows.versions())
def test_each_line_counts_as_often_as_a_trace_function_is_told(version: str, tmp_path: Path) -> None:
    script = tmp_path / "lines.py"
    script.write_text(_SCRIPT)
    python = other_interpreter(version)
    told = subprocess.run(
        [python, "-c", _COUNTS, str(script)], capture_output=True, text=True, check=True
    ).stdout
    wanted = {f"lines.py:{line}": count for line, count in json.loads(told).items()}
    assert len(wanted) > 40
    options = [word for line in json.loads(told) for word in ("-b", f"{script}:{line}")]
    found = result(run("--count", "--json", "--python", python, *options, script))
    assert {name: found[name]["hits"] for name in wanted} == wanted
