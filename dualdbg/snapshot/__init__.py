"""Where every thread of a process is, in both languages, without gdb: read from memory within milliseconds."""
