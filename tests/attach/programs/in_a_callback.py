"""A program one of whose threads stays in a callback of pydevd until the debugger has left.

pydevd asks in the middle of each callback whether the thread is alive, and this thread takes its time to answer.
What comes out of a callback as an error is in the program's standard error.
"""

from __future__ import annotations

import os
import sys
import threading
import time

calls = 0
stayed = False
ended = threading.Event()
stays = threading.Event()


def has_left() -> bool:
    pydevd = sys.modules.get("pydevd")
    return pydevd is not None and pydevd.get_global_debugger() is None


def is_suspended() -> bool:
    """Whether pydevd asks with its locks held, which nobody else could take then."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_name != "do_wait_suspend":
        frame = frame.f_back
    return frame.f_back is not None


class Handle:
    """What pydevd asks a thread for from 3.14 on."""

    def __init__(self, thread: Slow) -> None:
        self._thread = thread

    def is_done(self) -> bool:
        return not self._thread.is_alive()


class Slow(threading.Thread):
    """A thread that answers only when the debugger has left."""

    @property
    def _os_thread_handle(self) -> object:
        return Handle(self) if threading.current_thread() is self else self.__dict__["handle"]

    @_os_thread_handle.setter
    def _os_thread_handle(self, handle: object) -> None:
        self.__dict__["handle"] = handle

    _is_stopped = property(lambda self: not self.is_alive(), lambda self, value: None)  # 3.12 asks this

    def is_alive(self) -> bool:
        global calls, stayed
        if threading.current_thread() is self and not is_suspended():
            # At the first call pydevd learns of the thread.
            calls += 1
            if calls == 2:
                print("stays", flush=True)
                stays.set()
                while not has_left() and not ended.is_set():
                    time.sleep(0.01)
                stayed = has_left()
                print("goes on", flush=True)
        return True


def tick(number: int) -> int:
    return number + 1


def main_tick() -> None:
    pass


def work() -> None:
    while not ended.is_set():
        tick(1)
        time.sleep(0.001)


def wait_for_the_end() -> None:
    sys.stdin.read(1)
    ended.set()


thread = Slow(target=work, daemon=True)
thread.start()
threading.Thread(target=wait_for_the_end, daemon=True).start()
print(f"ready pid={os.getpid()}", flush=True)
while not ended.is_set():
    if (
        stays.is_set()
    ):  # where a breakpoint of this thread suspends the other one before, it does not get to stay
        main_tick()
    time.sleep(0.01)
threading.Thread.join(thread)
tool = sys.monitoring.get_tool(0) if sys.version_info >= (3, 12) else None
print("stayed" if stayed else "was not asked", tool)
