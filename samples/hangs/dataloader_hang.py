"""A DataLoader with two workers, one of which waits for ever in ``__getitem__``."""

from __future__ import annotations

import os

from hang_support import announce_when_asleep, die_with_parent, end_after, parse_arguments
from torch.utils.data import DataLoader, Dataset

BAD_INDEX = 3


class Photos(Dataset):
    def __init__(self):
        # Both ends stay open in every process, so that a read neither gets a byte nor ends.
        self.download, self.nobody_writes = os.pipe()
        self.reports, self.report = os.pipe()

    def __len__(self):
        return 8

    def __getitem__(self, index):
        if index == BAD_INDEX:
            os.write(self.report, f"{os.getpid()}\n".encode())
            self.wait_for_download()
        # A number, not a tensor: those leave files behind when their process is killed.
        return float(index)

    def wait_for_download(self):
        return os.read(self.download, 1)


def main():
    end_after(parse_arguments(__doc__).limit)
    photos = Photos()
    parent = os.getpid()
    loader = DataLoader(
        photos,
        batch_size=None,
        num_workers=2,
        multiprocessing_context="fork",
        worker_init_fn=lambda worker: die_with_parent(parent),
    )
    items = iter(loader)
    with open(photos.reports, encoding="ascii") as reports:
        hung_worker = int(reports.readline())
    for _ in range(BAD_INDEX):
        print("item", next(items), flush=True)
    announce_when_asleep([parent, hung_worker], worker=hung_worker)
    print("item", next(items), flush=True)


if __name__ == "__main__":
    main()
