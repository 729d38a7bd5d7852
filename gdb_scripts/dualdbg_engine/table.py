"""The table of the commands that the session sends, each with module and function. It can be read without gdb.

The names are those of the methods in dualdbg/backends/gdb_helpers.py, with dashes.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # the import of typing would take longer than the rest of this file
if TYPE_CHECKING:
    from typing import Any, Callable

COMMANDS = {
    "arm-probes": ("probes", "arm_probes"),
    "call-probe": ("inferior_evaluation", "call_probe"),
    "close-descriptor": ("probe_memory", "close_descriptor"),
    "condition-operations": ("probe_conditions", "condition_operations"),
    "environment-variable": ("new_program", "environment_variable"),
    "forget-program": ("new_program", "forget_program"),
    "insert-probe": ("probes", "insert_probe"),
    "insert-probes": ("probes", "insert_probes"),
    "interrupt-by": ("interrupting", "interrupt_by"),
    "leave": ("leaving", "leave"),
    "let-go": ("leaving", "let_go"),
    "leave-on-signals": ("leaving", "leave_on_signals"),
    "may-let-go": ("leaving", "may_let_go"),
    "park": ("parking", "park"),
    "pass-hits": ("probe_hits", "pass_hits"),
    "probe-hits": ("probes", "probe_hits"),
    "probe-room": ("probe_memory", "probe_room"),
    "probe-text": ("inferior_evaluation", "probe_text"),
    "remove-trace": ("probes", "remove_trace"),
    "run-text": ("inferior_evaluation", "run_text"),
    "stop-again": ("probe_hits", "stop_again"),
    "take-pending": ("leaving", "take_pending"),
    "set-environment": ("new_program", "set_environment"),
    "trace-memory": ("probe_memory", "trace_memory"),
    "unpark": ("parking", "unpark"),
}


def function_of(name: str) -> Callable[..., Any]:
    """The function behind a name. Raises KeyError for a name that is not in the table."""
    module, function = COMMANDS[name]
    found: Callable[..., Any] = getattr(importlib.import_module("." + module, __package__), function)
    return found
