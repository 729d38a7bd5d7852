import ctypes
import sys

library = ctypes.PyDLL(sys.argv[1])  # keeps the GIL
assert library.permitted()
factor = 1.5
assert library.kept()
factor = 2.5
