"""Compiles a function with TorchScript, loop and branch included, and runs it."""

from __future__ import annotations

import torch


@torch.jit.script
def accumulate(x: torch.Tensor, rounds: int) -> torch.Tensor:
    total = torch.zeros_like(x)
    for i in range(rounds):
        if i % 2 == 0:
            total = total + x * i
        else:
            total = total - x
    return total


result = accumulate(torch.ones(2, 2), 5)
print(accumulate.graph)
print(result)
