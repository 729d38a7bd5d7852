"""What Linux tells of a process: /proc, ptrace, memory, registers, cores."""
