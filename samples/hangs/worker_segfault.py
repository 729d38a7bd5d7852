"""A DataLoader whose worker crashes in C++ with a tensor as argument, once stdin has a line or ends."""

from __future__ import annotations

import os
import sys
import threading

import torch
from hang_support import announce, build_folder, die_with_parent, end_after, parse_arguments
from torch.utils.data import DataLoader, Dataset

BAD_INDEX = 3


class Readings(Dataset):
    def __init__(self):
        self.go, self.say_go = os.pipe()
        self.reports, self.report = os.pipe()
        self.values = torch.arange(8, dtype=torch.float32)

    def __len__(self):
        return len(self.values)

    def __getitem__(self, index):
        if index == BAD_INDEX:
            os.write(self.report, f"{os.getpid()}\n".encode())
            os.read(self.go, 1)
            return self.read(1 << 40)
        return self.read(index)

    def read(self, index):
        return torch.ops.sample.read_unchecked(self.values, index)


def pass_on_stdin(descriptor):
    sys.stdin.readline()
    os.write(descriptor, b"g")


def main():
    end_after(parse_arguments(__doc__).limit)
    torch.ops.load_library(build_folder("torch_extension/build.py") / "sample_operators.so")
    readings = Readings()
    parent = os.getpid()
    loader = DataLoader(
        readings,
        batch_size=None,
        num_workers=2,
        multiprocessing_context="fork",
        worker_init_fn=lambda worker: die_with_parent(parent),
    )
    items = iter(loader)
    with open(readings.reports, encoding="ascii") as reports:
        worker = int(reports.readline())
    announce(worker=worker)
    threading.Thread(target=pass_on_stdin, args=(readings.say_go,), daemon=True).start()
    try:
        for item in items:
            print("item", item, flush=True)
    except RuntimeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
