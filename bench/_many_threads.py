"""PyTorch with many threads in different places: ``python _many_threads.py 60``."""

import os
import sys
import threading
import time

import torch

event, lock = threading.Event(), threading.Lock()
lock.acquire()
reader, _writer = os.pipe()


class Wait(torch.autograd.Function):
    @staticmethod
    def forward(context, value):
        return value * 2

    @staticmethod
    def backward(context, gradient):
        event.wait()
        return gradient


def in_backward():
    Wait.apply(torch.ones(8, 8, requires_grad=True)).sum().backward()


LEAVES = (event.wait, lock.acquire, lambda: time.sleep(3600), lambda: os.read(reader, 1), in_backward)


def work(index, depth):
    if depth:
        work(index, depth - 1)
    else:
        LEAVES[index % len(LEAVES)]()


torch.set_num_threads(2)
for number in range(int(sys.argv[1]) - 2):
    threading.Thread(target=work, args=(number, number % 9), daemon=True).start()
time.sleep(1)
print("ready", flush=True)
sys.stdin.read()
