"""Looking at a stopped target: threads, stacks, values, memory and machine code."""
