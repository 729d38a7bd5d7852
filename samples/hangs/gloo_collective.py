"""Four ranks in an all_reduce over gloo, of which rank 3 never calls it: the others wait for it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from hang_support import announce, die_with_parent, end_after, parse_arguments, wait_until_asleep

RANKS = 4


def load_next_shard():
    # Nobody writes to the pipe that is our stdin.
    return sys.stdin.buffer.read(1)


def train_step(rank, gradient):
    import torch.distributed as dist

    if rank == RANKS - 1:
        load_next_shard()
    dist.all_reduce(gradient)
    return gradient


def run_rank(rank, store):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
    first = torch.ones(2)
    dist.all_reduce(first)
    print("connected", flush=True)
    train_step(rank, torch.full((2,), float(rank)))


def start_rank(rank, store, limit):
    command = [sys.executable, __file__, "--limit", str(limit), str(rank), store, str(os.getpid())]
    environment = {**os.environ, "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )


def run_all(limit):
    with tempfile.TemporaryDirectory() as folder:
        ranks = [start_rank(rank, str(Path(folder) / "store"), limit) for rank in range(RANKS)]
        for rank in ranks:
            # gloo of some PyTorch (2.8) writes a line of its own to standard output before.
            if "connected\n" not in rank.stdout:
                sys.exit("a rank ended before it was connected")
    # The ranks have found each other: the folder is not needed any more.
    pids = [rank.pid for rank in ranks]
    wait_until_asleep(pids)
    announce(ranks=pids)
    for rank in ranks:
        rank.wait()  # they have the limit


def main():
    arguments = parse_arguments(__doc__, "rank", nargs="*", help="used for the ranks themselves")
    if arguments.rank:
        rank, store, parent = arguments.rank
        die_with_parent(int(parent))
        end_after(arguments.limit)
        run_rank(int(rank), store)
    else:
        run_all(arguments.limit)


if __name__ == "__main__":
    main()
