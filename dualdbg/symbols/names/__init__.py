"""Names of C and C++: how they are written, searched in a symbol table, and told apart."""
