"""What the panes show, one module each. Each is given what it shows, and says by messages what the user wants."""
