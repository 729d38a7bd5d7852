"""File endings, without the dot, that tell whether a source file is Python or native code."""

from __future__ import annotations

NATIVE_ENDINGS = frozenset(
    (
        *("c", "cc", "cp", "cpp", "cxx", "c++", "C", "ii", "cu", "hip", "cl", "m", "mm"),
        *("h", "hh", "hp", "hpp", "hxx", "h++", "H", "inc", "inl", "ipp", "tcc", "tpp", "txx", "cuh"),
        *("pyx", "pxd", "pxi", "s", "S", "asm", "rs", "f", "f90", "f95", "go", "d", "zig"),
    )
)
PYTHON_ENDINGS = frozenset({"py", "pyw", "pyi", "ipynb"})
