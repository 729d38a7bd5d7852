"""CPython's own state, read from the memory of a process: threads, frames, objects, locks."""
