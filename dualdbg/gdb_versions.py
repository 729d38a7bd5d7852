"""Which gdb dualdbg works with: the one place that says it."""

OLDEST = 12
"""The first with the MI and the Python that are needed."""

NEWEST = 18
"""The last that was tried."""
