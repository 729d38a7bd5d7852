"""Makes objects so often that the interpreter calls their ``__init__`` in its own way, and stays in the last one."""

import os
import time


class Made:
    def __init__(self, last: bool) -> None:
        self.last = last
        if last:
            print(f"ready pid={os.getpid()}", flush=True)
            time.sleep(1000)


def make(count: int) -> None:
    for number in range(count):
        Made(number == count - 1)


make(10000)
