"""A function and a training step that torch.compile makes kernels of; two lines share one, one is PyTorch's own."""

from __future__ import annotations

import torch


def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    return torch.relu(x) * factor


@torch.compile
def step(x: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    total = scale(x, 3.0) + 1
    mixed = torch.mm(total, weights)
    return mixed.tanh().sum(dim=1)


def main() -> None:
    x = torch.linspace(-1, 1, 32).reshape(8, 4)
    weights = torch.linspace(0, 1, 12).reshape(4, 3).requires_grad_()
    for turn in range(2):
        result = step(x, weights)
        result.sum().backward()
        print(turn, result.shape, weights.grad is not None, flush=True)


if __name__ == "__main__":
    main()
