"""Cython: C functions and lines by what their author wrote."""
