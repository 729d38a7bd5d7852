"""source, modules and loadedSources: what there is to look at besides files."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, cast

from ...errors import CommandError, EngineLost, UsageError
from ...model import State
from ...protocol import dap_types as dap
from ...symbols.address_space import Module
from ...symbols.gdb_feed.policy import Load, human_size
from ..adapter import Adapter
from ..client.arguments import Arguments
from ..registry import request
from ..stages import CONFIGURABLE

_STATUS = {
    Load.WHOLE: "all symbols and debug information, read by gdb",
    Load.UNWIND: "names by dualdbg; gdb reads the unwind table only",
    Load.SKIP: "not read",
}


class ShownModule(dap.Module, total=False):
    """A native library, with the columns that our capabilities name (``additionalModuleColumns``)."""

    symbols: str
    size: str


@request("source", looks=True)
async def source(adapter: Adapter, arguments: Arguments) -> dap.SourceResponseBody:
    number = arguments.number("sourceReference", 0) or arguments.object("source").number("sourceReference", 0)
    if not number:
        raise UsageError(
            "Source unavailable: a source with a path is read by the editor itself",
            "ask by its sourceReference",
        )
    return {"content": await adapter.sources.text(number)}


@request("modules", CONFIGURABLE, looks=True, capabilities=("supportsModulesRequest",))
async def modules(adapter: Adapter, arguments: Arguments) -> dap.ModulesResponseBody:
    """The native libraries of the process, and debugpy's Python modules."""
    start = max(arguments.number("startModule", 0), 0)
    count = arguments.number("moduleCount", 0)
    image = adapter.session.breakpoints.image
    image.refresh()
    native = [_module(adapter, one) for one in image.modules]
    rows: list[dap.Module] = [*native, *await _python_modules(adapter)]
    end = start + count if count > 0 else None
    return {"modules": rows[start:end], "totalModules": len(rows)}


def _module(adapter: Adapter, one: Module) -> ShownModule:
    row: ShownModule = {
        "id": one.path,
        "name": PurePath(one.path).name,
        "path": adapter.client.paths.to_client(one.path),
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


async def _python_modules(adapter: Adapter) -> list[dap.Module]:
    if adapter.session.state is not State.PYTHON_STOPPED:
        return []
    answer = await adapter.session.inspector.relay("modules", {})
    rows: list[dict[str, Any]] = answer.get("modules", [])
    for row in rows:
        row["id"] = f"python:{row['id']}"
        if row.get("package") == "None":  # pydevd's text of __package__, which a script does not have
            del row["package"]
        if row.get("path"):
            row["path"] = adapter.client.paths.to_client(row["path"])
    return cast(list[dap.Module], rows)


async def tell_python_modules(adapter: Adapter) -> None:
    """Tell of the modules that debugpy has met by now: those of frames that it has shown."""
    try:
        rows = await _python_modules(adapter)
    except (CommandError, EngineLost):  # it runs again, or has ended
        return
    for row in adapter.module_news.untold(rows):
        adapter.connection.event("module", {"reason": "new", "module": row})


@request("loadedSources", CONFIGURABLE, looks=True, capabilities=("supportsLoadedSourcesRequest",))
async def loaded_sources(adapter: Adapter, arguments: Arguments) -> dap.LoadedSourcesResponseBody:
    """The files of the frames on the stack and of debugpy's modules: what a user may want to open now."""
    session = adapter.session
    found: dict[str, dap.Source] = {}
    for row in await _python_modules(adapter):
        if row.get("path"):
            file = adapter.client.paths.to_target(row["path"])
            found[file] = adapter.sources.of_file(file)
    if session.state in (State.PYTHON_STOPPED, State.NATIVE_STOPPED):
        for frame in (await session.inspector.stack()).visible():
            if frame.file is not None and not frame.file.startswith("<"):
                found[frame.file] = adapter.sources.of_file(frame.file)
    return {"sources": list(found.values())}
