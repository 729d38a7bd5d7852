"""Hints that name options of the command line or keys of the prompt, in an editor's words. Pure."""

from __future__ import annotations

import re

_VALUE = r"(?P<value>[^\s,;)]+?)(?=[.,;)]?(?:\s|$))"

_COMMAND = r"(?:info \w+|threads|thaw \d+|py repr\(EXPRESSION\)|interrupt|break throw)"

# How a hint says it, and how a user of an editor does it: the attributes of a configuration.
_WORDS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (rf"--python {_VALUE}", r'"python": "\g<value>"'),
        (r"--python\b", '"python"'),
        (rf"--gdb {_VALUE}", r'"gdb": "\g<value>"'),
        (rf"--follow {_VALUE}", r'"followChildren": "\g<value>"'),
        (r"dualdbg run --all-code", '"justMyCode": false'),
        (r"type it again with --fix-ptrace", 'set "fixPtrace": true'),
        (r"--fix-ptrace\b", '"fixPtrace": true'),
        (r": press Ctrl-C, or type pause", ""),
        (r"Ctrl-C", "pause"),
        (r"\btype (continue|pause)\b", r"\g<1>"),
        (r"\btype quit\b", "stop debugging"),
        (r"\btype detach\b", "disconnect"),
        (r"\bup and down select\b", "select"),
        (
            rf"(?:^|(?<=; )){_COMMAND}(?= (?:lists?|lets?|runs?|shows?|stops?)\b)",
            r"`\g<0> in the debug console",
        ),
    )
)


def for_an_editor(text: str) -> str:
    """The same advice for someone who sits before an editor."""
    for pattern, words in _WORDS:
        text = pattern.sub(words, text)
    return text
