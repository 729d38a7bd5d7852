"""A DataLoader with two workers; the argument is how they are started."""

import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Squares(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        base = torch.full((2,), float(index + 1))
        return torch.mul(base, base)


if __name__ == "__main__":
    loader = DataLoader(Squares(), batch_size=None, num_workers=2, multiprocessing_context=sys.argv[1])
    print([item.tolist() for item in loader], flush=True)
