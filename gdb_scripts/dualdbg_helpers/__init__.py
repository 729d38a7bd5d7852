"""Helpers for gdb's own Python: PyTorch and Python values, read from memory and nothing else.

Needs only the standard library and ``gdb`` (12 or later, its Python 3.8 or later). The modules that
import ``gdb`` are ``inferior``, ``settings``, ``layout.from_gdb``, ``frames``, ``printers`` and those
of commands; the decoders see a :class:`~dualdbg_helpers.target.Target` and can be read without gdb.
"""
