"""Source lines in colour. A file is coloured as a whole, so that a line inside a long string gets its colour."""

from __future__ import annotations

import functools

from ..system.source_files import source_text
from ..system.terminal_text import visible_text

_LARGEST = 400_000  # characters; a longer file is shown without colours rather than late


def highlight(file: str, first: int, lines: list[str]) -> list[str]:
    """``lines``, which begin at line ``first`` of ``file``, with the terminal's own sixteen colours."""
    coloured = _coloured(file, visible_text(source_text(file) or ""))
    if len(coloured) < first - 1 + len(lines):
        return lines
    return list(coloured[first - 1 : first - 1 + len(lines)])


@functools.lru_cache(maxsize=8)
def _coloured(file: str, text: str) -> tuple[str, ...]:
    if not text or len(text) > _LARGEST:
        return ()
    from pygments import highlight as colour
    from pygments.formatters import TerminalFormatter
    from pygments.lexers import get_lexer_for_filename
    from pygments.util import ClassNotFound

    try:
        lexer = get_lexer_for_filename(file, text, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return ()
    return tuple(colour(text, lexer, TerminalFormatter()).split("\n"))
