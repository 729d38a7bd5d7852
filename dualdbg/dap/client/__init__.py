"""What is known of a client: its conventions, its file names, its arguments, and the capabilities that it is told."""
