"""Ten bugs found by a scripted agent over ``dualdbg mcp``: how many calls it took, and how many bytes were answered."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench._hunter import Agent, Symptom, Verdict, agent, hunt, transcript

SAMPLES = Path(__file__).resolve().parent.parent / "samples" / "hunts"
KEPT = Path(__file__).with_suffix(".json")


@dataclass(frozen=True)
class Hunt:
    """``kind``, ``name`` and ``of`` make the symptom; ``function``, ``file`` and ``proof`` are what must be found.

    ``of`` is the Python function in which references grow.
    """

    kind: str
    function: str
    file: str
    proof: str
    name: str = ""
    of: str = ""


HUNTS = {
    "segfault": Hunt("crashes", "find", "hunt_list.cpp", "node = 0x0"),
    "deadlock": Hunt("hangs", "visit_with", "hunt_locks.cpp", "waits for the GIL"),
    "stride": Hunt(
        "number", "add_up", "hunt_buffers.cpp", "moves by 8 bytes, the stride of column is 32", "total"
    ),
    "exception": Hunt("crashes", "checked", "hunt_throws.cpp", "out_of_range"),
    "ranks": Hunt("hangs", "load_shard", "ranks.py", "rank 2 is alone there"),
    "leak": Hunt("grows", "get", "hunt_table.cpp", "leaves 1 reference more to model", "model", "look_up"),
    "race": Hunt("number", "work", "hunt_counter.cpp", "both go on from", "counter"),
    "dtype": Hunt("number", "add_up", "hunt_buffers.cpp", "whose format is 'f'", "total"),
    "callback": Hunt("crashes", "weight_of", "callback.py", "KeyError"),
    "optimised": Hunt("crashes", "weight_at", "hunt_fast.cpp", "SIGSEGV"),
}


@contextmanager
def symptom(name: str, modules: Path) -> Iterator[Symptom]:
    """The symptom of a hunt, whose modules are in the folder ``modules``. A job that hangs is started for it."""
    one = HUNTS[name]
    program = str(SAMPLES / f"{name}.py")
    if name != "ranks":
        yield Symptom(one.kind, program, {"PYTHONPATH": str(modules)}, name=one.name, function=one.of)
        return
    with subprocess.Popen(
        [sys.executable, program, "--limit", "300"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as job:
        try:
            assert job.stdout is not None
            if not job.stdout.readline().startswith("ready"):
                raise SystemExit("the job did not come to where it hangs")
            yield Symptom(one.kind, pid=job.pid)
        finally:
            job.kill()


async def solve(name: str, modules: Path) -> tuple[Verdict, Agent]:
    """Hunt one bug with a server of its own."""
    with symptom(name, modules) as said:
        async with agent() as one:
            return await hunt(one, said), one


def is_found(name: str, verdict: Verdict) -> bool:
    """Whether the verdict names the right place, and what proves it."""
    one = HUNTS[name]
    return (verdict.function, verdict.file) == (one.function, one.file) and one.proof in verdict.because


def build() -> Path:
    """The folder with the compiled modules."""
    command = [sys.executable, str(SAMPLES / "build.py")]
    return Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())


def main(options: Sequence[str] = ()) -> int:
    """Hunt all, or those that are named; ``--write`` keeps the table, ``--show`` prints what was said."""
    names = [word for word in options if not word.startswith("-")] or list(HUNTS)
    modules = build()
    rows, status = {}, 0
    for name in names:
        started = time.perf_counter()
        verdict, one = asyncio.run(solve(name, modules))
        seconds = time.perf_counter() - started
        found = is_found(name, verdict)
        status = status or (0 if found else 1)
        rows[name] = {"calls": len(one.calls), "bytes": one.size}
        print(
            f"{name:10} {'found' if found else 'WRONG'} {len(one.calls):3} calls {one.size:7,} bytes {seconds:5.1f} s  "
            f"{verdict.function} ({verdict.file}:{verdict.line}): {verdict.because.splitlines()[0]}"
        )
        if "--show" in options:
            print(transcript(one.calls))
    if "--write" in options:
        KEPT.write_text(json.dumps(rows, indent=2) + "\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
