"""``info`` and its words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ...errors import CommandError
from ...model import BreakpointKind, NativeFrame
from ...session.breakpoints.compiled_ways import kernels_of
from ...system.in_thread import in_thread
from ..reports import LibrariesReport, Mapped, TextReport
from .at_stops import display
from .breakpoints import breakpoints_report, with_file
from .registry import command, no_argument
from .stacks import frame as frame_command
from .threads import threads as threads_command
from .values import args, locals_, registers

if TYPE_CHECKING:
    from ..console import Console

_PYTHON_LINE = re.compile(r"\.pyw?:\d+$")
_WATCHES = (BreakpointKind.WATCH, BreakpointKind.DATA, BreakpointKind.PYTHON_WATCH)
_MOST_PLACES = 20  # of a name in symbol tables


@command(
    "info i",
    "breakpoints | threads | locals | args | registers | frame | source | line [LOCATION] | symbol ADDRESS | libs"
    " | sharedlibrary | compiled WHAT | display | watchpoints",
    "show something of the session",
    completes="info",
    knows=lambda argument: any(name.startswith(argument.partition(" ")[0]) for name in _INFO),
)
async def info(console: Console, argument: str) -> None:
    word, _, rest = argument.partition(" ")
    names = [name for name in _INFO if name.startswith(word)]
    if not word or not names:
        near = difflib.get_close_matches(word, _INFO, 2, 0.5) if word else []
        raise CommandError(
            f"info does not know {word!r}" if word else "info wants to know what",
            f"{'nearest: ' + ', '.join(near) + '; ' if near else ''}info {' | '.join(_INFO)}; gdb info … asks gdb",
        )
    await _INFO[names[0]](console, rest.strip())


async def _breakpoints(console: Console, argument: str) -> None:
    console.show(breakpoints_report(console, console.session.breakpoints.all()))


async def _watchpoints(console: Console, argument: str) -> None:
    no_argument("info watchpoints", argument)
    rows = [row for row in console.session.breakpoints.all() if row.spec.kind in _WATCHES]
    console.show(breakpoints_report(console, rows) if rows else TextReport("No watchpoints.\n"))


async def _displays(console: Console, argument: str) -> None:
    no_argument("info display", argument)
    await display(console, "")


async def _libraries(console: Console, argument: str) -> None:
    modules = sorted(console.session.breakpoints.image.modules, key=lambda module: module.start)
    rows = [Mapped(module.start, module.end, module.path) for module in modules if argument in module.path]
    console.show(LibrariesReport(tuple(rows)))


async def _compiled(console: Console, argument: str) -> None:
    """``info compiled``: the kernels that torch.compile has made of a function or line, and the lines of a kernel."""
    if not argument:
        raise CommandError(
            "info compiled wants a function, FILE:LINE, or a kernel",
            "for example info compiled step, or model.py:12",
        )
    console.show(TextReport(await kernels_of(console.session.breakpoints.image, argument)))


async def _symbol(console: Console, argument: str) -> None:
    """``info symbol ADDRESS``: the function or variable there, how far behind its beginning, and its library."""
    if not argument:
        raise CommandError("info symbol wants an address", "for example info symbol $pc")
    address = await console.in_gdb(lambda gdb: gdb.address(argument))
    image = console.session.breakpoints.image
    function, library = image.describe(address)
    if library is None:
        raise CommandError(f"no file is mapped at {address:#x}", "info libs lists what is")
    start = image.function_start(address + 1)
    offset = f" + {address - start}" if start is not None and start != address else ""
    console.show(TextReport(f"{address:#x} is {function or 'no function known'}{offset} in {library}\n"))


async def _source(console: Console, argument: str) -> None:
    """``info source``: the file, line and language of the selected frame, and of no other place."""
    no_argument("info source", argument)
    frame = await console.frame()
    native = frame if isinstance(frame, NativeFrame) else None
    rows = [f"function  {frame.function or 'not known'}"]
    rows.append(f"source    {f'{frame.file}:{frame.line}' if frame.file else 'not known: no debug info'}")
    rows.append(f"language  {(native.source_language or 'native') if native is not None else 'Python'}")
    rows += [f"address   {native.pc:#x}", f"library   {native.library}"] if native is not None else []
    console.show(TextReport("".join(f"{row}\n" for row in rows)))


async def _line(console: Console, argument: str) -> None:
    """``info line``: where the code of a native line or function is, or which line an address belongs to."""
    if not argument:
        await _source(console, "")
        return
    if console.stopped:
        argument = await with_file(console, argument)
    if _PYTHON_LINE.search(argument):
        raise CommandError(
            f"{argument} is a line of Python, which is at no address", "list shows it, break stops there"
        )
    try:
        console.show(TextReport(await console.in_gdb(lambda gdb: gdb.code_of_line(argument))))
    except CommandError as error:
        image = console.session.breakpoints.image
        places = await in_thread(image.find, argument)
        if not places:
            raise
        rows = [
            f"{one.address:#x} {one.symbol.short_name} in {one.module.path}\n"
            for one in places[:_MOST_PLACES]
        ]
        more = f"and {len(places) - len(rows)} more\n" if len(places) > len(rows) else ""
        console.show(
            TextReport(
                f"No line is known, {error.message.rstrip('.')}. By the symbol table:\n{''.join(rows)}{more}"
            )
        )


_INFO: dict[str, Callable[[Console, str], Awaitable[None]]] = {
    "breakpoints": _breakpoints,
    "threads": threads_command,
    "locals": locals_,
    "registers": registers,
    "args": args,
    "frame": frame_command,
    "libs": _libraries,
    "compiled": _compiled,
    "source": _source,
    "symbol": _symbol,
    "line": _line,
    "display": _displays,
    "watchpoints": _watchpoints,
    "sharedlibrary": _libraries,
}


INFO_WORDS = tuple(_INFO)
