"""Answers each line of its input with the number of the line."""

import sys


def wait_for_lines():
    number = 0
    while True:
        sys.stdin.readline()
        number += 1
        print(number, flush=True)


wait_for_lines()
