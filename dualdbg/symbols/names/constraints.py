"""Mangled C++ names without the constraints in them: a function is named, and called, without.

GCC 14 and later mangle them (Itanium C++ ABI, 5.1.4.2 and 5.1.5.8): ``Q`` and an expression behind the parameters is a
``requires`` clause, ``Tk`` and a concept before a template argument is its type constraint. The demangler of GCC 16
refuses its own: a clause of a member of a class template speaks of parameters (``T_``) that the name does not have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_TYPE_CONSTRAINT = re.compile(rb"Tk(?:St)?([1-9]\d{0,3})")


def without_constraints(name: bytes) -> Iterator[bytes]:
    """What the name may be without its constraints, the likeliest first. One that can be demangled is right.

    Where a letter is part of an identifier what is left is no mangled name: the length before it is wrong.
    """
    body, dot, clones = name.partition(b".")
    free = _without_concepts(body)
    if free != body:
        yield free + dot + clones
    for clause in re.finditer(b"Q", free):
        yield free[: clause.start()] + dot + clones


def _without_concepts(body: bytes) -> bytes:
    """Without the concepts that have no scope and no arguments: nothing later refers to them by number."""
    kept = []
    at = 0
    while found := _TYPE_CONSTRAINT.search(body, at):
        end = found.end() + int(found[1])
        if body[end : end + 1] == b"I":
            return body
        kept.append(body[at : found.start()])
        at = end
    return b"".join([*kept, body[at:]])
