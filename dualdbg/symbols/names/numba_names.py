"""Names that numba gives to the functions that it compiles, as Python has them (numba/core/itanium_mangler.py)."""

from __future__ import annotations

import re

from .cxx_names import parse
from .demangle import demangle

_VERSION = "[abi:v"  # numba marks each compilation of a function so
_WRAPPER = re.compile(
    r"(?P<kind>\w+)\.(?P<mangled>_Z\w+)", re.ASCII
)  # what C, a ufunc or a region of prange calls
_BRACKETS = re.compile(r"\b_3c(\w+?)_3e", re.ASCII)  # of <locals>, <lambda> and <dynamic>


def numba_name(name: str) -> str | None:
    """``__main__.total`` of ``__main__::total[abi:v1](int)``; with ``cfunc.``, ``__ufunc__.`` or ``__gufunc__.`` before
    it where that is what calls the function, or has it inlined. None for a name that is not numba's.
    """
    wrapper = _WRAPPER.fullmatch(name)
    text = demangle(wrapper["mangled"]) if wrapper is not None else name
    if _VERSION not in text:
        return None
    python = _BRACKETS.sub(r"<\1>", parse(text).short.replace("::", "."))
    return f"{wrapper['kind']}.{python}" if wrapper is not None else python
