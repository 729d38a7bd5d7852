"""Helpers for gdb's own Python: PyTorch and Python values, read from memory and nothing else.

Needs only the standard library and ``gdb`` (12 or later, with Python 3.8 or later). The decoders get a
:class:`~dualdbg_helpers.target.Target` and do not import ``gdb``.
"""
