"""What is passed to well-known C functions, by their documented prototypes: the sizes that a trace shows. Pure."""

from __future__ import annotations

_MEMORY = (("to", True), ("from", True), ("size", False))
FUNCTIONS: dict[str, tuple[tuple[str, bool], ...]] = {
    # name: its first arguments, each with whether it is a pointer; the others are of type size_t
    "malloc": (("size", False),),
    "calloc": (("count", False), ("size", False)),
    "realloc": (("pointer", True), ("size", False)),
    "reallocarray": (("pointer", True), ("count", False), ("size", False)),
    "free": (("pointer", True),),
    "aligned_alloc": (("alignment", False), ("size", False)),
    "memalign": (("alignment", False), ("size", False)),
    "posix_memalign": (("pointer", True), ("alignment", False), ("size", False)),
    "mmap": (("address", True), ("length", False)),
    "munmap": (("address", True), ("length", False)),
    "memcpy": _MEMORY,
    "memmove": _MEMORY,
    "PyObject_Malloc": (("size", False),),
    "PyMem_Malloc": (("size", False),),
    "PyMem_RawMalloc": (("size", False),),
    "cudaMalloc": (("pointer", True), ("size", False)),
    "cudaMemcpy": _MEMORY,
    "cudaMemcpyAsync": _MEMORY,
}
"""malloc(3), mmap(2), memcpy(3), the C API of Python, the CUDA runtime API."""
