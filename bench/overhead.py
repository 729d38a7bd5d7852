"""What a program with nothing to stop at takes under dualdbg, against debugpy alone: it times its own work."""

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
from dualdbg.session.start import Options, launch
from dualdbg.target.launcher import Launch
from samples.native.build import build

ROUNDS = 3
PROGRAMS = {
    "Python loop": "total = 0\nfor n in range(3_000_000):\n    total += n\n",
    "native calls": "import sample_capi\nfor n in range(700_000):\n    sample_capi.add(1.0, 2.0)\n",
    "16 threads, one lock": (
        "import threading\nlock = threading.Lock()\n"
        "def count():\n    for n in range(15_000):\n        with lock: pass\n"
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


def main() -> None:
    os.environ["PYTHONPATH"] = str(build())
    print(
        f"{'seconds of work, medians':28} {'plain':>8} {'debugpy':>8} {'dualdbg':>8}   at most 1.1 x debugpy"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for label, text in PROGRAMS.items():
            script = write(folder, text)
            ways = (plain, debugpy_alone, under_dualdbg)
            rows = [
                [way(folder, script) for way in ways] for _ in range(ROUNDS)
            ]  # in turns: the load changes
            plainly, theirs, ours = (statistics.median(column) for column in zip(*rows, strict=True))
            print(f"{label:28} {plainly:8.3f} {theirs:8.3f} {ours:8.3f}   {ours / theirs:.2f} x")


if __name__ == "__main__":
    main()
