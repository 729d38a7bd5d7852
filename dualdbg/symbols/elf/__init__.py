"""What an ELF file says: sections, symbol tables, unwind entries, the libraries that it needs."""
