"""Rust: linkage names of both kinds, and the functions of debug info."""
