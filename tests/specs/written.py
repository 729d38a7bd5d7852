"""A spec written as text in its normal form: what ``parse_spec`` reads back as the same spec."""

from __future__ import annotations

import re

from dualdbg.model import BreakpointSpec
from dualdbg.symbols.locspec.locspec import locspec_text


def to_text(spec: BreakpointSpec) -> str:
    parts = [locspec_text(spec)]
    if spec.temporary:
        parts.append("temporary")
    if spec.hits is not None:
        parts.append(f"hits {spec.hits}")
    if spec.thread is not None:
        parts.append(f"thread {_thread_text(spec.thread)}")
    if spec.log is not None:
        parts.append(f"log {_quoted(spec.log)}")
    if spec.condition is not None:
        parts.append(f"if {spec.condition}")
    return " ".join(parts)


def _quoted(text: str) -> str:
    for letter, name in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\t", "\\t")):
        text = text.replace(letter, name)
    return f'"{text}"'


def _thread_text(thread: str) -> str:
    return thread if re.fullmatch(r"[\w.:/-]+", thread) else _quoted(thread)
