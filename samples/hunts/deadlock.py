"""Counts a table while another thread visits it."""

import threading
import time

import hunt_locks


def visitor():
    hunt_locks.visit(lambda: None)


def main():
    threading.Thread(target=visitor, name="visitor", daemon=True).start()
    while not hunt_locks.is_visiting():
        time.sleep(0.001)
    print(hunt_locks.count(), flush=True)


main()
