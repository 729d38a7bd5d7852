"""``dualdbg job`` looks at twenty healthy jobs of PyTorch, started by torchrun: how many verdicts, all false."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil

from . import _healthy_job

RANKS = int(os.environ.get("BENCH_RANKS", "8"))
LOOKS = int(os.environ.get("BENCH_LOOKS", "3"))
ONLY = os.environ.get("BENCH_JOBS", ",".join(_healthy_job.JOBS)).split(",")
PROGRAM = Path(_healthy_job.__file__)


def main() -> None:
    looks = false = 0
    for name in ONLY:
        command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(RANKS)]
        command += ["--rdzv-backend", "c10d", "--rdzv-endpoint", "127.0.0.1:0", str(PROGRAM), name]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        with subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        ) as launcher:
            try:
                assert launcher.stdout is not None
                if launcher.stdout.readline() != "there\n":
                    sys.exit(f"{name} did not start")
                told, seconds = [], []
                for _ in range(LOOKS):
                    began = time.perf_counter()
                    told += verdicts(launcher.pid)
                    seconds.append(time.perf_counter() - began)
            finally:  # each rank is a session of its own
                for one in (*psutil.Process(launcher.pid).children(recursive=True), launcher):
                    one.kill()
        looks, false = looks + LOOKS, false + len(told)
        print(
            f"{name:32} {RANKS} ranks, {LOOKS} looks of {max(seconds):4.1f} s at most: {len(told)} verdicts"
        )
        for verdict in told:
            print(f"    {verdict}", flush=True)
    print(f"{len(ONLY)} jobs, {looks} looks: {false} verdicts", flush=True)


def verdicts(launcher: int) -> list[str]:
    """What ``dualdbg job`` says of the job, and that all its ranks were read."""
    command = [sys.executable, "-m", "dualdbg", "job", "--via", "local", str(launcher), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    (job,) = [row for row in rows if row["event"] == "job"]
    if job["count"] != RANKS:
        return [f"{job['count']} ranks were read: {done.stderr}"]
    return [row["text"] for row in rows if row["event"] in ("verdict", "finding")]


if __name__ == "__main__":
    main()
