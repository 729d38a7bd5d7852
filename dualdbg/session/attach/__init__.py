"""Bringing debugpy into a process that was not started by dualdbg."""
