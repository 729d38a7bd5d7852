"""Commands that set, change and list breakpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...errors import CommandError
from ...model import MOST_HITS, Breakpoint, State
from ...system.source_files import means_file
from ..reports import BreakpointsReport, TextReport
from .registry import command

if TYPE_CHECKING:
    from ..console import Console

_SPEC = (
    "SPEC is an operator (randn), a function, FILE:LINE or a LINE of the current file; if CONDITION, hits N …"
)


@command("break b", "[SPEC]", "set a breakpoint; without SPEC: list them", completes="spec", details=_SPEC)
async def break_(console: Console, argument: str) -> None:
    if not argument:
        console.show(breakpoints_report(console, console.session.breakpoints.all()))
        return
    in_python = console.session.state is State.PYTHON_STOPPED
    frame = await console.python_frame() if in_python else None
    await console.session.breakpoints.add(await with_file(console, argument), frame=frame)


@command("tbreak tb", "SPEC", "set a breakpoint that stops once", completes="spec", details=_SPEC)
async def tbreak(console: Console, argument: str) -> None:
    if not argument:
        raise CommandError("tbreak wants to know where", "help tbreak")
    await console.session.breakpoints.add(await with_file(console, argument), temporary=True)


_OF_EITHER = (
    "A breakpoint like the others, with old and new value; it is removed when the function of a local variable is "
    "left. "
)
_NATIVELY = "-l watches where the value lies now. By the processor: few, and 8 bytes each."
_IN_PYTHON = (
    "In a Python frame: a variable, with attributes and items of it (self.rows[0]); it is read before each line that "
    "may change it, which slows the program down. In a native one: "
)


def _register_watch(word: str, when: str, details: str) -> None:
    @command(
        word,
        "[-l] EXPRESSION [if CONDITION]",
        f"stop where a value {when}",
        details=details,
        completes="expression",
    )
    async def watch(console: Console, argument: str) -> None:
        if not argument:
            raise CommandError(f"{word} wants an expression", f"help {word}")
        python = await console.python_frame()
        if python is not None:
            await console.session.breakpoints.add(f"{word}:py:{argument}", frame=python)
            return
        await console.with_gdb_frame(
            lambda frame: console.session.breakpoints.add(f"{word}:{argument}", frame=frame)
        )


_register_watch("watch", "changes", _OF_EITHER + _IN_PYTHON + _NATIVELY)
_register_watch("rwatch", "of a native variable is read", _OF_EITHER + _NATIVELY)
_register_watch("awatch", "of a native variable is read or written", _OF_EITHER + _NATIVELY)


@command(
    "condition cond",
    "NUMBER [EXPRESSION]",
    "stop only where it is true; without EXPRESSION: always",
    completes="breakpoint",
)
async def condition(console: Console, argument: str) -> None:
    row, expression = _one(console, "condition", argument)
    await console.session.breakpoints.change(row.id, condition=expression or None)


@command("ignore", "NUMBER COUNT", "pass over the next COUNT hits of a breakpoint", completes="breakpoint")
async def ignore(console: Console, argument: str) -> None:
    row, count = _one(console, "ignore", argument)
    if not count.isdecimal():
        raise CommandError(f"ignore wants a count, but was given {count!r}", "help ignore")
    if int(count) >= MOST_HITS:
        raise CommandError(
            f"ignore passes over {MOST_HITS - 1} hits at most, but was given {count}", "help ignore"
        )
    hits = int(count) + 1 if int(count) else None
    await console.session.breakpoints.change(row.id, hits=hits, hit_condition=None)


@command(
    "delete del",
    "[NUMBER…] | display [NUMBER…]",
    "remove breakpoints, or displays; without NUMBER: all",
    completes="breakpoint",
)
async def delete(console: Console, argument: str) -> None:
    word, _, numbers = argument.partition(" ")
    if word == "display" and console.at_stops is not None:
        console.at_stops.undisplay(numbers)
        return
    for row in _chosen(console, argument):
        await console.session.breakpoints.remove(row.id)


@command(
    "clear cl",
    "[PLACE]",
    "remove the breakpoints at a place; without PLACE: at the selected frame's line",
    details="PLACE is FILE:LINE or a function. A number alone is a line in gdb and a breakpoint in pdb.",
    completes="spec",
)
async def clear(console: Console, argument: str) -> None:
    """Raises CommandError where there is none, and for a number."""
    if argument.replace(" ", "").isdecimal():
        raise CommandError(
            f"clear {argument} could mean a breakpoint or a line",
            f"delete {argument} removes a breakpoint; clear FILE:{argument} those on a line",
        )
    if not argument:
        frame = await console.frame()
        argument = f"{frame.file}:{frame.line}" if frame.file is not None else frame.function or ""
    found = [row for row in console.session.breakpoints.all() if _is_at(row, argument)]
    if not found:
        raise CommandError(f"there is no breakpoint at {argument}", "info breakpoints lists them")
    for row in found:
        await console.session.breakpoints.remove(row.id)
    numbers = ", ".join(str(row.id) for row in found)
    console.show(TextReport(f"Deleted breakpoint{'s' if len(found) > 1 else ''} {numbers}\n"))


def _is_at(row: Breakpoint, place: str) -> bool:
    file, _, line = place.rpartition(":")
    return place in (row.spec.text, row.spec.subject) or any(
        place == one.function
        or (bool(file) and one.file is not None and line == str(one.line) and means_file(file, one.file))
        for one in row.locations
    )


def breakpoints_report(console: Console, rows: Sequence[Breakpoint]) -> BreakpointsReport:
    """The rows, and what is done at each."""
    actions = console.at_stops.actions if console.at_stops is not None else {}
    return BreakpointsReport(tuple(rows), {row.id: actions[row.id] for row in rows if row.id in actions})


@command(
    "disable dis",
    "[NUMBER…]",
    "keep breakpoints without stopping at them; without NUMBER: all",
    completes="breakpoint",
)
async def disable(console: Console, argument: str) -> None:
    for row in _chosen(console, argument):
        await console.session.breakpoints.enable(row.id, False)


@command(
    "enable en",
    "[once | delete] [NUMBER…]",
    "stop at breakpoints again; without NUMBER: all",
    details="once: until the next hit. delete: the next hit deletes it.",
    completes="breakpoint",
)
async def enable(console: Console, argument: str) -> None:
    how, _, rest = argument.partition(" ")
    table = console.session.breakpoints
    for row in _chosen(console, rest if how in ("once", "delete") else argument):
        await table.enable(row.id, True, once=how == "once")
        if how == "delete":
            await table.change(row.id, temporary=True)


def _chosen(console: Console, argument: str) -> list[Breakpoint]:
    table = console.session.breakpoints
    words = argument.replace(",", " ").removeprefix("breakpoints ").split()
    return [one for word in words for one in _in_range(console, word)] if words else table.all()


def _in_range(console: Console, word: str) -> list[Breakpoint]:
    """The breakpoints that a word means: a number, or two as in ``2-5``. Raises CommandError where there is none."""
    first, dash, last = word.partition("-")
    if not (dash and first.isdecimal() and last.isdecimal()):
        return [breakpoint_of(console, word)]
    found = [row for row in console.session.breakpoints.all() if int(first) <= row.id <= int(last)]
    if not found:
        raise CommandError(f"there is no breakpoint from {first} to {last}", "info breakpoints lists them")
    return found


def breakpoint_of(console: Console, word: str) -> Breakpoint:
    """The breakpoint of this number; ``$bpnum`` is the last one. Raises CommandError where there is none."""
    table = console.session.breakpoints
    if word == "$bpnum" and table.all():
        return table.all()[-1]
    if not word.isdecimal():
        raise CommandError(f"{word!r} is no number of a breakpoint", "info breakpoints lists them")
    return table.get(int(word))


def _one(console: Console, name: str, argument: str) -> tuple[Breakpoint, str]:
    """The breakpoint whose number begins the argument, and the rest. Raises CommandError where there is none."""
    number, _, rest = argument.partition(" ")
    if not number:
        raise CommandError(
            f"{name} wants the number of a breakpoint", f"help {name}; info breakpoints lists them"
        )
    return breakpoint_of(console, number), rest.strip().removeprefix("if ").strip()


def _before_comma(text: str) -> tuple[str, str, str]:
    """A text around its first comma outside of brackets and quotes, as ``str.partition``."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter in "\"'" or " if " in text[:at] or " log " in text[:at]:
            break
        if letter == "," and depth == 0:
            return text[:at].strip(), ",", text[at + 1 :].strip()
    return text, "", ""


async def with_file(console: Console, spec: str) -> str:
    """``12 if x`` means line 12 of the selected frame's file; ``PLACE, x`` is pdb's way to write a condition."""
    place, comma, expression = _before_comma(spec)
    if comma and place and expression:
        spec = f"{place} if {expression}"
    first, _, rest = spec.partition(" ")
    if not first.isdecimal():
        return spec
    file = (await console.frame()).file
    if file is None:
        raise CommandError(
            f"the selected frame has no source file that could have a line {first}", "give FILE:LINE"
        )
    return f"{file}:{first} {rest}".rstrip()
