"""``import dualdbg.allow`` in a program lets its own user debug it later, also under Yama's ptrace_scope 1."""

import ctypes

# PR_SET_PTRACER, PR_SET_PTRACER_ANY.
ctypes.CDLL(None).prctl(0x59616D61, ctypes.c_ulong(-1 & (1 << 64) - 1), 0, 0, 0)
