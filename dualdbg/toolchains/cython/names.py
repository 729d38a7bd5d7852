"""Names that Cython gives to the C functions and variables of a module, and what their author calls them. Pure.

A C name is a prefix, the scopes, each with its length before and ``_`` behind it, and the name: ``__pyx_f_5fastc_add``.
The functions behind ``def`` also have a number (Cython/Compiler/Symtab.py, Naming.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from ...shared.toolchains.cython import (
    CYTHON_CDEF,
    CYTHON_DEF,
    CYTHON_FUSED,
    CYTHON_GENERATOR,
    CYTHON_GETTER,
    CYTHON_INIT,
    CYTHON_MODULE,
    CYTHON_SETTER,
    CYTHON_WRAPPER,
    without_types,
)


class Part(IntEnum):
    """What a C function of Cython does for a function of the author; of several the lowest has the author's lines."""

    GENERATOR = 0  # runs a generator's or a coroutine's lines
    C_FUNCTION = 1  # what cdef and cpdef say
    BODY = 2  # what def says
    WRAPPER = 3  # takes the arguments of a call apart for the body
    CHOICE = 4  # chooses between functions of fused types for a call from Python: none of the author's code
    PASSING = 5  # calls the C function of a cpdef function for Python: none of the author's code either


@dataclass(frozen=True)
class CythonName:
    """A function of the author: the ``path`` that Python knows it by, and which ``part`` of it this is."""

    path: tuple[str, ...]
    part: Part

    @property
    def text(self) -> str:
        """The name as Python has it, with dots. What Cython has added gets a name that says so."""
        return GLUE.get(self.part, "") + ".".join(self.path)


GLUE = {Part.CHOICE: f"{CYTHON_FUSED}choice.", Part.PASSING: "__pyx_for_python."}

ACCESSORS = ("__get__", "__set__", "__del__")  # the functions of a property
_PARTS = {
    CYTHON_GENERATOR: Part.GENERATOR,
    CYTHON_CDEF: Part.C_FUNCTION,
    CYTHON_DEF: Part.BODY,
    CYTHON_WRAPPER: Part.WRAPPER,
    CYTHON_GETTER: Part.WRAPPER,
    CYTHON_SETTER: Part.WRAPPER,
}
_ACCESSOR_OF = {CYTHON_GETTER: "__get__", CYTHON_SETTER: "__set__"}
_FUNCTION = re.compile(rf"(?P<part>{'|'.join(_PARTS)})(?P<rest>\d.*)", re.DOTALL)
_MODULE = re.compile(rf"{CYTHON_MODULE}(\w+)")
_FUSED = re.compile(r"__pyx_fuse_\d+(?:_\d+)*(?=[^\W\d])")
_WRAPPER = re.compile(
    CYTHON_WRAPPER + rf"(?P<scope>(?:(?!{CYTHON_FUSED})\w)*)_(?P<number>\d+)(?P<name>[^\W\d]\w*)"
)
_PROPERTY = re.compile(f"(?P<kind>{CYTHON_GETTER}|{CYTHON_SETTER})" + r"(?P<scope>\w*\d\w*)")
_NUMBERED = re.compile(r"(\d*)([^\W\d]\w*)")


def cython_function(name: str, exists: Callable[[str], bool] = lambda name: False) -> CythonName | None:
    """The author's function behind a C name; None for any other name.

    ``exists`` says whether a C function is there. It decides where a number can be the length of a scope or a
    function's own: ``_pf_1m_2is_prime`` is the function ``is_prime`` where there is a wrapper ``_pw_1m_3is_prime``.
    """
    name = without_types(name)
    module = _MODULE.fullmatch(name)
    if module is not None:
        return CythonName((module[1], "<module>"), Part.BODY)
    match = _FUNCTION.fullmatch(name)
    if match is None:
        return None
    part = _PARTS[match["part"]]
    scopes: list[str] = []
    before, rest = "", match["rest"]
    accessor = _ACCESSOR_OF.get(match["part"])
    while (scope := _scope(rest)) is not None:
        inner = rest[len(scope[0]) :]
        if accessor is None and scopes and _is_number(before, rest, inner, part, exists):
            break
        scopes.append(scope[1])
        before, rest = before + scope[0], inner
    numbered = _NUMBERED.fullmatch(rest)
    if numbered is None or not scopes:
        return None
    if part is Part.GENERATOR:
        return _generator(before, int(numbered[1] or 0), scopes)
    if accessor is not None:
        return CythonName((*scopes, rest, accessor), part)
    inner = _FUSED.sub("", numbered[2], count=1)
    own = cython_function(inner)  # of cpdef functions the C function's whole name is there
    return CythonName(own.path if own is not None else (*scopes, inner), part)


def is_named(function: CythonName, path: tuple[str, ...]) -> bool:
    """Whether a user means this function by ``path``, in which scopes may be left out. A property's name means all of
    its functions.
    """
    of_property = function.path[:-1] if function.path[-1] in ACCESSORS else ()
    return path in (function.path[-len(path) :], of_property[-len(path) :])


def constructor(name: str) -> str | None:
    """The ``__init__`` that the slot of a class calls, as its author names it; None for any other function.

    ``__pyx_tp_init_5fastc_Counter`` -> ``fastc.Counter.__init__``: from Cython 3.3 on.
    """
    rest = name.removeprefix(CYTHON_INIT)
    scopes: list[str] = []
    while rest != name and (scope := _scope(rest)) is not None:
        scopes.append(scope[1])
        rest = rest[len(scope[0]) :]
    return ".".join((*scopes, rest, "__init__")) if scopes and rest.isidentifier() else None


def _generator(before: str, number: int, scopes: list[str]) -> CythonName:
    """A generator's body has the number behind that of its function's wrapper, and not its name."""
    return CythonName((*scopes, f"<generator {number}>"), Part.GENERATOR)


def _scope(rest: str) -> tuple[str, str] | None:
    """The text of the first scope, and its name."""
    digits = re.match(r"[1-9]\d*", rest)
    if digits is None:
        return None
    end = digits.end() + int(digits[0])
    name = rest[digits.end() : end]
    if len(name) < int(digits[0]) or not name.isidentifier() or rest[end : end + 1] != "_":
        return None
    if name.startswith(CYTHON_FUSED):
        return None
    return rest[: end + 1], name


def _is_number(before: str, rest: str, inner: str, part: Part, exists: Callable[[str], bool]) -> bool:
    """Whether the digits that ``rest`` begins with are the number of a function, not the length of a scope."""
    if part is Part.WRAPPER:
        return not inner[:1].isdigit()  # each wrapper has a number in its scope
    if part is not Part.BODY:
        return False
    numbered = _NUMBERED.fullmatch(rest)
    if numbered is not None and exists(f"{CYTHON_WRAPPER}{before}{int(numbered[1] or 0) + 1}{numbered[2]}"):
        return True
    scope = _scope(rest)
    in_scope = _NUMBERED.fullmatch(inner)
    assert scope is not None
    if in_scope is not None and exists(
        f"{CYTHON_WRAPPER}{before}{scope[0]}{int(in_scope[1] or 0) + 1}{in_scope[2]}"
    ):
        return False
    return not inner[:1].isdigit() and not scope[1][0].isupper() and inner not in ACCESSORS


def implementation_of(name: str) -> str | None:
    """The name of the function in which Cython puts a body, from the name of the wrapper that takes the arguments.

    ``__pyx_pw_6module_3add(...)`` -> ``__pyx_pf_6module_2add``: numbered in one sequence, 0 is left out.
    """
    match = _WRAPPER.match(without_types(name))
    if match is None:
        return _body_of_property(name)
    number = int(match["number"]) - 1
    return f"{CYTHON_DEF}{match['scope']}_{number or ''}{match['name']}"


def _body_of_property(name: str) -> str | None:
    """``__pyx_getprop_1m_3Box_size`` -> ``__pyx_pf_1m_3Box_4size___get__``."""
    match = _PROPERTY.match(name)
    function = cython_function(match[0]) if match is not None else None
    if match is None or function is None:
        return None
    *_, size, accessor = function.path
    return f"{CYTHON_DEF}{match['scope'].removesuffix(size)}{len(size)}{size}_{accessor}"
