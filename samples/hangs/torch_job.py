"""Four ranks of torch.distributed over gloo: a job that hangs in the way that is asked for, or a healthy one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time

from hang_support import announce, die_with_parent, end_after, parse_arguments

RANKS = 4
ODD = 2  # the rank that does otherwise


def wait_for_ever():
    threading.Event().wait()


def evaluate(model):
    import torch

    while True:
        with torch.no_grad():
            model.module(torch.randn(64, 32))


def never_comes(rank):
    """DDP training, in which one rank evaluates for ever: it moves, but never comes."""
    import torch

    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, 8))
    for step in range(6):
        if rank == ODD and step == 5:
            announce_rank()
            evaluate(model)
        elif step == 5:
            announce_rank()
        model(torch.randn(16, 32)).sum().backward()


def other_operation(rank):
    """One rank calls barrier where the others call all_reduce."""
    import torch
    import torch.distributed as dist

    announce_rank()
    if rank == ODD:
        dist.barrier()
    else:
        dist.all_reduce(torch.ones(3))


def other_order(rank):
    """Two groups of the same ranks: rank 2 uses them in the other order."""
    import torch
    import torch.distributed as dist

    groups = [dist.new_group(list(range(RANKS))), dist.new_group(list(range(RANKS)))]
    announce_rank()
    for group in reversed(groups) if rank == ODD else groups:
        dist.all_reduce(torch.ones(3), group=group)


def ahead(rank):
    """The others begin an operation, and wait for it elsewhere."""
    import torch
    import torch.distributed as dist

    if rank != ODD:
        begun = dist.all_reduce(torch.ones(3, 5), async_op=True)
        announce_rank()
        keep_waiting(begun)
    announce_rank()
    wait_for_ever()


def keep_waiting(begun):
    while not begun.is_completed():
        time.sleep(60)


def no_matching_send(rank):
    """Each rank receives from the next one, and nobody sends."""
    import torch
    import torch.distributed as dist

    announce_rank()
    dist.recv(torch.ones(3), src=(rank + 1) % RANKS)


def sharded():
    """A model whose parameters are spread over the ranks: each layer is gathered before it is used."""
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.Linear(32, 8))
    mesh = init_device_mesh("cpu", (RANKS,))
    for part in (*model, model):
        fully_shard(part, mesh=mesh)
    return model


def no_gather(rank):
    """FSDP training, in which one rank waits for a checkpoint in place of its next forward."""
    import torch

    model = sharded()
    for step in range(3):
        if step == 2:
            announce_rank()
        if rank == ODD and step == 2:
            wait_for_ever()
        model(torch.randn(16, 32)).sum().backward()


def no_gather_of_wrapped(rank):
    """The same with the older FullyShardedDataParallel."""
    import torch
    from torch.distributed.fsdp import FullyShardedDataParallel

    model = FullyShardedDataParallel(torch.nn.Linear(32, 8), device_id=torch.device("cpu"))
    for step in range(3):
        if step == 2:
            announce_rank()
        if rank == ODD and step == 2:
            wait_for_ever()
        model(torch.randn(16, 32)).sum().backward()


def no_scatter(rank):
    """FSDP training, in which a hook of one rank's backward waits: its gradients are never reduced."""
    import torch

    model = sharded()
    for step in range(3):
        output = model(torch.randn(16, 32))
        if step == 2:
            announce_rank()
        if rank == ODD and step == 2:
            output.register_hook(lambda gradient: wait_for_ever())
        output.sum().backward()


def rank_is_dead(rank):
    """One rank ends without a word; its connections stay open in a child."""
    import torch
    import torch.distributed as dist

    announce_rank()
    if rank == ODD:
        if os.fork() == 0:
            sys.stdin.buffer.read()  # until the launcher ends
        os._exit(0)
    dist.all_reduce(torch.ones(3))


def healthy_training(rank):
    import torch

    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, 8))
    announce_rank()
    while True:
        model(torch.randn(16, 32)).sum().backward()


def healthy_barriers(rank):
    import torch.distributed as dist

    announce_rank()
    while True:
        dist.barrier()
        if rank == ODD:
            time.sleep(0.02)


def healthy_pairs(rank):
    import torch
    import torch.distributed as dist

    announce_rank()
    while True:
        if rank % 2:
            dist.send(torch.ones(3), dst=rank - 1)
        else:
            dist.recv(torch.ones(3), src=rank + 1)


def healthy_evaluation(rank):
    import torch
    import torch.distributed as dist

    announce_rank()
    while True:
        for _ in range(20):
            torch.randn(64, 32).matmul(torch.randn(32, 8))
        dist.all_reduce(torch.ones(1))


KINDS = {
    each.__name__: each
    for each in (
        never_comes,
        other_operation,
        other_order,
        ahead,
        no_matching_send,
        no_gather,
        no_gather_of_wrapped,
        no_scatter,
        rank_is_dead,
        healthy_training,
        healthy_barriers,
        healthy_pairs,
        healthy_evaluation,
    )
}


def announce_rank():
    print("there", flush=True)


def run_rank(kind):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    if kind == "no_start" and os.environ["RANK"] == str(ODD):
        announce_rank()
        wait_for_ever()
    if kind == "no_start":
        announce_rank()
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(2))
    KINDS[kind](dist.get_rank())


def start_rank(rank, port, kind, limit):
    command = [sys.executable, __file__, "--limit", str(limit), kind, str(os.getpid())]
    environment = {
        **os.environ,
        "RANK": str(rank),
        "WORLD_SIZE": str(RANKS),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def main():
    arguments = parse_arguments(__doc__, "words", nargs="+", help=f"one of {', '.join(KINDS)}, no_start")
    kind, *parent = arguments.words
    end_after(arguments.limit)
    if parent:
        die_with_parent(int(parent[0]))
        run_rank(kind)
        return
    port = free_port()
    ranks = [start_rank(rank, port, kind, arguments.limit) for rank in range(RANKS)]
    for rank in ranks:
        # gloo of some PyTorch (2.8) writes a line of its own to standard output before.
        if "there\n" not in rank.stdout:
            sys.exit("a rank ended before it was there")
    if kind == "rank_is_dead":
        ranks[ODD].wait()
    announce(ranks=[rank.pid for rank in ranks])
    for rank in ranks:
        rank.wait()


if __name__ == "__main__":
    main()
