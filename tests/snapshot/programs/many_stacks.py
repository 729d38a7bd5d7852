"""Threads that stand still in every kind of stack: callbacks from C++, generators, a signal handler, a busy loop."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading

reader, _writer = os.pipe()
standing = threading.Semaphore(0)


def stand(*_ignored):
    standing.release()
    os.read(reader, 1)
    return 0.0


def generate():
    yield from map(stand, [1])


def in_generator():
    return list(generate())


def in_sort():
    return sorted([2, 1], key=stand)


def in_capi():
    import sample_capi

    return sample_capi.call_back(stand, 1.0)


def in_pybind():
    import sample_pybind

    return sample_pybind.call_back(lambda value: sample_pybind.call_back(stand, value), 1.0)


def in_other_thread():
    import sample_capi

    return sample_capi.call_back_from_thread(stand, 1.0)


def in_signal_handler():
    """A handler in C runs on top of whatever the thread did: its frame is the kernel's."""
    handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(lambda number: stand() and None)
    kept.append(handler)
    libc = ctypes.CDLL(None)
    libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
    libc.signal(signal.SIGUSR2, ctypes.cast(handler, ctypes.c_void_p))
    signal.pthread_kill(threading.get_ident(), signal.SIGUSR2)


def deep(count=200):
    return deep(count - 1) if count else stand()


kept: list[object] = []
KINDS = [in_generator, in_sort, in_capi, in_pybind, in_other_thread, in_signal_handler, deep]


def main():
    for kind in KINDS:
        threading.Thread(target=kind, name=kind.__name__, daemon=True).start()
    for _ in KINDS:
        standing.acquire()
    print(f"ready pid={os.getpid()}", flush=True)
    sys.stdin.read()


main()
