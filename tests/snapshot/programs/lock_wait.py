"""A thread for each kind of lock that waits for it; nobody ever lets go. Runs on Python 3.8 and later."""

import os
import threading

lock, rlock = threading.Lock(), threading.RLock()
lock.acquire()
rlock.acquire()


def with_lock():
    with lock:
        pass


def with_rlock():
    rlock.acquire()


for wait in (with_lock, with_rlock):
    threading.Thread(target=wait, name=wait.__name__, daemon=True).start()
print(f"ready pid={os.getpid()} lock={id(lock)} rlock={id(rlock)}", flush=True)
os.read(0, 1)
