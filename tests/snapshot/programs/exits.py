"""A program that is over, and does not exit: a thread, a pool or a child goes on."""

import os
import sys
import threading


def works():
    threading.Event().wait()


def main(kind):
    if kind == "thread":
        threading.Thread(target=works, name="works").start()
        threading.Thread(target=works, name="is a daemon", daemon=True).start()
    elif kind == "pool":
        from concurrent.futures import ThreadPoolExecutor

        ThreadPoolExecutor(1, "pool").submit(works)
    elif kind == "child":
        import multiprocessing

        multiprocessing.get_context("fork").Process(target=works).start()
    elif kind == "fork":  # whose only thread waits for what another one would have to end
        import ctypes

        threading.Thread(target=works, name="works").start()
        semaphore = ctypes.create_string_buffer(32)
        if os.fork() == 0:
            ctypes.CDLL(None).sem_wait(semaphore)
    print(f"ready pid={os.getpid()}", flush=True)


main(sys.argv[1])
