"""Whole jobs: the stacks of all ranks as one prefix tree."""
