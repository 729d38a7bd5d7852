"""The transitions of the state: each changes it and returns the effects that follow. Pure; the loop calls them."""
