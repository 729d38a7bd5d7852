"""Three named threads that share a locked total; ends by itself. ``threads.py [ROUNDS]``."""

from __future__ import annotations

import sys
import threading

lock = threading.Lock()
totals: dict[str, int] = {}


def count(name, rounds):
    for number in range(rounds):
        with lock:
            totals[name] = totals.get(name, 0) + number


def main(rounds=1000):
    start = threading.Barrier(3)

    def work():
        name = threading.current_thread().name
        start.wait()
        count(name, rounds)

    threads = [threading.Thread(target=work, name=name) for name in ("reader", "parser", "writer")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in sorted(totals):
        print(name, totals[name])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
