"""One rank of a healthy job of torch.distributed over gloo; its first argument says what the job does."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

Step = Callable[[], object]


def _model() -> nn.Module:
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))


def _train(model: nn.Module, rows: int = 32) -> None:
    model(torch.randn(rows, 64)).sum().backward()
    model.zero_grad()


def training() -> Step:
    model = DistributedDataParallel(_model())
    return lambda: _train(model)


def training_of_small_buckets() -> Step:
    model = DistributedDataParallel(_model(), bucket_cap_mb=0.01)
    return lambda: _train(model)


def training_with_unused_parameters() -> Step:
    model = DistributedDataParallel(_model(), find_unused_parameters=True)
    return lambda: _train(model)


def accumulated_gradients() -> Step:
    model = DistributedDataParallel(_model())

    def step() -> None:
        with model.no_sync():
            for _ in range(4):
                model(torch.randn(32, 64)).sum().backward()
        _train(model)

    return step


def sharded_training() -> Step:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    model = _model()
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return lambda: _train(model)


def uneven_batches() -> Step:
    model, rank = DistributedDataParallel(_model()), dist.get_rank()
    return lambda: _train(model, 8 + 256 * rank)


def slow_rank() -> Step:
    def step() -> None:
        time.sleep(0.02 * (dist.get_rank() == 1))
        dist.barrier()

    return step


def barriers() -> Step:
    return dist.barrier


def monitored_barriers() -> Step:
    return dist.monitored_barrier


def pairs() -> Step:
    rank = dist.get_rank()
    data = torch.ones(1000)
    return lambda: dist.send(data, rank - 1) if rank % 2 else dist.recv(data, rank + 1)


def pipeline() -> Step:
    rank, last = dist.get_rank(), dist.get_world_size() - 1
    data = torch.ones(4096)

    def step() -> None:
        if rank > 0:
            dist.recv(data, rank - 1)
        data.mul_(1.0)
        if rank < last:
            dist.send(data, rank + 1)

    return step


def two_groups() -> Step:
    everybody = list(range(dist.get_world_size()))
    groups = [dist.new_group(everybody), dist.new_group(everybody)]
    return lambda: [dist.all_reduce(torch.ones(8), group=group) for group in groups]


def groups_of_two_axes() -> Step:
    rank, half = dist.get_rank(), dist.get_world_size() // 2
    rows = [dist.new_group(list(range(first, first + half))) for first in (0, half)]
    columns = [dist.new_group([column, column + half]) for column in range(half)]

    def step() -> None:
        dist.all_reduce(torch.ones(8), group=rows[rank // half])
        dist.all_reduce(torch.ones(8), group=columns[rank % half])

    return step


def asynchronous() -> Step:
    def step() -> None:
        works = [dist.all_reduce(torch.ones(size), async_op=True) for size in (10, 10_000, 100_000)]
        torch.randn(128, 128).matmul(torch.randn(128, 128))
        for work in works:
            work.wait()

    return step


def gathered() -> Step:
    return lambda: dist.all_gather([torch.empty(100) for _ in range(dist.get_world_size())], torch.ones(100))


def objects() -> Step:
    found: list[object] = [None] * dist.get_world_size()
    return lambda: dist.all_gather_object(found, {"rank": dist.get_rank()})


def broadcast_from_each() -> Step:
    return lambda: [dist.broadcast(torch.ones(100), rank) for rank in range(dist.get_world_size())]


def scattered() -> Step:
    size = dist.get_world_size()
    return lambda: dist.all_to_all_single(torch.empty(size * 8), torch.ones(size * 8))


def loaded_data() -> Step:
    model = DistributedDataParallel(_model())
    data = torch.utils.data.TensorDataset(torch.randn(64, 64))
    loader = torch.utils.data.DataLoader(data, batch_size=16, num_workers=1, persistent_workers=True)
    return lambda: [model(rows).sum().backward() for (rows,) in loader]


def evaluated() -> Step:
    model = DistributedDataParallel(_model())

    def step() -> None:
        _train(model)
        with torch.no_grad():
            for _ in range(10):
                model.module(torch.randn(256, 64))
        dist.reduce(torch.ones(1), 0)

    return step


JOBS = {
    each.__name__: each
    for each in (
        training,
        training_of_small_buckets,
        training_with_unused_parameters,
        accumulated_gradients,
        sharded_training,
        uneven_batches,
        slow_rank,
        barriers,
        monitored_barriers,
        pairs,
        pipeline,
        two_groups,
        groups_of_two_axes,
        asynchronous,
        gathered,
        objects,
        broadcast_from_each,
        scattered,
        loaded_data,
        evaluated,
    )
}


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    step = JOBS[sys.argv[1]]()
    step()
    dist.barrier()
    if dist.get_rank() == 0:
        print("there", flush=True)
    while True:
        step()


if __name__ == "__main__":
    main()
