"""Starts children in the way that its argument names; each calls ``work`` and ends with a status of its own."""

import multiprocessing
import os
import subprocess
import sys
import time


def work(number):
    doubled = number * 2
    return doubled  # noqa: RET504


def child(number=21):
    sys.exit(work(number) - 37)


def by_fork():
    if os.fork() == 0:
        try:
            child()
        except SystemExit as end:
            os._exit(end.code)
    return os.WEXITSTATUS(os.wait()[1])


def by_fork_and_wait():
    """The child goes on once somebody writes to the FIFO of the second argument."""
    if os.fork() == 0:
        status = work(21) - 37
        with open(sys.argv[2]) as fifo:
            fifo.read()
        os._exit(status)
    return os.WEXITSTATUS(os.wait()[1])


def by_fork_and_loop():
    """Parent and child run until somebody ends them."""
    work(1 if os.fork() else 2)
    while True:
        time.sleep(0.01)


def by_subprocess():
    return subprocess.call([sys.executable, __file__, "child"])


def by_preexec():
    return subprocess.call([sys.executable, __file__, "child"], preexec_fn=os.getpid)


def by_fork_and_exec():
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, __file__, "child"])
    return os.WEXITSTATUS(os.wait()[1])


def by_multiprocessing(method):
    process = multiprocessing.get_context(method).Process(target=child, name="Doubler")
    process.start()
    process.join()
    return process.exitcode


def pair():
    """Two children at once, which wait for each other."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(2)
    processes = [context.Process(target=meet, args=(barrier,), name=name) for name in ("Ada", "Grace")]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return [process.exitcode for process in processes]


def meet(barrier):
    barrier.wait()
    sys.exit(work(4))


WAYS = {
    "fork": by_fork,
    "fork-wait": by_fork_and_wait,
    "fork-loop": by_fork_and_loop,
    "subprocess": by_subprocess,
    "preexec": by_preexec,
    "fork-exec": by_fork_and_exec,
    "pair": pair,
    "child": child,
    **{f"mp-{name}": lambda name=name: by_multiprocessing(name) for name in ("fork", "spawn", "forkserver")},
}

if __name__ == "__main__":
    print(f"status {WAYS[sys.argv[1]]()}", flush=True)
