"""The table of the commands that the session sends, each with module and function. It can be read without gdb.

The names are those of the methods in dualdbg/backends/gdb_helpers.py, with dashes.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # the import of typing would take longer than the rest of this file
if TYPE_CHECKING:
    from typing import Any, Callable

COMMANDS = {
    "argument-names": ("values", "argument_names"),
    "arm-probes": ("probes", "arm_probes"),
    "assign": ("values", "assign"),
    "call-probe": ("inferior_evaluation", "call_probe"),
    "children": ("values", "children"),
    "completions": ("values", "completions"),
    "close-descriptor": ("probe_memory", "close_descriptor"),
    "condition-operations": ("probe_conditions", "condition_operations"),
    "entry-code": ("passed", "entry_code"),
    "environment-variable": ("new_program", "environment_variable"),
    "evaluate": ("values", "evaluate"),
    "evaluate-passed": ("passed_values", "evaluate_passed"),
    "call-evidence": ("callers", "call_evidence"),
    "forget-program": ("new_program", "forget_program"),
    "forget-values": ("values", "forget_values"),
    "insert-probe": ("probes", "insert_probe"),
    "insert-probes": ("probes", "insert_probes"),
    "interrupt-by": ("interrupting", "interrupt_by"),
    "kept-arguments": ("passed", "kept_arguments"),
    "leave": ("leaving", "leave"),
    "let-go": ("leaving", "let_go"),
    "leave-on-signals": ("leaving", "leave_on_signals"),
    "load-helpers": ("torch_commands", "load_helpers"),
    "may-let-go": ("leaving", "may_let_go"),
    "memory-place": ("values", "memory_place"),
    "note-arguments": ("passed", "note_arguments"),
    "park": ("parking", "park"),
    "pass-hits": ("probe_hits", "pass_hits"),
    "passed-arguments": ("passed", "passed_arguments"),
    "probe-hits": ("probes", "probe_hits"),
    "probe-room": ("probe_memory", "probe_room"),
    "probe-text": ("inferior_evaluation", "probe_text"),
    "python-children": ("python_objects", "python_children"),
    "python-path": ("python_objects", "python_path"),
    "python-values": ("python_objects", "python_values"),
    "remove-trace": ("probes", "remove_trace"),
    "run-text": ("inferior_evaluation", "run_text"),
    "stop-again": ("probe_hits", "stop_again"),
    "take-pending": ("leaving", "take_pending"),
    "set-environment": ("new_program", "set_environment"),
    "teach-arguments": ("taught", "teach_arguments"),
    "trace-memory": ("probe_memory", "trace_memory"),
    "traced-arguments": ("traced_arguments", "traced_arguments"),
    "types-compiled": ("types_meanwhile", "types_compiled"),
    "unpark": ("parking", "unpark"),
    "variables": ("values", "variables"),
    "word": ("torch_commands", "word"),
}


def function_of(name: str) -> Callable[..., Any]:
    """The function behind a name. Raises KeyError for a name that is not in the table."""
    module, function = COMMANDS[name]
    found: Callable[..., Any] = getattr(importlib.import_module("." + module, __package__), function)
    return found
