"""Traces a small model with TorchScript, and runs the trace."""

from __future__ import annotations

import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 2)

    def forward(self, x):
        return torch.relu(self.linear(x))


model = Model().eval()
example = torch.ones(3, 4)
traced = torch.jit.trace(model, example)
result = traced(torch.ones(3, 4))
print(traced.graph)
print(result.shape)
