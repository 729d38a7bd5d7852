"""Waits that nobody will end: for locks whose owner is no more, and in loops whose time limit alone wakes them.

``lost_locks.py rlock``: a thread has ended with an RLock. ``semaphore``: a process, with a lock of multiprocessing.
``receive`` and ``poll``: a socket to which nobody writes, with a time limit of its own, and of the call.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import struct
import threading

from hang_support import announce_when_asleep, end_after, parse_arguments


def take_lost_rlock():
    lock = threading.RLock()
    taker = threading.Thread(target=lock.acquire, name="taker")
    taker.start()
    taker.join()
    with lock:
        pass


def take_lost_semaphore():
    lock = multiprocessing.get_context("fork").Lock()
    if os.fork() == 0:
        lock.acquire()
        os._exit(0)
    os.wait()
    with lock:
        pass


def receive_in_vain():
    ours, _theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", 0, 300_000))
    while True:
        try:
            ours.recv(1)
        except BlockingIOError:
            continue


def poll_in_vain():
    ours, _theirs = socket.socketpair()
    ours.settimeout(0.3)
    while True:
        try:
            ours.recv(1)
        except TimeoutError:
            continue


KINDS = {
    "rlock": take_lost_rlock,
    "semaphore": take_lost_semaphore,
    "receive": receive_in_vain,
    "poll": poll_in_vain,
}


def main():
    arguments = parse_arguments(__doc__, "kind", choices=sorted(KINDS))
    end_after(arguments.limit)
    announce_when_asleep([os.getpid()])
    KINDS[arguments.kind]()


if __name__ == "__main__":
    main()
