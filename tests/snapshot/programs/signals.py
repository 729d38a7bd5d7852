"""Counts the signals it gets, and starts threads all the time; at the end it prints the count."""

import os
import signal
import sys
import threading

ended = False


def on_signal(number, frame):
    """What is counted is the byte that the C handler writes: several signals may share one call of this."""


def on_end(number, frame):
    global ended
    ended = True


reader, writer = os.pipe()
os.set_blocking(writer, False)
signal.set_wakeup_fd(writer)
signal.signal(signal.SIGUSR1, on_signal)
signal.signal(signal.SIGTERM, on_end)
print(f"ready pid={os.getpid()}", flush=True)
while not ended:
    thread = threading.Thread(target=sum, args=(range(1000),))
    thread.start()
    thread.join()
print(os.read(reader, 1 << 16).count(signal.SIGUSR1), flush=True)
sys.exit(0)
