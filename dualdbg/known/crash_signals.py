"""Signals that end a program and say that it is broken: those of signal(7) with a core, without what users send."""

CRASHES = frozenset({"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGABRT", "SIGSYS", "SIGTRAP"})
