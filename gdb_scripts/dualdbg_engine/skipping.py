"""Code that a source step of gdb passes over, though it has debug info: libraries that are compiled into the user's."""

from __future__ import annotations

import gdb

# By the path of the source, and by the name of the function: what `skip` takes.
_SKIPPED = (
    "-gfi /rustc/*",  # Rust's library, as its builds name it
    "-gfi */lib/rustlib/src/rust/*",  # the same, where its source is installed
    "-gfi */include/python3*/*",  # Py_INCREF and its kind
    "-rfu ^__Pyx_",  # Cython's own functions
)


def register() -> None:
    """gdb skips them from now on. ``info skip`` lists them, and ``skip delete`` forgets them."""
    for what in _SKIPPED:
        gdb.execute("skip " + what, to_string=True)
