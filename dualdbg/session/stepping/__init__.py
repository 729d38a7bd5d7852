"""Going on from a stop: what a step sets, where it may end, and what became of it."""
