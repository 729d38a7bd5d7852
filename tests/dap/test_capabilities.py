"""Every announced capability names the test that shows it; one without a test, or whose test is gone, fails."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from dualdbg.dap import requests
from dualdbg.dap.registry import OF_POST_MORTEM, REQUESTS, Request, capabilities
from dualdbg.protocol import dap_types
from tests.dap.client import BEYOND_DAP

SHOWN_BY = {
    "supportsConfigurationDoneRequest": "test_robustness.test_requests_before_their_time",
    "supportsFunctionBreakpoints": "test_python.test_a_python_function_as_a_breakpoint",
    "supportsConditionalBreakpoints": "test_memory.test_conditions_and_counts_of_hits_in_cpp",
    "supportsHitConditionalBreakpoints": "test_python.test_conditions_counts_of_hits_and_log_messages",
    "supportsLogPoints": "test_memory.test_log_points_and_conditions_in_cpp",
    "supportsInstructionBreakpoints": "test_both_sides.test_native_breakpoints_that_are_no_lines",
    "supportsDataBreakpoints": "test_both_sides.test_native_breakpoints_that_are_no_lines",
    "supportsDataBreakpointBytes": "test_native_looks.test_what_can_be_watched",
    "supportsExceptionFilterOptions": "test_exceptions.test_one_type_of_cpp_exception",
    "supportsExceptionOptions": "test_python.test_exception_options_of_debugpy",
    "supportsExceptionInfoRequest": "test_exceptions.test_a_cpp_throw",
    "exceptionBreakpointFilters": "test_python.test_python_exceptions",
    "supportsEvaluateForHovers": "test_both_sides.test_values_of_both_sides",
    "supportsClipboardContext": "test_python.test_evaluation_in_every_context",
    "supportsSetVariable": "test_both_sides.test_setting_values_of_both_sides",
    "supportsSetExpression": "test_both_sides.test_setting_values_of_both_sides",
    "supportsValueFormattingOptions": "test_python.test_stack_frames_by_the_page",
    "supportsCompletionsRequest": "test_python.test_completions",
    "completionTriggerCharacters": "test_python.test_completions",
    "supportsModulesRequest": "test_python.test_modules_and_loaded_sources",
    "additionalModuleColumns": "test_python.test_modules_and_loaded_sources",
    "supportsLoadedSourcesRequest": "test_python.test_modules_and_loaded_sources",
    "supportsDelayedStackTraceLoading": "test_python.test_stack_frames_by_the_page",
    "supportsSteppingGranularity": "test_memory.test_steps_by_instruction",
    "supportsStepInTargetsRequest": "test_python.test_step_in_targets",
    "supportsGotoTargetsRequest": "test_python.test_goto_moves_the_point_of_execution",
    "supportsDisassembleRequest": "test_memory.test_disassembly",
    "supportsReadMemoryRequest": "test_memory.test_memory_is_read_and_written",
    "supportsWriteMemoryRequest": "test_memory.test_memory_is_read_and_written",
    "supportsRestartRequest": "test_life.test_restart_keeps_the_breakpoints",
    "supportsTerminateRequest": "test_life.test_terminate_can_be_an_interrupt",
    "supportTerminateDebuggee": "test_life.test_disconnect_without_ending_the_program",
    "supportsCancelRequest": "test_life.test_cancel",
}

ALWAYS = {
    "initialize",
    "launch",
    "attach",
    "disconnect",
    "threads",
    "stackTrace",
    "scopes",
    "variables",
    "source",
}
ALWAYS |= {
    "continue",
    "next",
    "stepIn",
    "stepOut",
    "pause",
    "evaluate",
    "setBreakpoints",
    "setExceptionBreakpoints",
}
# request -> the capability by which a client knows of it
ANNOUNCED = {
    "configurationDone": "supportsConfigurationDoneRequest",
    "setFunctionBreakpoints": "supportsFunctionBreakpoints",
    "setInstructionBreakpoints": "supportsInstructionBreakpoints",
    "setDataBreakpoints": "supportsDataBreakpoints",
    "dataBreakpointInfo": "supportsDataBreakpoints",
    "exceptionInfo": "supportsExceptionInfoRequest",
    "setVariable": "supportsSetVariable",
    "setExpression": "supportsSetExpression",
    "completions": "supportsCompletionsRequest",
    "modules": "supportsModulesRequest",
    "loadedSources": "supportsLoadedSourcesRequest",
    "stepInTargets": "supportsStepInTargetsRequest",
    "gotoTargets": "supportsGotoTargetsRequest",
    "goto": "supportsGotoTargetsRequest",
    "disassemble": "supportsDisassembleRequest",
    "readMemory": "supportsReadMemoryRequest",
    "writeMemory": "supportsWriteMemoryRequest",
    "restart": "supportsRestartRequest",
    "terminate": "supportsTerminateRequest",
    "cancel": "supportsCancelRequest",
}


def test_every_capability_has_its_test() -> None:
    assert {name for name, value in capabilities().items() if value is not False} == set(SHOWN_BY)


@pytest.mark.parametrize("name", sorted(SHOWN_BY))
def test_the_test_exists(name: str) -> None:
    module, _, function = SHOWN_BY[name].partition(".")
    assert callable(getattr(importlib.import_module(f"tests.dap.{module}"), function))


def test_every_request_is_announced() -> None:
    assert set(REQUESTS) - ALWAYS - BEYOND_DAP == set(ANNOUNCED)
    assert all(dict(capabilities())[capability] is True for capability in ANNOUNCED.values())


def test_every_module_of_requests_is_registered() -> None:
    folder = Path(requests.__file__).parent
    handlers = [*(row.answer for row in REQUESTS.values()), *OF_POST_MORTEM.values()]
    registered = {handler.__module__.rpartition(".")[2] for handler in handlers}
    assert registered == {path.stem for path in folder.glob("*.py")} - {"__init__"}


@pytest.mark.parametrize(
    "row", [row for name, row in REQUESTS.items() if name not in BEYOND_DAP], ids=lambda row: row.command
)
def test_every_answer_has_the_type_that_the_protocol_gives_it(row: Request) -> None:
    """mypy compares what a function returns with its annotation; this compares the annotation with the protocol."""
    annotated = row.answer.__annotations__["return"].removeprefix("dap.")
    assert annotated in (allowed := dap_types.ANSWERS[row.command], *allowed.split(" | "))
