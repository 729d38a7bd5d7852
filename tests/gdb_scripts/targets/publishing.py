"""For targets: publish(name=address, ...) once, then stop() where gdb is to look. Runs in Python 3.8 and later."""

import json
import os
import signal


def publish(more=None, **addresses):
    with open(os.environ["DUALDBG_TEST_PUBLISHED"], "w", encoding="utf-8") as file:
        json.dump({"addresses": addresses, "more": more}, file)


def stop():
    os.kill(os.getpid(), signal.SIGTRAP)
