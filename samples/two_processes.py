"""A process and its child: the parent lets the child work, and waits for a line of its own on the terminal."""

import os
import sys


def work(number):
    return number + 1


def answer(writer):
    os.write(writer, b"x")
    return sys.stdin.readline().strip()


reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.read(reader, 1)
    work(1)
    os._exit(0)
line = answer(writer)
print("read:", line)
os.waitpid(child, 0)
