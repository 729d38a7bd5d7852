"""The table of the commands that the session sends, each with module and function. It can be read without gdb.

The names are those of the methods in dualdbg/backends/gdb_helpers.py, with dashes.
"""

from __future__ import annotations

import importlib
from typing import Any, Callable

COMMANDS = {
    "architecture": ("threads", "architecture"),
    "arm-probes": ("probes", "arm_probes"),
    "assign": ("values", "assign"),
    "call-probe": ("inferior_evaluation", "call_probe"),
    "call-target": ("disassembly", "call_target"),
    "calls": ("disassembly", "calls"),
    "caller-at-entry": ("step_ends", "caller_at_entry"),
    "caught-object": ("exceptions", "caught_object"),
    "children": ("values", "children"),
    "completions": ("values", "completions"),
    "condition-holds": ("breakpoints", "condition_holds"),
    "condition-operations": ("probes", "condition_operations"),
    "condition-text": ("breakpoints", "condition_text"),
    "delete-breakpoints": ("breakpoints", "delete_breakpoints"),
    "disassemble": ("disassembly", "disassemble"),
    "disassemble-until": ("disassembly", "disassemble_until"),
    "environment-variable": ("new_program", "environment_variable"),
    "evaluate": ("values", "evaluate"),
    "forget-program": ("new_program", "forget_program"),
    "forget-values": ("values", "forget_values"),
    "frame-registers": ("threads", "frame_registers"),
    "frames": ("threads", "frames"),
    "function-bodies": ("symbols", "function_bodies"),
    "function-body": ("function_locations", "function_body"),
    "function-instances": ("function_locations", "function_instances"),
    "function-visits": ("visits", "function_visits"),
    "gdb-version": ("threads", "gdb_version"),
    "insert-at-function": ("breakpoints", "insert_at_function"),
    "insert-breakpoint": ("breakpoints", "insert_breakpoint"),
    "insert-breakpoints": ("breakpoints", "insert_breakpoints"),
    "insert-cue": ("breakpoints", "insert_cue"),
    "insert-log-point": ("breakpoints", "insert_log_point"),
    "insert-probe": ("probes", "insert_probe"),
    "insert-step-ends": ("step_ends", "insert_step_ends"),
    "insert-watchpoint": ("watchpoints", "insert_watchpoint"),
    "internal-hits": ("breakpoints", "internal_hits"),
    "interrupt-by": ("interrupting", "interrupt_by"),
    "is-in-front": ("threads", "is_in_front"),
    "kept-arguments": ("passed", "kept_arguments"),
    "last-breakpoint": ("breakpoints", "last_breakpoint"),
    "leave": ("leaving", "leave"),
    "let-go": ("leaving", "let_go"),
    "leave-on-signals": ("leaving", "leave_on_signals"),
    "line-locations": ("symbols", "line_locations"),
    "line-visits": ("visits", "line_visits"),
    "load-helpers": ("torch_commands", "load_helpers"),
    "load-library": ("symbols", "load_library"),
    "log-text": ("breakpoints", "log_text"),
    "may-let-go": ("leaving", "may_let_go"),
    "memory-place": ("values", "memory_place"),
    "panic-text": ("exceptions", "panic_text"),
    "park": ("parking", "park"),
    "passed-arguments": ("passed", "passed_arguments"),
    "probe-hits": ("probes", "probe_hits"),
    "probe-room": ("probes", "probe_room"),
    "probe-text": ("inferior_evaluation", "probe_text"),
    "python-children": ("python_objects", "python_children"),
    "python-path": ("python_objects", "python_path"),
    "python-values": ("python_objects", "python_values"),
    "read-memory": ("memory", "read_memory"),
    "readable-memory": ("memory", "readable_memory"),
    "registers": ("threads", "registers"),
    "require-thread": ("breakpoints", "require_thread"),
    "run-text": ("inferior_evaluation", "run_text"),
    "signal-address": ("threads", "signal_address"),
    "signal-code": ("threads", "signal_code"),
    "take-pending": ("leaving", "take_pending"),
    "step-result": ("returned", "step_result"),
    "threads": ("threads", "threads"),
    "select-frame": ("threads", "select_frame"),
    "set-environment": ("new_program", "set_environment"),
    "set-internal": ("breakpoints", "set_internal"),
    "teach-arguments": ("taught", "teach_arguments"),
    "thrown-object": ("exceptions", "thrown_object"),
    "unpark": ("parking", "unpark"),
    "variables": ("values", "variables"),
    "watch-expression": ("watchpoints", "watch_expression"),
    "signal-handling": ("threads", "signal_handling"),
    "word": ("torch_commands", "word"),
    "write-memory": ("memory", "write_memory"),
}


def function_of(name: str) -> Callable[..., Any]:
    """The function behind a name. Raises KeyError for a name that is not in the table."""
    module, function = COMMANDS[name]
    found: Callable[..., Any] = getattr(importlib.import_module("." + module, __package__), function)
    return found
