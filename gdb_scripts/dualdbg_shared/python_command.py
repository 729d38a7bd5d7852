"""What a command line has an interpreter of Python run. Pure; CPython 3.8 and later: it is used in the target too."""

from __future__ import annotations

import re
from typing import List, NamedTuple, Optional, Sequence

# Options of one letter that take a value, in the same word or the next one; -c and -m end the options (getopt.c).
_WITH_VALUE = "WX"
_LONG_WITH_VALUE = ("--check-hash-based-pycs",)

# Options with which the interpreter reads neither PYTHONPATH nor `site`. They may be joined with others (-IB).
_WITHOUT_SITE = re.compile(r"-[^-cmWX]*[SEI]")


class Run(NamedTuple):
    """``options`` of the interpreter, and what they are followed by: ``-m``, a module and its arguments; a script."""

    options: List[str]
    rest: List[str]


def read(words: Sequence[str]) -> Run:
    """The command line of an interpreter, its own name first."""
    options: List[str] = []
    at = 1
    while at < len(words):
        word = words[at]
        if word == "-" or not word.startswith("-"):
            break
        if word == "--":
            at += 1
            break
        if not word.startswith("--"):
            found = re.match(r"-([^cmWX]*)([cmWX])(.*)", word, re.DOTALL)
            if found is not None and found[2] in "cm":
                before = ["-" + found[1]] if found[1] else []
                value = [found[3]] if found[3] else []
                return Run(options + before, ["-" + found[2], *value, *words[at + 1 :]])
            takes_next = found is not None and found[2] in _WITH_VALUE and not found[3]
        else:
            takes_next = word in _LONG_WITH_VALUE
        options.append(word)
        at += 1
        if takes_next and at < len(words):
            options.append(words[at])
            at += 1
    return Run(options, list(words[at:]))


def without_site(options: Sequence[str]) -> Optional[str]:
    """The first option that keeps what PYTHONPATH names out of the interpreter; None where there is none."""
    return next((word for word in options if _WITHOUT_SITE.match(word)), None)


def with_site(words: Sequence[str]) -> List[str]:
    """The command line of an interpreter, without what :func:`without_site` finds in it."""
    command = read(words)
    kept = [re.sub("[SEI]", "", word) if _WITHOUT_SITE.match(word) else word for word in command.options]
    return [*words[:1], *(word for word in kept if word != "-"), *command.rest]


def runs(words: Sequence[str], flags: Sequence[str], what: Sequence[str]) -> bool:
    """Whether a command line has an interpreter run ``what``: a script, or ``-m`` or ``-c`` and a value.

    ``flags`` are words that may stand before it, the last ones of them: ``-m coverage run`` is given as options.
    """
    rest = read(words).rest
    wanted = [[*flags[at:], *what] for at in range(len(flags) + 1)]
    return any(rest[: len(one)] == one for one in wanted)
