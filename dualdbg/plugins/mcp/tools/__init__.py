"""The tools, a module for each area."""
