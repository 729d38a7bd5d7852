"""Source files as lines with looks. Reading and colouring may take long: both belong in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_for_filename
from pygments.token import Token, _TokenType
from pygments.util import ClassNotFound

from ...system.source_files import source_text
from .looks import Part

_LARGEST = 2_000_000  # characters; a longer file is shown without colours
_TAB = 8


@dataclass(frozen=True)
class SourceText:
    """A file as it was read. ``parts`` has the coloured lines, and is empty until they are made."""

    path: str
    lines: tuple[str, ...]
    width: int
    parts: tuple[tuple[Part, ...], ...] = ()

    def line(self, index: int) -> tuple[Part, ...]:
        """A line, counted from 0, coloured if that has been done."""
        if self.parts:
            return self.parts[index]
        return ((self.lines[index], ""),)


def stamp(path: str) -> float | None:
    """When the file was last changed; None when there is none."""
    try:
        return Path(path).stat().st_mtime
    except OSError:
        return None


def read(path: str) -> SourceText | None:
    """The file without colours; None when it cannot be read."""
    text = source_text(path)
    if text is None:
        return None
    lines = tuple(line.expandtabs(_TAB) for line in _split(text))
    return SourceText(path, lines, max(map(len, lines), default=0))


def coloured(source: SourceText) -> SourceText:
    """The same with colours, where its kind of file is known."""
    text = "\n".join(source.lines)
    lexer = _lexer(source.path, text)
    if lexer is None or len(text) > _LARGEST:
        return source
    parts = tuple(_coloured_lines(text, lexer))
    if len(parts) < len(source.lines):
        return source
    return SourceText(source.path, source.lines, source.width, parts[: len(source.lines)])


def _split(text: str) -> list[str]:
    """As editors and compilers count lines: only line feeds end one."""
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    return lines


def _lexer(path: str, text: str) -> Lexer | None:
    try:
        lexer: Lexer = get_lexer_for_filename(path, text[:4000], stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    return lexer


def _coloured_lines(text: str, lexer: Lexer) -> Iterator[tuple[Part, ...]]:
    line: list[Part] = []
    for token, value in lexer.get_tokens(text):
        look = _look(token)
        first, *rest = value.split("\n")
        if first:
            line.append((first, look))
        for piece in rest:
            yield tuple(line)
            line = [(piece, look)] if piece else []
    yield tuple(line)


def _look(token: _TokenType) -> str:
    known: _TokenType | None = token
    while known is not None:
        if known in _LOOKS:
            return _LOOKS[known]
        known = known.parent
    return ""


_LOOKS = {
    Token.Comment: "comment",
    Token.Comment.Preproc: "preprocessor",
    Token.Comment.PreprocFile: "string",
    Token.Keyword: "keyword",
    Token.Keyword.Constant: "constant",
    Token.Keyword.Type: "type",
    Token.Literal.Number: "number",
    Token.Literal.String: "string",
    Token.Name.Builtin: "builtin",
    Token.Name.Class: "type",
    Token.Name.Decorator: "preprocessor",
    Token.Name.Exception: "builtin",
    Token.Name.Function: "function",
    Token.Operator.Word: "keyword",
}
