"""File endings, without the dot, that tell whether a source file is Python or native code."""

from __future__ import annotations

NATIVE_ENDINGS = frozenset(
    (
        *("c", "cc", "cp", "cpp", "cxx", "c++", "C", "ii", "cu", "hip", "cl", "m", "mm"),
        *("ixx", "cppm", "ccm", "cxxm", "mpp", "i", "def", "y", "yy", "ypp", "l", "ll", "lpp", "rl"),
        *("h", "hh", "hp", "hpp", "hxx", "h++", "H", "inc", "inl", "ipp", "tcc", "tpp", "txx", "cuh"),
        *("pyx", "pxd", "pxi", "s", "S", "asm", "rs", "go", "d", "zig"),
        *(
            "f",
            "for",
            "ftn",
            "f77",
            "f90",
            "f95",
            "f03",
            "f08",
            "F",
            "FOR",
            "F77",
            "F90",
            "F95",
            "F03",
            "F08",
        ),
    )
)
# Of these: endings that are a function's name as well (``Point.y``), where no line follows.
ALSO_NAMES = frozenset({"i", "l", "y"})
PYTHON_ENDINGS = frozenset({"py", "pyw", "pyi", "ipynb"})
