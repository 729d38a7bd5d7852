"""The C++ types in which binding layers keep Python objects."""

from __future__ import annotations

# An object of Python in C and in C++, and PyTorch's head of a tensor.
PYTHON_OBJECTS = ("PyObject", "_object", "THPVariable")
PYBIND11 = "pybind11::"
PYBIND11_ARGUMENTS = f"{PYBIND11}args"
# How the names of types begin that are a pointer to one, as their first member.
HANDLES = (PYBIND11, "THPObjectPtr", "THPPointer")
