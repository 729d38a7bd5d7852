"""source, modules and loadedSources: what there is to look at besides files."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from ...model import State
from ...symbols.image import Module
from ...symbols.policy import Load, human_size
from ..arguments import Arguments
from ..registry import CONFIGURABLE, Body, request

if TYPE_CHECKING:
    from ..adapter import Adapter

_STATUS = {
    Load.WHOLE: "all symbols and debug information, read by gdb",
    Load.UNWIND: "names by dualdbg; gdb reads the unwind table only",
    Load.SKIP: "not read",
}


@request("source")
async def source(adapter: Adapter, arguments: Arguments) -> Body:
    number = arguments.number("sourceReference", 0) or arguments.object("source").number("sourceReference", 0)
    if not number:
        raise UsageError("source: a source with a path is read by the editor itself")
    return {"content": await adapter.sources.text(number)}


@request("modules", CONFIGURABLE)
async def modules(adapter: Adapter, arguments: Arguments) -> Body:
    """The native libraries of the process, and debugpy's Python modules."""
    start = max(arguments.number("startModule", 0), 0)
    count = arguments.number("moduleCount", 0)
    image = adapter.session.breakpoints.image
    image.refresh()
    rows = [_module(adapter, one) for one in image.modules]
    rows += await _python_modules(adapter)
    end = start + count if count > 0 else None
    return {"modules": rows[start:end], "totalModules": len(rows)}


def _module(adapter: Adapter, one: Module) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": one.path,
        "name": PurePath(one.path).name,
        "path": adapter.paths.to_client(one.path),
        "addressRange": f"{one.start:#x}-{one.end:#x}",
    }
    if one.library is None:
        row["symbolStatus"] = one.trouble or "cannot be read"
        return row
    decision = adapter.session.inspector.reader.load_of(one)
    row["symbolStatus"] = _STATUS[decision]
    row["symbols"] = decision.value
    row["size"] = human_size(one.library.size)
    return row


async def _python_modules(adapter: Adapter) -> list[dict[str, Any]]:
    if adapter.session.state is not State.PYTHON_STOPPED:
        return []
    answer = await adapter.session.inspector.ask("modules", {})
    return [{**row, "id": f"python:{row['id']}"} for row in answer.get("modules", ())]


@request("loadedSources", CONFIGURABLE)
async def loaded_sources(adapter: Adapter, arguments: Arguments) -> Body:
    """The files of the frames on the stack and of debugpy's modules: what a user may want to open now."""
    session = adapter.session
    found: dict[str, dict[str, Any]] = {}
    for row in await _python_modules(adapter):
        if row.get("path"):
            found[row["path"]] = adapter.sources.of_file(row["path"])
    if session.state in (State.PYTHON_STOPPED, State.NATIVE_STOPPED):
        for frame in (await session.inspector.stack()).visible():
            if frame.file is not None and not frame.file.startswith("<"):
                found[frame.file] = adapter.sources.of_file(frame.file)
    return {"sources": list(found.values())}
