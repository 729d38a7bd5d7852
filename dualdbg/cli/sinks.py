"""Where the command line's reports go: to our standard output, by the printer or as JSON lines."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..console.reports import Report
    from .pager import Pager


class Sink:
    """Writes each report as soon as it is there. Made in the event loop.

    ``broken`` raises the OSError of an output that nobody reads any more; later reports are dropped. ``pager`` is that
    of a prompt.
    """

    def __init__(self, render: Callable[[Report], str]) -> None:
        self._render = render
        self.pager: Pager | None = None
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def __call__(self, report: Report) -> None:
        if self.broken.done():
            return
        text = self._render(report)
        self.write(text if self.pager is None else self.pager.passed(report, text))

    def write(self, text: str) -> None:
        """Write what a report was made to."""
        if not text or self.broken.done():
            return
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except OSError as error:  # EPIPE: the reader is gone; EIO: the terminal is
            self.broken.set_exception(error)
            self.broken.exception()  # looked at here: nobody else has to


def sink(json: bool) -> Sink:
    """JSON lines or text for people."""
    return Sink(_json() if json else _text())


def _json() -> Callable[[Report], str]:
    from .json_lines import line

    return line


def _text() -> Callable[[Report], str]:
    printer = cache(_printer)  # made for the first report, when the program and gdb have been started
    return lambda report: printer()(report)


def _printer() -> Callable[[Report], str]:
    from ..console.printer import Printer
    from ..console.style import Style
    from ..system.source_files import source_line

    style = Style.of(sys.stdout)

    def coloured(file: str, first: int, lines: list[str]) -> list[str]:
        from ..console.highlight import highlight

        return highlight(file, first, lines) if style.colour else lines

    return Printer(style, source_line, coloured).render
