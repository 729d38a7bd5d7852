"""Small extensions by several binding layers, compilers' options and build systems: what users build."""
