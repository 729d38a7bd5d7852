"""Threads that wait for each other in many ways, at once; each has the name of what it does."""

import ctypes
import gc
import os
import queue
import signal
import sys
import threading
import time
from importlib import import_module
from pathlib import Path

stands = threading.Event()  # a thread has what others are to ask for
MODULE = "import __main__, threading\n__main__.stands.set()\nthreading.Event().wait()\n"


def start(function):
    thread = threading.Thread(target=function, name=function.__name__, daemon=True)
    thread.start()
    return thread


def start_first(function):
    start(function)
    stands.wait()
    stands.clear()


def keep():
    stands.set()
    while True:
        time.sleep(1000)


over_lock = threading.Condition(threading.Lock())


def keeps_condition():
    with over_lock:
        keep()


def asks_condition():
    with over_lock:
        pass


given = threading.Lock()


def gives_away():
    with given:
        given.release()
        keep()


def takes_given():
    with given:
        keep()


def asks_given():
    with given:
        pass


notified = threading.Condition(threading.Lock())


def waits_notified():
    with notified:
        stands.set()
        notified.wait()


def takes_notified():
    notified.acquire()
    keep()


def asks_notified():
    with notified:
        pass


class Reports(queue.Queue):
    def _put(self, item):
        gc.collect()
        super()._put(item)


class Handle:
    def __init__(self):
        self.me = self

    def __del__(self):
        if threading.current_thread().name == "puts_twice":
            reports.put("closed")


reports = Reports()


def puts_twice():
    gc.disable()
    Handle()
    reports.put("first")


class Slow(queue.Queue):
    def _put(self, item):
        keep()


def puts_slowly():
    Slow().put(1)


joining = threading.Lock()


def asks_joining():
    with joining:
        pass


def joins_asker():
    with joining:
        start(asks_joining).join()


def imports_first():
    import_module("waits_for_ever")


def imports_second():
    import_module("waits_for_ever")


def imports_third():
    import_module("waits_for_ever")


def in_handler(*_):
    print(f"ready pid={os.getpid()}", flush=True)
    # In C, as std::thread::join does.
    libc = ctypes.CDLL(None)
    thread = ctypes.c_ulong()
    libc.pthread_create(ctypes.byref(thread), None, ctypes.cast(libc.pause, ctypes.c_void_p), None)
    libc.pthread_join(thread, None)


def main():
    with (Path(sys.argv[1]) / "waits_for_ever.py").open("w") as file:
        file.write(MODULE)
    sys.path.insert(0, sys.argv[1])
    for first, *others in (
        (keeps_condition, asks_condition),
        (gives_away,),
        (takes_given, asks_given),
        (waits_notified,),
        (takes_notified, asks_notified),
        (puts_slowly, puts_twice, joins_asker),
        (imports_first, imports_second, imports_third),
    ):
        start_first(first)
        for other in others:
            start(other)
    signal.signal(signal.SIGALRM, in_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    queue.Queue().get()


main()
