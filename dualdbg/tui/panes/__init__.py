"""The panes, one module for each. A pane is given what it shows, and sends messages about what the user wants."""
