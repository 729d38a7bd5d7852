"""CPython's objects, read from memory: versions 3.8 to 3.14, with and without the GIL."""
