"""The scope of a mangled C++ name, in the letters of the name: by what prefix other names of that scope begin.

Itanium C++ ABI, 5.1.4 to 5.1.6. What is rare (expressions, local names, lambdas) is not read.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_SOURCE = re.compile(r"L?([1-9]\d*)")
_SUBSTITUTION = re.compile(r"S(?:[0-9A-Z]*_|[tabsiod])")
_PARAMETER = re.compile(r"T\d*_")
_STRUCTOR = re.compile(r"C[12345]|D[01245]")
_OPERATOR = re.compile(r"(?:cv|[a-z][a-zA-Z])")
_QUALIFIERS = re.compile(r"[rVK]*[RO]?")
_OPENING = frozenset("NIJF")


@dataclass(frozen=True)
class MangledName:
    """The parts of a mangled function name.

    ``scope`` is that of the innermost scope, as the letters are (``2at6native``), empty for none; ``last`` what stands
    for the name itself (``3add``, ``C1``, ``pl``).
    """

    scope: str
    last: str

    @property
    def whole_scope(self) -> str:
        """The scope as a type would be written that it is."""
        return _as_type(self.scope)

    @property
    def is_internal(self) -> bool:
        """Whether it is a function that only its own file sees; none of a class is marked so."""
        return self.last.startswith("L")


def _as_type(scope: str) -> str:
    first = _component(scope, 0)
    one = first == len(scope) or (scope.startswith("St") and _component(scope, 2) == len(scope))
    return scope if one else f"N{scope}E"


def read(mangled: str) -> MangledName | None:
    """The parts of a mangled name; None where they are not read."""
    if not mangled.startswith("_Z"):
        return None
    if mangled.startswith("_ZN"):
        qualifiers = _QUALIFIERS.match(mangled, 3)
        at = begin = qualifiers.end() if qualifiers else 3
        last = begin
        while at < len(mangled) and mangled[at] != "E":
            if mangled[at] == "I" or mangled[at] == "B":  # arguments and tags belong to what is before
                end = _arguments(mangled, at) if mangled[at] == "I" else _component(mangled, at + 1)
            else:
                last = at
                end = _component(mangled, at)
                if mangled.startswith("cv", at):
                    return MangledName(mangled[begin:last], "cv")  # a type follows, which is not read
            if end is None:
                return None
            at = end
        return MangledName(mangled[begin:last], mangled[last:at])
    at = 4 if mangled.startswith("_ZSt") else 2
    end = _component(mangled, at)
    return None if end is None else MangledName("St" if at == 4 else "", mangled[at:end])


def _component(text: str, at: int) -> int | None:
    """Behind the part of a nested name that begins there."""
    source = _SOURCE.match(text, at)
    if source is not None:
        return source.end() + int(source[1])
    for pattern in (_SUBSTITUTION, _STRUCTOR, _OPERATOR):
        match = pattern.match(text, at)
        if match is not None:
            return match.end()
    return None


def _arguments(text: str, at: int) -> int | None:
    """Behind the template arguments that begin there."""
    depth = 0
    while at < len(text):
        letter = text[at]
        end: int | None = at + 1
        if letter in _OPENING:
            depth += 1
        elif letter == "E":
            depth -= 1
            if not depth:
                return at + 1
        elif letter.isdigit():
            end = _component(text, at)
        elif letter == "S":
            match = _SUBSTITUTION.match(text, at)
            end = match.end() if match else None
        elif letter == "T":
            match = _PARAMETER.match(text, at)
            end = match.end() if match else None
        elif letter == "L":
            end = _literal(text, at + 1)
        elif letter == "A":
            match = re.compile(r"A\d+_").match(text, at)
            end = match.end() if match else None
        elif letter == "D":
            end = at + 2 if text[at + 1 : at + 2] in tuple("pnahisud") else None
        elif letter in "XZUuCY":
            end = None
        if end is None:
            return None
        at = end
    return None


def _literal(text: str, at: int) -> int | None:
    """Behind a number as a template argument: its type, digits, ``E``."""
    if text[at : at + 1] == "N":
        end = _arguments(text, at)
    elif text[at : at + 1].islower():
        end = at + 1
    elif text[at : at + 1] == "S" and text[at + 1 : at + 2] != "t":
        match = _SUBSTITUTION.match(text, at)
        end = match.end() if match else None
    else:
        end = _component(text, at)
    value = re.compile(r"n?\d+E").match(text, end) if end is not None else None
    return value.end() if value else None


def plain(name: str) -> tuple[str, int] | None:
    """The letters of a class by its demangled name, and how many parts of it count for substitutions; None for names
    with template arguments, and of what is local to a function.
    """
    parts = name.split("::")
    start = "St" if parts[0] == "std" else ""
    parts = parts[1:] if start else parts
    letters = [
        "12_GLOBAL__N_1" if part == "(anonymous namespace)" else f"{len(part)}{part}" for part in parts
    ]
    if not parts or not all(re.fullmatch(r"[A-Za-z_]\w*|\(anonymous namespace\)", part) for part in parts):
        return None
    return start + "".join(letters), len(parts)
