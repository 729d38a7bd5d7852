"""What the names of functions and files tell: binding layers, Python files, file endings. Pure."""
