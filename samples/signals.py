"""Receives signals of every common kind, and prints what it got; ``--listen`` waits for yours instead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

received: dict[str, int] = {}
# The interpreter writes a byte here for every signal: to read it is to wait without a race.
wakeup_reader, wakeup_writer = os.pipe()
os.set_blocking(wakeup_writer, False)
signal.set_wakeup_fd(wakeup_writer)


def note(number, frame):
    name = signal.Signals(number).name
    received[name] = received.get(name, 0) + 1


def wait_for(number, times=1):
    name = signal.Signals(number).name
    while received.get(name, 0) < times:
        os.read(wakeup_reader, 1)


def send_to_myself():
    for number in (signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2):
        os.kill(os.getpid(), number)
        wait_for(number)


def use_alarm():
    signal.alarm(1)
    wait_for(signal.SIGALRM)


def use_interval_timer():
    before = received.get("SIGALRM", 0)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    wait_for(signal.SIGALRM, before + 5)
    signal.setitimer(signal.ITIMER_REAL, 0)


def have_children():
    for count in (1, 2, 3):
        subprocess.run([sys.executable, "-c", ""], check=True)
        wait_for(signal.SIGCHLD, count)


def listen():
    print(f"ready pid={os.getpid()}", flush=True)
    while "SIGTERM" not in received:
        os.read(wakeup_reader, 1)


def main():
    numbers = (signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGCHLD, signal.SIGTERM)
    for number in numbers:
        signal.signal(number, note)
    if "--listen" in sys.argv[1:]:
        listen()
    else:
        send_to_myself()
        use_alarm()
        use_interval_timer()
        have_children()
    for name in sorted(received):
        print(name, received[name])


if __name__ == "__main__":
    main()
