"""The functions through which native code raises, C++'s throw and Rust's panic; and where C++ catches."""

from __future__ import annotations

THROWERS = ("__cxa_throw", "rust_panic")
CATCHERS = ("__cxa_begin_catch",)
PANIC = "panic"  # the type of a panic, for people and in specs
