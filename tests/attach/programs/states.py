"""A process in one state: asleep, busy, or in C++ with or without the GIL, until a byte comes on its standard input.

It prints what a debugger may have left: the trace function of the main thread, and the threads, once it is freed.
Runs on Python 3.8 and later.
"""

import os
import signal
import sys
import threading
import time

counter = 0


def tick():
    global counter
    counter += 1  # BREAK
    return counter


def asleep():
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline and not freed():
        time.sleep(0.3)


def long_asleep():
    time.sleep(300)


def busy():
    while not freed():
        for _ in range(1000):
            tick()


def working():
    """Busy for a small part of the time."""
    while not freed():
        tick()
        time.sleep(0.005)


def native_with_gil():
    import sample_capi

    sample_capi.wait_for_byte_with_gil(0)


def native_without_gil():
    import sample_capi

    sample_capi.wait_for_byte(0)


def sub_interpreter():
    """The main thread runs its code."""
    try:
        import _interpreters as them
    except ImportError:  # up to 3.12
        import _xxsubinterpreters as them
    one = them.create()
    them.run_string(one, "import os; os.read(0, 1)")
    them.destroy(one)


def waiting():
    """On a lock that another thread never gives: that thread works."""
    threading.Thread(target=busy, daemon=True).start()
    lock = threading.Lock()
    lock.acquire()
    lock.acquire(timeout=300)


def freed():
    import select

    return bool(select.select([0], [], [], 0)[0])


def main():
    kind = sys.argv[1]
    before = [signal.getsignal(number) for number in signal.valid_signals()]
    if kind.startswith("native"):
        import sample_capi  # noqa: F401
    print(f"ready pid={os.getpid()}")
    sys.stdout.flush()
    globals()[kind]()
    tick()
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        tick()
        time.sleep(0.01)
    same = before == [signal.getsignal(number) for number in signal.valid_signals()]
    names = sorted(thread.name for thread in threading.enumerate())
    tool = sys.monitoring.get_tool(0) if sys.version_info >= (3, 12) else None
    traced = [sys.gettrace(), threading._trace_hook, tool]
    print("left", counter, same, names, traced, sorted(vars(sys.modules["__main__"]))[:3])


main()
