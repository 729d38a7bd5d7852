"""Names that Cython gives to C functions, and which of them hold the author's code."""

from __future__ import annotations

import re

# Cython's C functions, by how their names begin (Cython/Compiler/Naming.py). The author's code is in the first four:
# that of cdef and cpdef, of def, of a generator or a coroutine, and of the module itself.
CYTHON_CDEF, CYTHON_DEF, CYTHON_GENERATOR = "__pyx_f_", "__pyx_pf_", "__pyx_gb_"
CYTHON_MODULE = "__pyx_pymod_exec_"
CYTHON_AUTHORS = (CYTHON_CDEF, CYTHON_DEF, CYTHON_GENERATOR, CYTHON_MODULE)
# What stands before the name of a function of fused types, once for each combination of them.
CYTHON_FUSED = "__pyx_fuse_"
_SPECIALIZATION = re.compile(CYTHON_FUSED + r"\d+(?:_\d+)*(?=__pyx_)")
CYTHON_WRAPPER = "__pyx_pw_"  # takes the arguments of a call apart for that of def
CYTHON_INIT = "__pyx_tp_init_"  # the slot of a class, which calls the wrapper of its __init__
CYTHON_SOURCES = (".pyx", ".pxd", ".pxi", ".py")
CYTHON_GETTER, CYTHON_SETTER = "__pyx_getprop_", "__pyx_setprop_"  # what the interpreter calls for a property


def without_types(name: str) -> str:
    """The C name of Cython's without what says for which types it is: ``__pyx_fuse_0__pyx_f_1m_add``."""
    return _SPECIALIZATION.sub("", name, count=1) if name.startswith(CYTHON_FUSED) else name


def is_cython_authors(name: str) -> bool:
    """Whether code of the author is in the function of Cython's with this C name."""
    return without_types(name).startswith(CYTHON_AUTHORS)
