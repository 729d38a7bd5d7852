"""Waits inside functions that were inlined in others, of the library that is named."""

import ctypes
import os
import sys

library = ctypes.CDLL(sys.argv[1])
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int)


@CALLBACK
def wait():
    print(f"ready pid={os.getpid()}", flush=True)
    return len(sys.stdin.readline())


library.outermost.restype = ctypes.c_int
library.outermost(wait)
