"""Trains the same small model in four threads without end, and compares every result with the first."""

import os
import signal
import sys
import threading

import torch

ended = threading.Event()
reader, writer = os.pipe()
os.set_blocking(writer, False)
signal.set_wakeup_fd(writer)
signal.signal(signal.SIGUSR1, lambda number, frame: None)
signal.signal(signal.SIGTERM, lambda number, frame: ended.set())
torch.set_num_threads(1)


def train():
    generator = torch.Generator().manual_seed(1)
    weight = torch.randn(40, 40, generator=generator, requires_grad=True)
    data = torch.randn(40, 40, generator=generator)
    for _ in range(5):
        loss = ((data @ weight).tanh() ** 2).sum()
        (gradient,) = torch.autograd.grad(loss, weight)
        weight = (weight - 0.01 * gradient).detach().requires_grad_()
    return loss.item()


expected = train()
rounds, wrong = [0] * 4, [0] * 4


def work(index):
    while not ended.is_set():
        rounds[index] += 1
        wrong[index] += train() != expected


threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
for thread in threads:
    thread.start()
print("ready", flush=True)
while not ended.is_set():
    ended.wait(0.05)
for thread in threads:
    thread.join()
signals = os.read(reader, 1 << 16).count(signal.SIGUSR1)
print(f"rounds={sum(rounds)} wrong={sum(wrong)} signals={signals}", flush=True)
sys.exit(0)
