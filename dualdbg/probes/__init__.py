"""Probes: machine code that evaluates a breakpoint's condition, or counts its hits, where the function runs. Pure."""
