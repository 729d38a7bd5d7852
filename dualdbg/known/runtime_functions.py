"""The functions of the C++ runtime and of its unwinder, by name: a linker may put them into any file. Pure."""

from __future__ import annotations

import re

THROWERS = ("__cxa_throw", "rust_panic")
CATCHERS = ("__cxa_begin_catch",)
PANIC = "panic"  # the type of a panic, for people and in specs


# Itanium C++ ABI (__cxa_, _Unwind_, __cxxabiv1), and what GCC and LLVM have beside it: their namespaces, personality
# routines, locks (libgcc/gthr-posix.h), static functions of the unwinder (libgcc/unwind-dw2.c), sanitizers.
_RUNTIME = re.compile(
    r"(?:std|__gnu_cxx|__cxxabiv1|__gnu_debug)::|__(?:cxa|gxx|gcc|clang|dynamic|gthread|gthrw|libc)_|"
    r"__terminate\b|_Unwind_|"
    r"__(?:(?:a|hwa|l|m|t|ub)san|sanitizer|interceptor)(?:_|::)|"
    r"(?:uw_(?:frame_state_for|init_context_1|update_context(?:_1)?|install_context(?:_1)?)|execute_cfa_program)\b"
)
# A program may have its own ones.
_ALLOCATION = re.compile(r"operator (?:new|delete)\b")


def is_runtime_function(function: str | None, file: str | None = None) -> bool:
    """Whether a function is the C++ library's or the unwinder's, whichever file it is linked into.

    ``function`` is its name, ``file`` its source: of the global ``operator new`` those without one are the runtime's.
    """
    if function is None:
        return False
    return _RUNTIME.match(function) is not None or (file is None and _ALLOCATION.match(function) is not None)
