"""From a Python callable to the code that a call of it runs."""
