"""What both halves know of a toolchain: names that dualdbg and its helpers in gdb read, one module each."""
