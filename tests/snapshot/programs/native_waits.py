"""Deadlocks of C++ with the GIL: of a static variable (``once``), of a thread that is joined (``join``)."""

import ctypes
import os
import sys
import threading
import time

library = ctypes.PyDLL(sys.argv[2])
begun = threading.Event()
CALLBACK = ctypes.PYFUNCTYPE(ctypes.c_int)


def work():
    begun.set()
    time.sleep(0.3)  # the GIL goes to the other thread
    return 1


@CALLBACK
def called():
    return work()


WITH_GIL = ctypes.CFUNCTYPE(ctypes.c_int)(work)

print(f"ready pid={os.getpid()}", flush=True)
if sys.argv[1] == "once":
    threading.Thread(target=lambda: library.level_of(called), name="makes", daemon=True).start()
    begun.wait()
    library.level_of(called)
else:
    library.tick_a_while(WITH_GIL)
