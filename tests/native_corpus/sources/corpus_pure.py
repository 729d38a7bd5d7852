# cython: language_level=3
"""A file of Python that Cython compiles. CPython can run it too."""

import cython


@cython.cclass
class Node:
    value: cython.int
    rest: object

    def __init__(self, value, rest=None):
        self.value = value
        self.rest = rest

    @cython.ccall
    def total(self) -> cython.int:
        found: cython.int = self.value
        if self.rest is not None:
            found += self.rest.total()
        return found


@cython.cfunc
@cython.exceptval(-1, check=True)
def half(x: cython.int) -> cython.int:
    if x % 2:
        raise ValueError(x)
    return x // 2


def halves(xs, call):
    found = []
    for x in xs:
        try:
            y = half(x)
        except ValueError:
            call("odd")
            continue
        found.append(y)
    call(found)
    return found
