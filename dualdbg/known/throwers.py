"""The functions through which native code raises: C++'s throw, and Rust's panic."""

from __future__ import annotations

THROWERS = ("__cxa_throw", "rust_panic")
PANIC = "panic"  # the type of a panic, for people and in specs
