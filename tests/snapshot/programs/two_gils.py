"""Two interpreters that compute at the same time, each with a GIL of its own. CPython 3.12 and later."""

import threading

try:
    import _interpreters as interpreters
except ImportError:  # 3.12
    import _xxsubinterpreters as interpreters

INSIDE = """if True:
    import os
    os.write(1, b"ready pid=%d\\n" % os.getpid())
    while True:
        pass
"""


def work():
    interpreters.run_string(interpreters.create(), INSIDE)


threading.Thread(target=work, name="the worker", daemon=True).start()
threading.Event().wait(0.2)
while True:
    pass
