"""The requests of the protocol, one module for each area. Each registers its functions (``dap/registry.py``)."""

from . import (
    beyond_dap,
    breakpoints,
    evaluate,
    exceptions,
    launch,
    lifecycle,
    memory,
    post_mortem,
    run_control,
    sources,
    stacks,
    targets,
    values,
)

__all__ = [
    "beyond_dap",
    "breakpoints",
    "evaluate",
    "exceptions",
    "launch",
    "lifecycle",
    "memory",
    "post_mortem",
    "run_control",
    "sources",
    "stacks",
    "targets",
    "values",
]
