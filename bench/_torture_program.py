"""The program of bench/torture.py: threads whose results are the same in each round, else they are counted as wrong.

``python bench/_torture_program.py CORPUS THREADS [torch]``. It works from ``go`` to ``stop``, each a line of stdin, and
says ``stopped`` when its threads stand; at ``rounds N`` each thread makes so many. ``over`` ends it.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import pickle
import re
import sys
import threading
from collections.abc import Callable
from typing import Any

COUNTED = 200  # calls of each function of the interpreter that is counted, in a round


class Corpus:
    """The compiled functions."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self._run = self._library.corpus_run
        self._run.restype, self._run.argtypes = ctypes.c_ulong, [ctypes.c_ulong]
        size = ctypes.c_int.in_dll(self._library, "corpus_size").value
        self._counts = (ctypes.c_long * size).in_dll(self._library, "corpus_counts")

    def work(self) -> bytes:
        """A round."""
        return str(self._run(12345)).encode()

    def counts(self) -> list[int]:
        """How often each function was called, as it counts itself."""
        return list(self._counts)

    def finished(self) -> None:
        """All threads stand: a debugger may have a breakpoint here."""
        self._library.corpus_finished()


def work_of_python() -> bytes:
    """What an interpreter does: objects of all kinds, exceptions, generators, patterns."""
    rows = [
        {"name": f"n{at}", "value": at * 1.5, "tags": [chr(97 + at % 26)] * (at % 4)} for at in range(COUNTED)
    ]
    text = json.dumps(rows, sort_keys=True)
    again = pickle.loads(pickle.dumps(json.loads(text)))
    caught = 0
    for at in range(COUNTED):
        try:
            caught += divmod(at, at % 3)[0]
        except ZeroDivisionError:
            caught += ord("x") - hash(at)
    words = re.findall(r"n(\d+)", text)
    pairs = sorted(((len(word), word) for word in words), key=lambda pair: (pair[1][::-1], pair[0]))
    big = 3**400 % (2**127 - 1)
    joined = "".join(word for _, word in pairs) + f"{big:x}{caught}{sum(row['value'] for row in again):.3f}"
    return hashlib.sha256(joined.encode()).digest()


def work_of_torch() -> Callable[[], bytes]:
    """A round of training, with what is usual around it."""
    import torch
    from torch import nn

    def work() -> bytes:
        made = torch.Generator().manual_seed(7)
        weights = [torch.randn(32, 32, generator=made, requires_grad=True) for _ in range(2)]
        inputs = torch.randn(16, 32, generator=made)
        for _ in range(2):
            hidden = torch.relu(torch.mm(inputs, weights[0]))
            loss = nn.functional.cross_entropy(torch.mm(hidden, weights[1]), torch.arange(16) % 32)
            loss.backward()  # type: ignore[no-untyped-call]
            with torch.no_grad():
                for one in weights:
                    assert one.grad is not None
                    one -= 0.1 * one.grad
                    one.grad.zero_()
        with torch.no_grad():
            values, places = torch.sort(weights[0].flatten())
            image = inputs.reshape(1, 1, 16, 32)
            folded = nn.functional.max_pool2d(nn.functional.conv2d(image, torch.ones(2, 1, 3, 3)), 2)
            try:
                torch.mm(inputs, inputs)
            except RuntimeError as error:  # unwinds through what has probes
                refused = str(error).splitlines()[0]
            rest = [values, places, folded, torch.fft.rfft(values).abs(), torch.linalg.svdvals(weights[1])]
            rest += [torch.cumsum(values, 0).double(), values.std(), torch.where(values > 0, values, -values)]
            bytes_ = [bytes(one.contiguous().untyped_storage()) for one in (*weights, *rest, loss)]
        return hashlib.sha256(b"".join(bytes_) + refused.encode()).digest()

    return work


class Worker(threading.Thread):
    """Makes rounds while it may."""

    def __init__(self, works: dict[str, Callable[[], bytes]]) -> None:
        super().__init__(daemon=True)
        self._works = works
        self._right = {name: work() for name, work in works.items()}
        self.done = 0
        self.wrong: dict[str, int] = dict.fromkeys(works, 0)
        self.left: float = 0  # rounds
        self.may = threading.Condition()
        self.stands = True
        self.trouble = ""

    def run(self) -> None:
        while True:
            with self.may:
                while self.left <= 0:
                    self.stands = True
                    self.may.notify_all()
                    self.may.wait()
                self.stands = False
                self.left -= 1
            for name, work in self._works.items():
                try:
                    self.wrong[name] += work() != self._right[name]
                except Exception as error:
                    self.wrong[name] += 1
                    self.trouble = f"{type(error).__name__}: {error}"
            self.done += 1

    def give(self, rounds: float) -> None:
        """So many rounds are to be made from now on."""
        with self.may:
            self.left = rounds
            self.may.notify_all()

    def wait_until_it_stands(self) -> None:
        """Wait for the end of its rounds."""
        with self.may:
            while not self.stands or self.left > 0:
                self.may.wait()


def main() -> None:
    corpus = Corpus(sys.argv[1])
    works: dict[str, Callable[[], bytes]] = {"corpus": corpus.work, "python": work_of_python}
    if "torch" in sys.argv[3:]:
        works["torch"] = work_of_torch()
    workers = [Worker(works) for _ in range(int(sys.argv[2]))]
    for one in workers:
        one.start()

    def say(word: str) -> None:
        for one in workers:
            one.wait_until_it_stands()
        corpus.finished()
        told: dict[str, Any] = {
            "is": word,
            "rounds": sum(one.done for one in workers),
            "wrong": {name: sum(one.wrong[name] for one in workers) for name in works},
            "trouble": next((one.trouble for one in workers if one.trouble), ""),
            "counts": corpus.counts(),
        }
        print(json.dumps(told), flush=True)

    say("ready")
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "over":
            break
        rounds = {"go": float("inf"), "stop": 0.0}.get(word)
        for one in workers:
            one.give(float(rest[0]) if rounds is None else rounds)
        if word != "go":
            say("stopped")


if __name__ == "__main__":
    main()
