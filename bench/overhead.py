"""The time of a program without stops under dualdbg, against debugpy alone. The program times its own work.

Each run under dualdbg has a run under debugpy beside it, in turns; the median of their ratios is what counts.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench._debugpy_client import Client, start
from dualdbg.model import Exited
from dualdbg.session.options import Options
from dualdbg.session.start import launch
from dualdbg.target.launcher import Launch
from samples.native.build import build

ROUNDS = 9
PROGRAMS = {
    "Python loop": "total = 0\nfor n in range(8_000_000):\n    total += n\n",
    "native calls": "import sample_capi\nfor n in range(3_000_000):\n    sample_capi.add(1.0, 2.0)\n",
    "16 threads, one lock": (
        "import threading\nlock = threading.Lock()\n"
        "def count():\n    for n in range(50_000):\n        with lock: pass\n"
        "threads = [threading.Thread(target=count) for _ in range(16)]\n"
        "for thread in threads: thread.start()\nfor thread in threads: thread.join()\n"
    ),
    "1,600 short threads": (
        "import threading\nfor n in range(40):\n"
        "    threads = [threading.Thread(target=sum, args=(range(20_000),)) for _ in range(40)]\n"
        "    for thread in threads: thread.start()\n    for thread in threads: thread.join()\n"
    ),
}
_TIMED = "import sys, time\nstarted = time.perf_counter()\ndef work():\n{body}work()\n"
_TOLD = "open(sys.argv[1], 'w').write(str(time.perf_counter() - started))\nmarker = 1\n"


def write(folder: Path, text: str) -> Path:
    body = "".join(f"    {line}\n" for line in text.splitlines())
    path = folder / "program.py"
    told = folder / "seconds"
    path.write_text(_TIMED.format(body=body) + _TOLD.replace("sys.argv[1]", repr(str(told))))
    return path


def told(folder: Path) -> float:
    return float((folder / "seconds").read_text())


def plain(folder: Path, script: Path) -> float:
    subprocess.run([sys.executable, str(script)], check=True)
    return told(folder)


def debugpy_alone(folder: Path, script: Path) -> float:
    program, port = start(str(script))
    client = Client(port)
    client.stop_at(str(script), len(script.read_text().splitlines()))  # behind the work
    program.kill()
    program.wait()
    return told(folder)


def under_dualdbg(folder: Path, script: Path) -> float:
    async def run() -> None:
        queues = []
        session = await launch(
            Launch(sys.executable, script=str(script)),
            Options(),
            None,
            subscribe=lambda one: queues.append(one.subscribe()),
        )
        try:
            while not isinstance(await queues[0].get(), Exited):
                pass
        finally:
            await session.close()

    asyncio.run(run())
    return told(folder)


def pair(folder: Path, script: Path, ours_first: bool) -> tuple[float, float]:
    """Seconds under debugpy alone and under dualdbg, one right after the other: the load is the same for both."""
    if ours_first:
        ours = under_dualdbg(folder, script)
        return debugpy_alone(folder, script), ours
    return debugpy_alone(folder, script), under_dualdbg(folder, script)


def main() -> None:
    os.environ["PYTHONPATH"] = str(build())
    print("dualdbg / debugpy alone, of pairs of runs; at most 1.1")
    print(f"{'':24} {'plain s':>8} {'debugpy':>8} {'dualdbg':>8} {'ratio':>7}   quartiles")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for label, text in PROGRAMS.items():
            script = write(folder, text)
            plainly = statistics.median(plain(folder, script) for _ in range(3))
            pairs = [pair(folder, script, bool(number % 2)) for number in range(ROUNDS)]
            theirs, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
            low, middle, high = statistics.quantiles((own / their for their, own in pairs), n=4)
            print(
                f"{label:24} {plainly:8.3f} {theirs:8.3f} {ours:8.3f} {middle:7.2f}   {low:.2f} to {high:.2f}"
            )


if __name__ == "__main__":
    main()
