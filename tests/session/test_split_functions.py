"""Breakpoints on functions that GCC has split and put together again: a call stops once, as its counter says."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import rows, support
from tests.session.driver import Driver, run_session

SOURCE = """\
#include <assert.h>
#include <stdio.h>

volatile int sink;
struct calls { volatile int split, checked, one; } calls;
struct text { struct { long flags; } *type; unsigned char kind; int size; int *data; };

static int
split(int *p, int n)
{
    if (!p)
        return 0;
    int t = 0;
    for (int i = 0; i < n; i++) { t += p[i]; sink = t; snprintf(0, 0, "%d", t); }
    for (int i = 0; i < n; i++) { t += p[i] * 3; sink = t; snprintf(0, 0, "%d", t); }
    return t;
}

int use(int *p, int n) { calls.split += 1; return split(p, n); }

int other(int *p, int n)
{
    calls.split += 2;
    return split(p, n) + split(p + 1, n - 1);
}

static inline unsigned char flags(struct text *s) { return s->type->flags & 1; }
static inline unsigned char ready(struct text *s)
{
    assert(flags(s));
    return s->kind & 8 ? 0 : snprintf(0, 0, "%d", s->size) > 100;
}

static inline unsigned char kind(struct text *s)
{
    assert(flags(s));
    assert(s->kind & 8);
    return s->kind & 7;
}

static int many(int *p, int n, int by)
{
    int t = 0;
    for (int i = 0; i < n; i++) { t += p[i] * by; sink = t; snprintf(0, 0, "%d", t); }
    for (int i = 0; i < n; i++) { t -= p[i] ^ by; sink = t; snprintf(0, 0, "%d", t); }
    return t;
}

static int
checked(void *self, struct text *s)
{
    if (!flags(s))
        return 0;
    if (ready(s))
        return 0;
    switch (kind(s)) {
    case 1:
        return many(s->data, s->size, 3);
    case 2:
        return many(s->data, s->size, 5) + 1;
    case 4:
        return many(s->data, s->size, 7) + 2;
    }
    assert(0);
    return 0;
}

int (*volatile check)(void *, struct text *) = checked;

static int one(int n) { calls.one += 1; return n > 1 ? one(n - 1) * 3 + sink : 1; }
int begin(int n) { return one(n); }

void run(int n)
{
    int a[3] = {1, 2, n};
    struct { long flags; } type = {1};
    use(a, 3);
    other(a, 3);
    for (int i = 1; i <= 4; i *= 2) {
        struct text text = {(void *) &type, 8 | i, 3, a};
        calls.checked += 1;
        check(0, &text);
    }
    begin(n + 2);
}
"""
PROGRAM = """\
import ctypes, json, sys
library = ctypes.CDLL(sys.argv[1])
library.run(3)
counts = (ctypes.c_int * 3).in_dll(library, "calls")
with open(sys.argv[2], "w") as file:
    json.dump(list(counts), file)
print("over")
"""
NAMES = ("split", "checked", "one")


@pytest.mark.parametrize("options", rows.some(["-O2", "-O3", "-O1 -fpartial-inlining", "-Os", "-O0"], 2))
def test_a_call_of_a_function_that_was_split_stops_once(options: str, tmp_path: Path) -> None:
    support.require(shutil.which("gcc"), "GCC")
    source, library, script = tmp_path / "split.c", tmp_path / "libsplit.so", tmp_path / "program.py"
    source.write_text(SOURCE)
    script.write_text(PROGRAM)
    subprocess.run(
        ["gcc", *options.split(), "-g", "-shared", "-fPIC", str(source), "-o", str(library)], check=True
    )

    async def work(driver: Driver) -> list[int]:
        await driver.stop()
        rows = driver.session.breakpoints.all()
        await driver.finish_run()
        return [row.hit_count for row in rows[:-1]]

    counts = tmp_path / "counts.json"
    specs = [f'{name} log "x"' for name in NAMES] + ["program.py:7"]
    hits = run_session(work, script, *specs, launch_options={"args": (str(library), str(counts))})
    assert hits == json.loads(counts.read_text()) == [3, 3, 5]
