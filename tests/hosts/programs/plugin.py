import os
import time

import host


def run(number):
    total = host.twice(number)
    if "WAIT" in os.environ:
        print(f"ready pid={os.getpid()}", flush=True)
        time.sleep(600)
    return total + 2
