"""A thread that runs code of another interpreter of the process, and waits there for its input to end."""

import os
import sys
import threading

try:
    import _interpreters as interpreters
except ImportError:  # before 3.13
    import _xxsubinterpreters as interpreters

INSIDE = """if True:
    import os
    def inner(number, words=("sub", {"a": 1})):
        os.read(0, 1)
        return number
    inner(7)
"""


def work():
    interpreter = interpreters.create()
    interpreters.run_string(interpreter, INSIDE)


thread = threading.Thread(target=work, name="the worker", daemon=True)
thread.start()
print(f"ready pid={os.getpid()}", flush=True)
thread.join()
sys.stdout.flush()
