"""The table of breakpoints, and how each kind is bound, counted and told."""
