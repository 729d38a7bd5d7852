"""The program's own terminal: a pty, and the screen that its output makes."""
