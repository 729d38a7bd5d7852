"""What the adapter announces beside its requests, which announce themselves (``registry.py``)."""

from __future__ import annotations

from ...protocol.dap_types import Capabilities, ExceptionBreakpointsFilter

PYTHON_FILTERS: tuple[ExceptionBreakpointsFilter, ...] = (
    {
        "filter": "raised",
        "label": "Python: raised exceptions",
        "description": "Stop whenever a Python exception is raised.",
        "default": False,
        "supportsCondition": True,
        "conditionDescription": "Types of exceptions, for example ValueError, KeyError",
    },
    {
        "filter": "uncaught",
        "label": "Python: uncaught exceptions",
        "description": "Stop when the program is about to end by an exception that nobody handles.",
        "default": True,
    },
    {
        "filter": "userUnhandled",
        "label": "Python: user-uncaught exceptions",
        "description": "Stop when an exception escapes into library code.",
        "default": False,
    },
)
NATIVE_FILTERS: tuple[ExceptionBreakpointsFilter, ...] = (
    {
        "filter": "cpp_throw",
        "label": "C++: throw",
        "description": "Stop where a C++ exception is thrown.",
        "default": False,
        "supportsCondition": True,
        "conditionDescription": "A part of the type's name, for example std::runtime_error",
    },
    {
        "filter": "cpp_catch",
        "label": "C++: catch",
        "description": "Stop where a handler takes a C++ exception.",
        "default": False,
        "supportsCondition": True,
        "conditionDescription": "A part of the type's name, for example std::runtime_error",
    },
)

BESIDE_REQUESTS: Capabilities = {
    "exceptionBreakpointFilters": [*PYTHON_FILTERS, *NATIVE_FILTERS],
    "completionTriggerCharacters": [".", ":", ">", "`", "["],
    "additionalModuleColumns": [
        {"attributeName": "symbols", "label": "Loaded as", "type": "string"},
        {"attributeName": "size", "label": "Size", "type": "string"},
    ],
    "supportsANSIStyling": False,
}
