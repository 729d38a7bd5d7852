"""The tests of dualdbg: real gdb, real debugpy, real PyTorch."""
