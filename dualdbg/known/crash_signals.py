"""Signals that end a program and say that it is broken: those of signal(7) with a core, without what users send."""

import signal

CRASHES = frozenset({"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGSYS", "SIGTRAP"})
# Of memory that could not be used, whose address the kernel tells. (Of the other faults it tells that of the
# instruction, which the innermost frame has.)
OF_MEMORY = frozenset({signal.SIGSEGV, signal.SIGBUS})
OF_MEMORY_NAMES = frozenset(one.name for one in OF_MEMORY)
# Of an instruction that could not be carried out, where the kernel has sent them.
FAULTS = OF_MEMORY | {signal.SIGILL, signal.SIGFPE}
