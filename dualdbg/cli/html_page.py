"""The page of every report as HTML: one file, which fetches nothing and runs nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from ..system.terminal_text import visible, visible_text

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 15px/1.45 system-ui, sans-serif; max-width: 75rem; margin: 2rem auto; padding: 0 1rem }}
h1 {{ font-size: 1.3rem }} h2 {{ font-size: 1.05rem; margin: 1.5rem 0 .4rem }}
pre, td, code {{ font: 13px/1.5 ui-monospace, monospace }}
pre {{ overflow-x: auto; padding: .6rem; border: 1px solid #8886; border-radius: .3rem; white-space: pre-wrap }}
table {{ border-collapse: collapse }} td {{ padding: 0 .8rem 0 0; vertical-align: top; overflow-wrap: anywhere }}
summary {{ cursor: pointer; margin: .3rem 0 }}
.crashed > summary {{ font-weight: bold }}
.python {{ color: #0a7d32 }} .native {{ color: #0b6a8f }} .glue, .place, .plumbing {{ color: #777 }}
@media (prefers-color-scheme: dark) {{ .python {{ color: #5fd38a }} .native {{ color: #62c6ea }} }}
td:first-child {{ white-space: nowrap }}
.variables td:first-child {{ padding-left: 4rem }}
</style>
</head>
<body>
"""


def page(title: str, parts: Iterable[str]) -> str:
    """The whole file. The ``parts`` are HTML already."""
    begin = [_HEAD.format(title=one(title)), f"<h1>{one(title)}</h1>"]
    return "\n".join([*begin, *parts, "</body>", "</html>", ""])


def table(rows: list[tuple[str, str]], kind: str = "") -> str:
    """A name and a value in each row, which are plain text."""
    attribute = f' class="{kind}"' if kind else ""
    cells = "".join(f"<tr><td>{one(name)}</td><td>{one(value)}</td></tr>" for name, value in rows)
    return f"<table{attribute}>{cells}</table>"


def one(text: str) -> str:
    """Plain text of one line, as HTML."""
    return escape(visible(text))


def several(text: str) -> str:
    """Plain text of several lines, as HTML."""
    return escape(visible_text(text))
