"""The library of greenlets, which share the stack of their thread: what waits is copied away, and back. Pure."""

from __future__ import annotations

_LIBRARIES = ("_greenlet.", "greenlet.")  # the module of greenlet 1.1 and later, and that of the earlier ones
_START = "g_initialstub"  # greenlet/TUserGreenlet.cpp; greenlet.c before 2.0. In it each greenlet has its first frame.


def is_of_greenlets(library: str | None) -> bool:
    """Whether a library is that of greenlets, by the name of its file."""
    return (library or "").rpartition("/")[2].startswith(_LIBRARIES)


def starts_greenlet(function: str | None, library: str | None) -> bool:
    """Whether a frame is the outermost one of a greenlet.

    What lies beyond it on the stack was left there by who started it, and may have been written over since.
    """
    name = (function or "").partition("(")[0].rpartition("::")[2]
    return name == _START and is_of_greenlets(library)
