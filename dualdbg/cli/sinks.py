"""Where reports go: text for people or JSON lines, on our standard output."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Callable

from ..console.reports import Report

Sink = Callable[[Report], None]


def sink(json: bool) -> Sink:
    """What writes each report as soon as it is there."""
    render = _json() if json else _text()

    def show(report: Report) -> None:
        text = render(report)
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()

    return show


def _json() -> Callable[[Report], str]:
    from .json_lines import line

    return line


def _text() -> Callable[[Report], str]:
    from ..console.printer import Printer
    from ..console.style import Style

    style = Style.of(sys.stdout)

    def coloured(file: str, first: int, lines: list[str]) -> list[str]:
        from ..console.highlight import highlight

        return highlight(file, first, lines) if style.colour else lines

    return Printer(style, lambda file, line: linecache.getline(file, line) or None, coloured).render
