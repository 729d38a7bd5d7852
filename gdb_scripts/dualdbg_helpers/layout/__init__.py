"""Layouts of PyTorch's C++ types: where each member lies, and which source says so."""

from .model import EMPTY, Layout, Record

__all__ = ["EMPTY", "Layout", "Record"]
