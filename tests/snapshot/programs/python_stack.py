"""One thread in a stack of every kind of Python call; its locals have known values. Runs on Python 3.8 and later."""

import os
import sys
import threading


def generate(limit):
    if limit:
        yield from generate(limit - 1)
    os.read(reader, 1)
    yield limit


class Wörker:
    def __init__(self):
        self.size = 3

    def work(self, count, *names, **options):
        text = "grüße"
        nested = {"a": [1, 2.5, None]}
        cell = [count]

        def inner(value):
            return [cell[0] + value for value in generate(1)]

        with lock:
            return sorted([2], key=lambda number: inner(number)), text, nested


def start():
    try:
        Wörker().work(41, "x", "y", flag=True)
    finally:
        print("never reached")


reader, _writer = os.pipe()
lock = threading.Lock()
threading.Thread(target=start, name="the worker", daemon=True).start()
while not lock.locked():
    pass
print(f"ready pid={os.getpid()}")
sys.stdout.flush()
sys.stdin.read()
