"""The five requests that set breakpoints, each with its whole list; and what a data breakpoint could watch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...errors import DualdbgError, SpecError
from ...model import BreakpointKind, BreakpointSpec, PythonFrame, State
from ...protocol import dap_types as dap
from ...target.watch_registers import LARGEST, watching
from ..adapter import Adapter
from ..asked_frame import some_frame
from ..client.arguments import Arguments
from ..presentation.breakpoints import Wanted, line_spec, with_suffixes
from ..registry import request
from ..stages import CONFIGURABLE

_CXX_FILTERS = {"cpp_throw": BreakpointKind.THROW, "cpp_catch": BreakpointKind.CATCH}
_PYTHON = "py:"  # what the id of a value of Python begins with; its expression follows
_ACCESSES: tuple[dap.DataBreakpointAccessType, ...] = ("write", "readWrite", "read")


def _understood(rows: list[Arguments], read: Callable[[Arguments], BreakpointSpec]) -> list[Wanted]:
    """Each row as a spec, or why it cannot be read."""
    specs: list[Wanted] = []
    for row in rows:
        try:
            specs.append(read(row))
        except SpecError as error:
            specs.append(error)
    return specs


@request(
    "setBreakpoints",
    CONFIGURABLE,
    capabilities=(
        "supportsConditionalBreakpoints",
        "supportsHitConditionalBreakpoints",
        "supportsLogPoints",
    ),
)
async def set_breakpoints(adapter: Adapter, arguments: Arguments) -> dap.SetBreakpointsResponseBody:
    source = arguments.object("source")
    path = source.text("path", "")
    rows = arguments.objects("breakpoints")
    if not path:
        error = SpecError(
            "this source is in no file: dualdbg cannot stop in it by line", "use a function breakpoint"
        )
        return {"breakpoints": await adapter.breakpoints.replace_list("without a file", [error] * len(rows))}
    theirs = adapter.sources.remember(path)
    started = adapter.started_from
    templates = started is not None and started.configuration.templates
    specs = _understood(rows, lambda row: line_spec(theirs, row, adapter.client.our_line, templates))
    return {"breakpoints": await adapter.breakpoints.replace_list(f"file {theirs}", specs)}


@request("setFunctionBreakpoints", CONFIGURABLE, capabilities=("supportsFunctionBreakpoints",))
async def set_function_breakpoints(
    adapter: Adapter, arguments: Arguments
) -> dap.SetFunctionBreakpointsResponseBody:
    """Names of functions; each may be any breakpoint spec."""

    def read(row: Arguments) -> BreakpointSpec:
        specs = adapter.session.breakpoints.read(row.text("name"))
        if len(specs) != 1:
            raise SpecError(f"{row.text('name')} stands for {len(specs)} breakpoints", "add them one by one")
        return with_suffixes(specs[0], row)

    specs = _understood(arguments.objects("breakpoints"), read)
    return {"breakpoints": await adapter.breakpoints.replace_list("functions", specs)}


@request("setInstructionBreakpoints", CONFIGURABLE, capabilities=("supportsInstructionBreakpoints",))
async def set_instruction_breakpoints(
    adapter: Adapter, arguments: Arguments
) -> dap.SetInstructionBreakpointsResponseBody:
    def read(row: Arguments) -> BreakpointSpec:
        reference = row.text("instructionReference")
        try:
            address = int(reference, 0) + row.number("offset", 0)
        except ValueError:
            raise SpecError(f"{reference[:80]!r} is no address", "") from None
        if not 0 <= address < 1 << 64:
            raise SpecError(f"{address:#x} is no address", "")
        spec = BreakpointSpec(f"{address:#x}", BreakpointKind.ADDRESS, f"{address:#x}")
        return with_suffixes(spec, row)

    specs = _understood(arguments.objects("breakpoints"), read)
    return {"breakpoints": await adapter.breakpoints.replace_list("instructions", specs)}


@request("dataBreakpointInfo", capabilities=("supportsDataBreakpointBytes",))
async def data_breakpoint_info(adapter: Adapter, arguments: Arguments) -> dap.DataBreakpointInfoResponseBody:
    """Where the variable or expression lies, or that it is one of Python, which is watched by name."""
    name = arguments.text("name")
    try:
        python = await _of_python(adapter, arguments, name)
        if python is not None:
            await adapter.session.breakpoints.watches.offer(*python)
            return {
                "dataId": f"{_PYTHON}{python[0]}",
                "description": f"{python[0]}, read before each line that may change it",
                "accessTypes": ["write"],
                "canPersist": False,
            }
        address, size = await _place(adapter, arguments, name)
    except DualdbgError as error:
        return {"dataId": None, "description": error.message}
    size = arguments.number("bytes", size)
    if not 0 < size <= LARGEST:
        return {
            "dataId": None,
            "description": f"{name} has {size} bytes; at most {LARGEST} can be watched",
        }
    return {
        "dataId": f"{address:#x}:{size}",
        "description": f"{name} ({size} bytes at {address:#x})",
        "accessTypes": _ACCESSES,
        "canPersist": False,
    }


async def _of_python(adapter: Adapter, arguments: Arguments, name: str) -> tuple[str, PythonFrame] | None:
    """The expression and the frame of a value of Python, at a stop in Python; None for any other."""
    if arguments.flag("asAddress") or adapter.session.state is not State.PYTHON_STOPPED:
        return None
    reference = arguments.number("variablesReference", 0)
    if reference:
        return await adapter.debuggee.handles.variables.get(reference).watched(name)
    frame = (await some_frame(adapter, arguments)).frame
    return (name, frame) if isinstance(frame, PythonFrame) and frame.engine_id is not None else None


async def _place(adapter: Adapter, arguments: Arguments, name: str) -> tuple[int, int]:
    if arguments.flag("asAddress"):
        return arguments.address("name"), arguments.number("bytes", LARGEST)
    if arguments.number("variablesReference", 0):
        return await adapter.debuggee.handles.variables.get(arguments.number("variablesReference")).place(
            name
        )
    handle = await some_frame(adapter, arguments)
    return await adapter.values.place_of_expression(handle, name)


@request("setDataBreakpoints", CONFIGURABLE, capabilities=("supportsDataBreakpoints",))
async def set_data_breakpoints(adapter: Adapter, arguments: Arguments) -> dap.SetDataBreakpointsResponseBody:
    # With more than the processor has, gdb would not let the program run. Where no register can hold a place, gdb would
    # watch it by single steps, and the program would hardly move.
    machine = watching()
    registers: dict[str, int] = {}  # by subject: equal places share theirs

    def read(row: Arguments) -> BreakpointSpec:
        access = row.text("accessType", "write")
        if row.text("dataId").startswith(_PYTHON):
            return _python_watch(row, access)
        place, _, length = row.text("dataId").partition(":")
        if access not in _ACCESSES:
            raise SpecError(f"{access[:40]!r} is no kind of access", "read, write or readWrite")
        try:
            address, size = int(place, 16), int(length)
        except ValueError:
            raise SpecError(
                f"{row.text('dataId')[:80]!r} is no data id", "ask dataBreakpointInfo for one"
            ) from None
        if not 0 < size <= LARGEST or not 0 <= address < machine.end - size:
            raise SpecError(
                f"{size} bytes at {address:#x} cannot be watched",
                f"at most {LARGEST} bytes in memory can",
            )
        subject = f"{address:#x}:{size}:{access}"
        needed = registers.get(subject, machine.needed(address, size))
        if sum(registers.values()) - registers.get(subject, 0) + needed > machine.count:
            raise SpecError(
                f"the processor has no debug register left for {address:#x}", "remove another data breakpoint"
            )
        spec = with_suffixes(BreakpointSpec(f"data:{subject}", BreakpointKind.DATA, subject), row)
        registers[subject] = needed
        return spec

    specs = _understood(arguments.objects("breakpoints"), read)
    return {"breakpoints": await adapter.breakpoints.replace_list("data", specs)}


def _python_watch(row: Arguments, access: str) -> BreakpointSpec:
    expression = row.text("dataId")[len(_PYTHON) :]
    if access != "write":
        raise SpecError(f"who reads {expression} is not seen", "watch for writes")
    spec = BreakpointSpec(f"watch:py:{expression}", BreakpointKind.PYTHON_WATCH, expression, access=access)
    return with_suffixes(spec, row)


@request(
    "setExceptionBreakpoints",
    CONFIGURABLE,
    capabilities=(
        "supportsExceptionFilterOptions",
        "supportsExceptionOptions",
    ),
)
async def set_exception_breakpoints(
    adapter: Adapter, arguments: Arguments
) -> dap.SetExceptionBreakpointsResponseBody:
    """Filters of either language, each with an answer; ``exceptionOptions`` are handed on to debugpy."""
    filters = [(name, "") for name in arguments.texts("filters")]
    filters += [
        (row.text("filterId"), row.text("condition", "")) for row in arguments.objects("filterOptions")
    ]
    options = _exception_options(arguments)
    wanted = [_of_filter(name, condition) for name, condition in filters]
    python = tuple(name for (name, _), specs in zip(filters, wanted, strict=True) if not specs)
    await adapter.breakpoints.set_python_filters(python, options)
    told = iter(
        await adapter.breakpoints.replace_list("exceptions", [one for specs in wanted for one in specs])
    )
    answers = [_together([next(told) for _ in specs]) for specs in wanted]
    return {"breakpoints": [*answers, *(_together([]) for _ in options)]}


def _of_filter(name: str, condition: str) -> list[Wanted]:
    """The breakpoints of a filter, or why there is none; nothing for one of debugpy's own filters."""
    types = [text.strip() for text in condition.split(",") if text.strip()]
    if name in _CXX_FILTERS:
        return [_cxx_event(_CXX_FILTERS[name], text) for text in types or [""]]
    if name == "raised" and types:
        return [_raise(text) for text in types]
    if name in ("raised", "uncaught", "userUnhandled"):
        return []
    return [
        SpecError(
            f"there is no exception filter {name[:80]!r}",
            "raised, uncaught, userUnhandled, cpp_throw, cpp_catch",
        )
    ]


def _together(rows: list[dap.Breakpoint]) -> dap.Breakpoint:
    """The answer for a filter that became these breakpoints: that which needs attention most."""
    set_by_debugpy: dap.Breakpoint = {"verified": True}
    return next((row for row in rows if not row["verified"]), rows[0] if rows else set_by_debugpy)


def _cxx_event(kind: BreakpointKind, type_name: str) -> BreakpointSpec:
    return BreakpointSpec(f"{kind.value}:{type_name}" if type_name else kind.value, kind, type_name)


def _raise(type_name: str) -> BreakpointSpec:
    return BreakpointSpec(f"raise:{type_name}", BreakpointKind.RAISE, type_name)


def _exception_options(arguments: Arguments) -> tuple[dict[str, Any], ...]:
    return tuple(row.values for row in arguments.objects("exceptionOptions"))
