"""Trains a small model, with a mistake in the loop that costs time: see docs/trace.md."""

import torch
from torch import nn

torch.manual_seed(1)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
measure = nn.CrossEntropyLoss()
inputs = torch.randn(32, 64, dtype=torch.double)
targets = torch.randint(0, 10, (32,))
total = 0.0
for _ in range(200):
    loss = measure(model(inputs.float()), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
print(f"mean loss {total / 200:.2f}")
