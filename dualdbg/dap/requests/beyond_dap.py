"""Requests of debugpy that the protocol does not have.

What runs there; cells of a notebook as lines of a file; how stops are told and what is not traced.
"""

from __future__ import annotations

import contextlib
from importlib.metadata import version

from ...errors import DualdbgError
from ...target.launcher import BOOTSTRAP, debugpy_package
from ..adapter import Adapter
from ..client.arguments import Arguments
from ..presentation.sources import Cell
from ..registry import request
from ..stages import CONFIGURABLE


@request("debugpySystemInfo", CONFIGURABLE)
async def debugpy_system_info(adapter: Adapter, arguments: Arguments) -> dict[str, object]:
    """Versions of debugpy and Python, the system and the process; of debugpy alone while nothing else can be asked."""
    found: dict[str, object] = {"debugpy": {"version": version("debugpy")}}
    with contextlib.suppress(DualdbgError):
        found.update(await adapter.session.inspector.relay("pydevdSystemInfo", {}))
    return found


@request("setPydevdSourceMap", CONFIGURABLE)
async def set_pydevd_source_map(adapter: Adapter, arguments: Arguments) -> dict[str, object]:
    """Which lines of a file stand for which of code that was compiled under other names (``<cell1>``)."""
    source = arguments.object("source")
    theirs = adapter.sources.remember(source.text("path"))
    rows = arguments.objects("pydevdSourceMaps")
    cells = [
        Cell(
            theirs,
            row.number("line"),
            row.number("endLine"),
            row.object("runtimeSource").text("path"),
            row.number("runtimeLine"),
        )
        for row in rows
    ]
    asked = {"source": {**source.values, "path": theirs}, "pydevdSourceMaps": [row.values for row in rows]}
    answer = await adapter.session.inspector.relay("setPydevdSourceMap", asked)
    adapter.sources.set_cells(theirs, cells)
    return answer


@request("setDebuggerProperty", CONFIGURABLE)
async def set_debugger_property(adapter: Adapter, arguments: Arguments) -> None:
    """How debugpy is to behave: Visual Studio sends it. What debugpy takes no notice of is accepted, as there.

    Whether a condition that fails stops is not asked of debugpy: it stops for none, and the user is told.
    """
    starts, ends = (arguments.texts(f"dontTrace{where}Patterns") for where in ("Start", "End"))
    if starts or ends:
        # They take the place of what the program's start has set: the debugger's own files stay among them.
        starts += [str(debugpy_package()), str(BOOTSTRAP)]
        asked = {"dontTraceStartPatterns": starts, "dontTraceEndPatterns": ends}
        await adapter.session.inspector.relay("setDebuggerProperty", asked)
    if "multiThreadsSingleNotification" in arguments:
        adapter.pump.thread_by_thread = not arguments.flag("multiThreadsSingleNotification")
