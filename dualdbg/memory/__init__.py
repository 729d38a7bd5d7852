"""Reads the target's memory without running anything in it."""
