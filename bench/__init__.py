"""Benchmarks: each module measures one thing side by side with its alternative and prints a table."""
