"""``dualdbg job merge`` of 10 to 10,000 ranks with 30 threads each: time and memory."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dualdbg.snapshot.merged import merged
from dualdbg.snapshot.packed import pack

RANKS = [int(one) for one in os.environ.get("BENCH_RANKS", "10,100,1000,10000").split(",")]
THREADS = 30
NODE = 8  # ranks in one file


def frames(chance: random.Random, depth: int, innermost: str) -> list[dict[str, Any]]:
    """A stack as ``stacks --json`` writes one; plumbing has no number. Libraries lie elsewhere in each process."""
    rows = []
    for at in range(depth):
        is_python = at % 3 == 0
        rows.append(
            {
                "kind": "python" if is_python else "native",
                "function": innermost if at == 0 else f"function_{depth}_{at}",
                "file": f"/opt/job/module_{at}.py" if is_python else None,
                "line": 10 * at + 3 if is_python else None,
                "library": None if is_python else "/opt/venv/lib/libtorch_cpu.so",
                "address": None if is_python else f"{0x7F0000000000 + chance.randrange(1 << 30):#x}",
                "role": "user",
                "number": at if at % 4 else None,
                "locals": None,
            }
        )
    return rows


def ranks_of(first: int, count: int) -> Iterator[str]:
    """Lines of a file: most ranks wait in one of a few places, one in a thousand is elsewhere."""
    for rank in range(first, first + count):
        chance = random.Random(rank)
        where = "evaluate" if chance.random() < 0.001 else chance.choice(["wait", "wait", "wait", "copy"])
        threads = [{"tid": 1, "frames": frames(chance, 40, where)}]
        threads += [
            {"tid": 2 + number, "frames": frames(chance, 12, f"pool_{number % 4}")}
            for number in range(THREADS - 1)
        ]
        row = {
            "event": "process",
            "pid": rank + 100,
            "parent": 1,
            "label": f"rank {rank}",
            "threads": threads,
        }
        yield json.dumps(row) + "\n"


def written(folder: Path, count: int, how: str) -> int:
    """Writes the files of so many ranks; how many bytes they have unpacked."""
    size = 0
    for first in range(0, count, NODE):
        lines = list(ranks_of(first, min(NODE, count - first)))
        if how == "as nodes send it":
            lines = [json.dumps(each) + "\n" for each in merged(map(json.loads, lines))]
        text = "".join(lines)
        size += len(text)
        path = folder / f"{first:06}"
        path.write_bytes(
            gzip.compress(text.encode(), 1) if how == "stacks --json" else pack(text, "0").encode()
        )
    return size


PEAK = "import resource, sys; from dualdbg.cli.main import main; main(sys.argv[1:]); " + (
    "used = resource.getrusage(resource.RUSAGE_SELF); "
    "print(used.ru_maxrss, used.ru_utime + used.ru_stime, file=sys.stderr)"
)


def main() -> None:
    for count in RANKS:
        for how in ("stacks --json", "as nodes send it"):
            with tempfile.TemporaryDirectory() as folder:
                size = written(Path(folder), count, how)
                files = sorted(Path(folder).iterdir())
                packed = sum(path.stat().st_size for path in files)
                print(f"{count:6} ranks, {how}: {size / 1e6:.1f} MB, packed {packed / 1e6:.1f} MB")
                for words in ([], ["--all-threads"]):
                    merge(files, words)


def merge(files: list[Path], words: list[str]) -> None:
    began = time.perf_counter()
    command = [sys.executable, "-c", PEAK, "job", "merge", *words, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - began
    peak, cpu = done.stderr.split()[-2:]
    what = "all threads" if words else "main threads"
    print(
        f"    {what:12} {seconds:6.2f} s, of the processor {float(cpu):5.2f} s; {int(peak) / 1024:4.0f} MB at most",
        flush=True,
    )


if __name__ == "__main__":
    main()
