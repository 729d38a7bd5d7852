"""A job of PyTorch over two machines, reached by ssh: the rank that never came, and a healthy job."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support import SAMPLES, require, wait_until

from .test_via import Cluster, end, free_port
from .test_via import cluster as cluster  # a fixture

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.exhaustive]


@pytest.fixture(autouse=True)
def _needs_torch() -> None:
    require(importlib.util.find_spec("torch"), "PyTorch")


RANK = """\
import os, sys
sys.path.insert(0, sys.argv[1])
import torch_job
torch_job.run_rank(sys.argv[2])
"""


@pytest.mark.parametrize("kind", ["never_comes", "healthy_training"])
def test_over_ssh(cluster: Cluster, tmp_path: Path, kind: str) -> None:
    program = tmp_path / "train.py"
    program.write_text(RANK)
    port = free_port()
    started: list[subprocess.Popen[bytes]] = []
    with ExitStack() as stack:
        for rank in range(4):
            env = {
                **os.environ,
                "RANK": str(rank),
                "WORLD_SIZE": "4",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                "GLOO_SOCKET_IFNAME": "lo",
                "OMP_NUM_THREADS": "1",
            }
            words = [*cluster.on(rank // 2), sys.executable, str(program), str(SAMPLES / "hangs"), kind]
            process = subprocess.Popen(words, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            stack.callback(process.communicate)
            stack.callback(end, process)
            started.append(process)
        if kind == "healthy_training":
            for each in started:  # while one is not, the others wait for it, and that is told
                assert each.stdout is not None and each.stdout.readline() == b"there\n"
            for _look in range(5):
                done = cluster.job("node1,node2", "--interval", "0.5")
                assert "has not called" not in done.stdout and "- " not in done.stdout.splitlines()[1:3], done
            return

        def told() -> str | None:
            text = cluster.job("node1,node2").stdout
            return text if "it moves, a straggler" in text else None

        text = wait_until(told, 90, "the straggler")
    assert (
        "- rank 2 (process " in text
        and "on node2) has not called all_reduce, for which ranks 0-1, 3 wait" in text
    )
    assert "each at its own time" not in text
