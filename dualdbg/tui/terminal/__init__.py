"""The program's own terminal: a pty, and what a terminal makes of the bytes that come out of it."""
