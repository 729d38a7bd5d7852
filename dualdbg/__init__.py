"""A debugger for one process with two languages: Python on top, C and C++ below."""

__version__ = "0.2.0"
