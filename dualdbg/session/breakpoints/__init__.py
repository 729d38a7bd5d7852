"""The table of breakpoints: how each kind is bound to places, counted and told."""
