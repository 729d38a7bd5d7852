"""A fork while another thread holds a lock: the child has the lock, but not the thread that would release it.

``fork_with_lock.py native``: a C++ mutex, held by a C++ thread. ``fork_with_lock.py python``: a Python lock.
"""

from __future__ import annotations

import os
import threading
import warnings

from hang_support import announce, die_with_parent, end_after, parse_arguments, wait_until_asleep
from sample_path import add_native_modules

add_native_modules()

import sample_locks  # noqa: E402

cache_lock = threading.Lock()


def hold_python_lock(descriptor):
    is_held = threading.Event()

    def refresh_cache():
        with cache_lock:
            is_held.set()
            os.read(descriptor, 1)

    threading.Thread(target=refresh_cache, name="refresh", daemon=True).start()
    is_held.wait()


def use_python_lock():
    with cache_lock:
        return 3


def use_native_lock():
    return sample_locks.locked_add(1.0, 2.0)


KINDS = {"native": (sample_locks.hold_mutex, use_native_lock), "python": (hold_python_lock, use_python_lock)}


def main():
    kinds = {"nargs": "?", "choices": sorted(KINDS), "default": "native"}
    arguments = parse_arguments(__doc__, "kind", **kinds)
    end_after(arguments.limit)
    hold, use = KINDS[arguments.kind]
    # Nobody writes to the pipe: the lock is never released.
    reader, _writer = os.pipe()
    hold(reader)
    parent = os.getpid()
    warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 and later warn of what is shown here
    child = os.fork()
    if child == 0:
        die_with_parent(parent)
        use()
        os._exit(0)
    wait_until_asleep([child])
    announce(child=child)
    os.waitpid(child, 0)


if __name__ == "__main__":
    main()
