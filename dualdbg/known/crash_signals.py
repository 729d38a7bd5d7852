"""Signals that end a program and say that it is broken: those of signal(7) with a core, without what users send."""

import signal

CRASHES = frozenset({"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGSYS", "SIGTRAP"})
# Of an instruction that could not be carried out, where the kernel has sent them.
FAULTS = frozenset({signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE})
