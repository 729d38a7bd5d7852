"""A program of two languages: Python calls C++, which calls Python back."""

import sys

import sample_capi


class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y

    @property
    def sum(self):
        return self.x + self.y


def inner(item):
    point = Point(item, [1, 2, 3])
    numbers = list(range(500))
    long_text = "a" * 5000
    return point, numbers, long_text


def weighed(value):
    return value * len(inner(value))


def main():
    print("begins")
    print("to the other stream", file=sys.stderr)
    result = [inner(item) for item in range(3)]
    sample_capi.call_back(weighed, 1.5)
    print("ends", len(result))


main()
