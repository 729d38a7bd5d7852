"""The breakpoint spec language: from what the user typed to a BreakpointSpec, and back.

    SPEC   = PLACE { SUFFIX }
    SUFFIX = "temporary" | "tbreak" | "fast" | "count" | "trace" | "time" | "hits" [COMPARISON] N | "thread" T
           | "log" STRING | "outermost" FUNCTION | "if" CONDITION

The places are in ``locspec.py``. Everything here is text: no file, process or library is looked at. The one question
about the target, ``is_operator``, is answered by the caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from ...errors import SpecError
from ...model import MOST_HITS, BreakpointKind, BreakpointSpec, Language, Layer
from .function_names import SUFFIXES, Problem
from .hit_conditions import check_hit_condition
from .locspec import locspec_text, parse_locspec

_KEYWORD = re.compile(
    r"\s(?P<word>temporary|tbreak|fast|count|trace|time|hits|thread|log|outermost|if)(?=\s|$|\")"
)
_OPENING = {"(": ")", "[": "]", "{": "}"}


def parse_spec(text: str, is_operator: Callable[[str], bool] | None = None) -> BreakpointSpec:
    """What the user means by ``text``.

    ``is_operator`` says whether a name (``randn``, ``aten::mm``) is an operator of the PyTorch that will be
    debugged; without it (no PyTorch found) a bare name is a function.

    :raises SpecError: the text cannot be read; the message shows where, the hint what to type instead.
    """
    try:
        return _parse(text, is_operator or (lambda _name: False))
    except Problem as problem:
        raise _spec_error(text, problem) from None


def spec_text(spec: BreakpointSpec) -> str:
    """A spec in its normal form, with all suffixes: :func:`parse_spec` reads it back as the same spec."""
    return " ".join([locspec_text(spec), *spec.suffixes])


def specs_in(line: str) -> list[str]:
    """The specs of a line that has several of them, with white space between.

    One in quotes may have spaces itself; a suffix goes with the spec before it, and takes the rest of the line.
    Raises SpecError.
    """
    found = []
    rest = line.strip()
    while rest:
        quote = rest[0] if rest[0] in "'\"" else ""
        end = rest.find(quote, 1) if quote else next(_top_level(rest, 0), len(rest))
        if end < 0:
            raise SpecError(f"the quote is not closed: {rest}", "quotes are for a spec with spaces in it")
        spec, rest = rest[len(quote) : end], rest[end + len(quote) :].strip()
        if not quote and _KEYWORD.match(f" {rest}"):
            spec, rest = f"{spec} {rest}", ""
        found.append(spec)
    return found


def same_place(first: BreakpointSpec, second: BreakpointSpec, directory: str = ".") -> bool:
    """Whether two specs name the same place: see :func:`place_key`."""
    return place_key(first, directory) == place_key(second, directory)


def place_key(spec: BreakpointSpec, directory: str = ".") -> tuple[object, ...]:
    """What two specs have in common that name the same place, whatever their suffixes.

    Relative paths are taken from ``directory``. ``randn``, ``aten::randn`` and ``randn@kernel`` are one.
    """
    subject = spec.subject
    if spec.line is not None:
        return (spec.kind, _normal_path(subject, directory), spec.line)
    if spec.kind is BreakpointKind.OPERATOR:
        layer = spec.layer or Layer.KERNEL
        return (spec.kind, spec.namespace or "aten", subject, spec.overload, layer)
    if spec.kind is BreakpointKind.FUNCTION:
        subject = re.sub(r"\s+", "", subject.removeprefix("::"))
    return (spec.kind, subject, spec.access)


def _normal_path(path: str, directory: str) -> tuple[str, ...]:
    parts: list[str] = []
    for part in PurePosixPath(directory, path).parts:
        if part == ".." and parts and parts[-1] not in ("..", "/"):
            parts.pop()
        else:
            parts.append(part)
    return tuple(parts)


def _parse(text: str, is_operator: Callable[[str], bool]) -> BreakpointSpec:
    if not text.strip():
        raise Problem(
            "an empty breakpoint spec", 0, "name an operator, a function or FILE:LINE, for example randn"
        )
    start = len(text) - len(text.lstrip())
    body = text.rstrip()
    first: Problem | None = None
    # A keyword may be part of the place (a folder named "what if"), so the first split that can be read decides.
    for cut in _cuts(body, start):
        try:
            spec = parse_locspec(body[start:cut].rstrip(), is_operator)
        except Problem as problem:
            first = first or problem.shifted(start)
            continue
        return _with_suffixes(spec, body, cut)
    raise first or Problem("nothing here can be read as a place", start, "")


def _cuts(body: str, start: int) -> Iterator[int]:
    """Where the place may end: before each keyword outside brackets and quotes, and at the end."""
    for at in _top_level(body, start):
        if _KEYWORD.match(body, at):
            yield at
    yield len(body)


def _top_level(body: str, start: int) -> Iterator[int]:
    """The positions of white space outside brackets and double quotes."""
    closers: list[str] = []
    quoted = escaped = False
    for at in range(start, len(body)):
        letter = body[at]
        if quoted:
            quoted = escaped or letter != '"'
            escaped = letter == "\\" and not escaped
        elif letter == '"':
            quoted = True
        elif letter in _OPENING:
            closers.append(_OPENING[letter])
        elif closers and letter == closers[-1]:
            closers.pop()
        elif letter.isspace() and not closers:
            yield at


def _with_suffixes(spec: BreakpointSpec, body: str, at: int) -> BreakpointSpec:
    seen: set[str] = set()
    while at < len(body):
        match = _KEYWORD.match(body, at)
        if match is None:
            raise Problem(
                f"{body[at:].strip()!r} is not a suffix",
                _next_word(body, at),
                f"suffixes: {SUFFIXES}",
            )
        word = match["word"]
        field = _FIELD_OF[word]
        if field in seen:
            raise Problem(f"a second {word!r}", match.start("word"), "give each suffix once")
        seen.add(field)
        value, at = _READERS[field](body, match.end())
        if field == "hits" and isinstance(value, str):
            field = "hit_condition"
        if field in ("fast", *_COUNTING) and spec.language is Language.PYTHON:
            raise Problem(
                f"{word!r} is for native code", match.start("word"), "leave it out: Python is asked itself"
            )
        if field in _COUNTING and spec.kind in _UNTRACED:
            raise Problem(f"{word!r} is for functions and lines", match.start("word"), "name one")
        if field == "outermost" and spec.language is Language.PYTHON and "::" in value:
            raise Problem(
                "'outermost' wants a function of Python at a place in Python",
                match.start("word"),
                "for example outermost package.module.function",
            )
        if seen >= {"counts", "records"}:
            raise Problem("'trace' counts too", match.start("word"), "leave 'count' out")
        spec = replace(spec, **{field: value})
        spec = replace(spec, counts=spec.counts or spec.records)
        if spec.fast and spec.outermost is not None:
            raise Problem(
                "'fast' does not go with 'outermost': the stack is not looked at in the process",
                match.start("word"),
                "leave one of them out",
            )
        if spec.counts and not seen.isdisjoint(_STOPPING):
            counting = "trace" if spec.records else "count"
            raise Problem(
                f"{counting!r} goes with 'if' and 'thread' alone: it never stops",
                match.start("word"),
                f"for example {spec.text} {counting} if $rdi > 4096",
            )
    if spec.times and not spec.counts:
        raise Problem(
            "'time' goes with 'trace' or 'count'", _next_word(body, at), f"for example {spec.text} trace time"
        )
    return spec


def _read_nothing(_body: str, at: int) -> tuple[bool, int]:
    return True, at


def _read_hits(body: str, at: int) -> tuple[int | str, int]:
    """From which hit on; or, with a comparison, which hits."""
    match = re.compile(r"\s+(?P<sign>[=!<>%]{1,2})?(?(sign)\s*)(?P<count>\d{1,18})(?=\s|$)").match(body, at)
    if match is not None and match["sign"]:
        try:
            return check_hit_condition(match[0]), match.end()
        except SpecError as error:
            raise Problem(error.message, _next_word(body, at), error.hint) from None
    if match is None or int(match["count"]) < 1:
        raise Problem(
            "'hits' wants a number from 1 on",
            _next_word(body, at),
            "for example hits 3, to stop from the third hit on, or hits % 10",
        )
    if int(match["count"]) > MOST_HITS:
        raise Problem(
            f"'hits' goes up to {MOST_HITS}",
            match.start("count"),
            "a condition may look at a counter of the program",
        )
    return int(match["count"]), match.end()


def _read_thread(body: str, at: int) -> tuple[str, int]:
    if re.match(r'\s*"', body[at:]):
        return _read_string(body, at, "thread")
    match = re.compile(r"\s+([\w.:/-]+)(?=\s|$)").match(body, at)
    if match is None:
        raise Problem(
            "'thread' wants the thread's id or name",
            _next_word(body, at),
            'for example thread 4711, thread worker or thread "a b"',
        )
    return match[1], match.end()


def _read_outermost(body: str, at: int) -> tuple[str, int]:
    match = re.compile(r"\s+([A-Za-z_][\w.]*|[A-Za-z_~][\w:~<>]*)(?=\s|$)").match(body, at)
    if match is None or match[1] in _FIELD_OF:
        raise Problem(
            "'outermost' wants a function",
            _next_word(body, at),
            "for example outermost package.module.function, or outermost scope::function",
        )
    return match[1], match.end()


def _read_log(body: str, at: int) -> tuple[str, int]:
    text, end = _read_string(body, at, "log")
    depth = 0
    for letter in text.replace("{{", "").replace("}}", ""):
        depth += (letter == "{") - (letter == "}")
        if depth < 0:
            break
    if depth:
        raise Problem(
            "the braces of the log text do not match",
            _next_word(body, at),
            "write {{ and }} for braces themselves",
        )
    return text, end


def _read_condition(body: str, at: int) -> tuple[str, int]:
    """The condition. It ends with the text, or before a text that can only be suffixes."""
    end = len(body)
    for start in _top_level(body, at):
        if start > at and body[at:start].strip() and _is_suffixes(body, start):
            end = start
            break
    condition = body[at:end].strip()
    if not condition:
        raise Problem(
            "'if' wants a condition",
            _next_word(body, at),
            "for example if x > 3, in the language of the place",
        )
    return condition, end


def _is_suffixes(body: str, at: int) -> bool:
    """Whether ``body[at:]`` holds nothing but suffixes, and the first of them cannot be part of an expression."""
    match = _KEYWORD.match(body, at)
    if match is None or match["word"] in ("if", "temporary", "tbreak", "fast", "count", "trace", "time"):
        return False
    while at < len(body):
        match = _KEYWORD.match(body, at)
        if match is None or match["word"] == "if":
            return False
        try:
            _value, at = _READERS[_FIELD_OF[match["word"]]](body, match.end())
        except Problem:
            return False
    return True


def _read_string(body: str, at: int, word: str) -> tuple[str, int]:
    match = re.compile(r'\s*"((?:[^"\\]|\\.)*)"(?=\s|$)', re.DOTALL).match(body, at)
    if match is None:
        unclosed = re.match(r'\s*"', body[at:]) is not None
        what = "has no closing quote" if unclosed else "wants a text in double quotes"
        raise Problem(f"{word!r} {what}", _next_word(body, at), f"for example {_STRING_EXAMPLES[word]}")
    if not match[1]:
        raise Problem(
            f"the text of {word!r} is empty", _next_word(body, at), f"for example {_STRING_EXAMPLES[word]}"
        )
    return re.sub(
        r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), match[1], flags=re.DOTALL
    ), match.end()


def _next_word(body: str, at: int) -> int:
    while at < len(body) and body[at].isspace():
        at += 1
    return at


def _spec_error(text: str, problem: Problem) -> SpecError:
    if not text.strip():
        return SpecError(problem.message, problem.hint)
    shown = text.replace("\t", " ").replace("\n", " ")
    caret = " " * min(problem.position, len(shown)) + "^"
    return SpecError(f"{problem.message}\n  {shown}\n  {caret}", problem.hint)


_COUNTING = ("counts", "records", "times")
_STOPPING = ("temporary", "hits", "log", "fast", "outermost")  # what means a stop, or its place
_UNTRACED = (
    BreakpointKind.DATA,
    BreakpointKind.WATCH,
    BreakpointKind.SIGNAL,
    BreakpointKind.THROW,
    BreakpointKind.CATCH,
)
_ESCAPES = {"n": "\n", "t": "\t"}
_STRING_EXAMPLES = {"log": 'log "x is {x}"', "thread": 'thread "worker 1"'}
_FIELD_OF = {
    "temporary": "temporary",
    "tbreak": "temporary",
    "fast": "fast",
    "count": "counts",
    "trace": "records",
    "time": "times",
    "hits": "hits",
    "thread": "thread",
    "log": "log",
    "outermost": "outermost",
    "if": "condition",
}
_READERS: dict[str, Callable[[str, int], tuple[Any, int]]] = {
    "temporary": _read_nothing,
    "fast": _read_nothing,
    "counts": _read_nothing,
    "records": _read_nothing,
    "times": _read_nothing,
    "hits": _read_hits,
    "thread": _read_thread,
    "log": _read_log,
    "outermost": _read_outermost,
    "condition": _read_condition,
}
