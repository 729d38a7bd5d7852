"""What dualdbg and its helpers in gdb both know of files and processes; ``dualdbg/shared`` is a link to this folder.

Runs in gdb's own Python too: nothing but the standard library is imported, and it is clean for Python 3.8.
"""
