"""What a client may ask of a core file: everything that needs no running program."""

from __future__ import annotations

import asyncio
import base64
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from ...errors import CommandError, EvaluationError, UsageError
from ...model import Frame, NativeFrame, PythonFrame
from ...session.memory import MAXIMUM
from .. import translate
from ..adapter import FrameHandle
from ..arguments import Arguments
from ..configuration import Configuration
from ..core import CoreView, Pair
from ..paths import PathMap
from ..registry import Body, Stage, post_mortem
from ..values import Container, Row
from .stacks import Boundary, with_boundaries

if TYPE_CHECKING:
    from ..adapter import Adapter

_NOTHING_RUNS = "this is a core file: the program has ended"


class Texts(Container):
    """Names and values that were read once."""

    def __init__(self, rows: tuple[Pair, ...]) -> None:
        self._rows = rows

    async def rows(self, arguments: Arguments) -> list[Row]:
        return [{"name": name, "value": value, "variablesReference": 0} for name, value in self._rows]


async def open_core(adapter: Adapter, wanted: Configuration) -> Body:
    """Read the core of a configuration; the client configures next, and hears of one stop, which is the end."""
    assert wanted.core is not None
    adapter.stage = Stage.STARTING
    program = wanted.program.script if wanted.program is not None else None
    try:
        loop = asyncio.get_running_loop()
        adapter.core = await loop.run_in_executor(None, CoreView.open, wanted.core, program)
    except BaseException:
        adapter.stage = Stage.INITIALIZED
        raise
    adapter.paths = PathMap(wanted.mappings, adapter.client.uris)
    adapter.stage = Stage.POST_MORTEM
    report = adapter.core.report
    adapter.connection.event("process", {"name": report.command, "startMethod": "attach"})
    for note in (*wanted.notes, *report.notes):
        adapter.connection.output("console", f"dualdbg: {note}\n")
    adapter.connection.event("initialized")
    return None


@post_mortem("configurationDone")
async def configuration_done(adapter: Adapter, arguments: Arguments) -> Body:
    report = adapter.core.report
    adapter.background(_show_stop(adapter, report.threads[0].thread.tid, report.notes[0]))
    return None


async def _show_stop(adapter: Adapter, tid: int, text: str) -> None:
    body = {"reason": "exception", "description": "Core file", "threadId": tid, "text": text}
    adapter.connection.event("stopped", {**body, "allThreadsStopped": True})


@post_mortem(
    "setBreakpoints",
    "setFunctionBreakpoints",
    "setInstructionBreakpoints",
    "setDataBreakpoints",
    "setExceptionBreakpoints",
)
async def set_breakpoints(adapter: Adapter, arguments: Arguments) -> Body:
    """Editors send all of theirs to every session: each is answered, and none is bound."""
    row = {"verified": False, "message": _NOTHING_RUNS, "reason": "failed"}
    return {"breakpoints": [dict(row) for _ in arguments.objects("breakpoints")]}


@post_mortem("dataBreakpointInfo")
async def data_breakpoint_info(adapter: Adapter, arguments: Arguments) -> Body:
    return {"dataId": None, "description": _NOTHING_RUNS}


@post_mortem("threads")
async def threads(adapter: Adapter, arguments: Arguments) -> Body:
    return {"threads": [translate.thread(row.thread) for row in adapter.core.report.threads]}


@post_mortem("stackTrace")
async def stack_trace(adapter: Adapter, arguments: Arguments) -> Body:
    tid = arguments.number("threadId")
    thread = adapter.core.thread(tid)
    if thread is None:
        raise CommandError(f"there is no thread {tid} in this core")
    start, levels = max(arguments.number("startFrame", 0), 0), arguments.number("levels", 0)
    rows = with_boundaries(thread.stack.visible())
    page = rows[start : start + levels if levels > 0 else None]
    wanted = arguments.object("format").values
    return {"stackFrames": [_body(adapter, tid, row, wanted) for row in page], "totalFrames": len(rows)}


def _body(adapter: Adapter, tid: int, row: Frame | Boundary, wanted: dict[str, Any]) -> dict[str, Any]:
    frame = row.below if isinstance(row, Boundary) else row
    id = adapter.tables.frames.add(FrameHandle(tid, frame, 0))
    if isinstance(row, Boundary):
        return translate.boundary(id, row.above, row.below)
    with_source = isinstance(frame, PythonFrame) or adapter.sources.is_file(frame.file)
    source, line = adapter.sources.of_frame(frame) if with_source else (None, None)
    body = translate.frame(id, frame, source, line, adapter.client)
    if wanted:
        body["name"] = translate.formatted_name(frame, wanted)
    return body


@post_mortem("scopes")
async def scopes(adapter: Adapter, arguments: Arguments) -> Body:
    """The locals of a Python frame; of native ones the registers, where they are known."""
    handle = adapter.tables.frames.get(arguments.number("frameId"))
    if isinstance(handle.frame, PythonFrame):
        rows, name = adapter.core.locals(handle.tid, handle.frame), "Locals"
    else:
        rows, name = _registers(adapter, handle), "Registers"
    hint = "locals" if name == "Locals" else "registers"
    reference = adapter.values.add(Texts(rows))
    return {
        "scopes": [
            {"name": name, "presentationHint": hint, "variablesReference": reference, "expensive": False}
        ]
    }


def _registers(adapter: Adapter, handle: FrameHandle) -> tuple[Pair, ...]:
    thread = adapter.core.thread(handle.tid)
    innermost = thread is not None and thread.stack.frames[0] is handle.frame
    return adapter.core.registers(handle.tid) if innermost else ()


@post_mortem("variables")
async def variables(adapter: Adapter, arguments: Arguments) -> Body:
    container = adapter.tables.variables.get(arguments.number("variablesReference"))
    return {"variables": await container.rows(arguments)}


@post_mortem("evaluate")
async def evaluate(adapter: Adapter, arguments: Arguments) -> Body:
    """A name of a Python frame's; nothing can be computed in a core."""
    name = arguments.text("expression").strip()
    if "frameId" in arguments:
        handle = adapter.tables.frames.get(arguments.number("frameId"))
        pairs = () if isinstance(handle.frame, NativeFrame) else adapter.core.locals(handle.tid, handle.frame)
        for known, text in pairs:
            if known == name:
                return {"result": text, "variablesReference": 0}
    raise EvaluationError(
        f"{name[:80]} is no local of this frame, and {_NOTHING_RUNS}", "the locals are in the variables view"
    )


@post_mortem("completions")
async def completions(adapter: Adapter, arguments: Arguments) -> Body:
    return {"targets": []}


@post_mortem("exceptionInfo")
async def exception_info(adapter: Adapter, arguments: Arguments) -> Body:
    return {
        "exceptionId": "core",
        "description": "\n".join(adapter.core.report.notes),
        "breakMode": "unhandled",
    }


@post_mortem("readMemory")
async def read_memory(adapter: Adapter, arguments: Arguments) -> Body:
    address = arguments.address("memoryReference") + arguments.number("offset", 0)
    count = min(arguments.number("count"), MAXIMUM)
    if count < 0 or address < 0:
        raise UsageError(f"readMemory: {count} bytes at {address:#x} cannot be meant")
    data = adapter.core.read(address, count)
    body: dict[str, Any] = {"address": f"{address:#x}"}
    if data:
        body["data"] = base64.b64encode(data).decode("ascii")
    if len(data) < count:
        body["unreadableBytes"] = count - len(data)
    return body


@post_mortem("modules")
async def modules(adapter: Adapter, arguments: Arguments) -> Body:
    start, count = max(arguments.number("startModule", 0), 0), arguments.number("moduleCount", 0)
    rows = [
        {
            "id": one.path,
            "name": PurePath(one.path).name,
            "path": adapter.paths.to_client(one.path),
            "addressRange": f"{one.start:#x}-{one.end:#x}",
            "symbolStatus": one.trouble or "names by dualdbg",
        }
        for one in adapter.core.captured.modules
    ]
    return {"modules": rows[start : start + count if count > 0 else None], "totalModules": len(rows)}


@post_mortem("loadedSources")
async def loaded_sources(adapter: Adapter, arguments: Arguments) -> Body:
    files = {
        frame.file: None
        for thread in adapter.core.report.threads
        for frame in thread.stack.visible()
        if frame.file is not None and not frame.file.startswith("<")
    }
    return {"sources": [adapter.sources.of_file(file) for file in files]}


@post_mortem("terminate")
async def terminate(adapter: Adapter, arguments: Arguments) -> Body:
    adapter.over()
    return None
