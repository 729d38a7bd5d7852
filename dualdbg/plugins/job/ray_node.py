"""Run as a program: lists the nodes of a Ray cluster, or runs words on one of them as a task of Ray's.

python -m dualdbg.plugins.job.ray_node list ADDRESS
python -m dualdbg.plugins.job.ray_node run ADDRESS NODE WORDS...
"""

from __future__ import annotations

import json
import logging
import os
import sys
from importlib import import_module
from typing import Any

FAILED = 254  # the exit status where Ray itself could not
_MOST_STDERR = 2000


def main(words: list[str]) -> int:
    """The exit status: that of the words on the node, or ``FAILED``."""
    action, address, *rest = words
    os.environ["RAY_DEDUP_LOGS"] = "0"
    try:
        ray: Any = import_module("ray")  # where it is installed its types are not complete
        ray_errors = (import_module("ray.exceptions").RayError, ConnectionError, ValueError, RuntimeError)
    except ImportError as error:
        return _failed(f"Ray cannot be imported: {error}")
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
        if action == "list":
            rows = [[row["NodeID"], row["NodeName"], bool(row["Alive"])] for row in ray.nodes()]
            sys.stdout.write(json.dumps(rows) + "\n")
            return 0
        return _run(ray, rest[0], rest[1:])
    except ray_errors as error:  # RuntimeError: the cluster has another version
        return _failed(str(error))


def _failed(why: str) -> int:
    sys.stderr.write(" ".join(why.split()) + "\n")
    return FAILED


def _run(ray: Any, node: str, words: list[str]) -> int:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    # No CPU: those of a hung job are all taken.
    task = ray.remote(num_cpus=0, max_retries=0)(_on_the_node)
    where = NodeAffinitySchedulingStrategy(node_id=node, soft=False)
    status, sent, told = ray.get(task.options(scheduling_strategy=where).remote(words))
    sys.stdout.buffer.write(sent)
    sys.stderr.buffer.write(told[-_MOST_STDERR:])
    return int(status)


def _on_the_node(words: list[str]) -> tuple[int, bytes, bytes]:
    """Ray sends this function by value, so all that it needs is in it."""
    import subprocess

    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True)
    status = done.returncode if done.returncode >= 0 else 128 - done.returncode
    return status, done.stdout, done.stderr


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
