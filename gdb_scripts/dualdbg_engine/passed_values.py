"""Values of expressions about arguments of a function without debug info, as a user asks for them."""

from __future__ import annotations

import re

import gdb
from dualdbg_shared.requests.arguments import EvaluatePassed, Passing
from dualdbg_shared.requests.values import NativeVariable

from . import passed_expressions
from .registry import answers
from .taught import Known
from .threads import find_frame
from .values import evaluation

_NAME = re.compile(r"(?<![\w$.>:])[A-Za-z_]\w*(?!\w)")
_QUOTED = re.compile(r"(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')")
_NUMBERS_POINTER = re.compile(r"(?:unsigned |signed )?(?:char|short|int|long|float|double|bool)(?: const)?\*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?|true|false|0x[0-9a-f]+")


@answers(EvaluatePassed)
def evaluate_passed(
    gdb_thread: int,
    level: int,
    expression: str,
    entry: int,
    what: Passing,
    rows: "dict[str, tuple[str, str]]",
    style: str,
    seconds: "float | None",
) -> NativeVariable:
    """As :func:`values.evaluate`. ``rows``: type and text of each argument, by its name.

    gdb evaluates what is about numbers; the rest is what conditions know, at the entry alone.
    """
    texts = {name: _as_gdb_reads(*row) for name, row in rows.items()}
    parts = _QUOTED.split(expression)
    used = {name for part in parts[::2] for name in _NAME.findall(part) if name in texts}
    if all(texts[name] is not None for name in used):
        for at in range(0, len(parts), 2):
            parts[at] = _NAME.sub(lambda found: texts.get(found.group()) or found.group(), parts[at])
        try:
            return evaluation(gdb_thread, level, "".join(parts), style, seconds, stands_for=expression)
        except gdb.error as error:
            generic = sorted(name for name in used if (texts[name] or "").startswith("((void *)"))
            if not generic:
                raise
            where = "%s (no debug info has the type that %s points to)" % (error, ", ".join(generic))
            raise gdb.GdbError(where) from None
    found = passed_expressions.evaluate(
        expression, Known(entry, what._asdict()), find_frame(gdb_thread, level)
    )
    if found is None:
        without = sorted(name for name in used if texts[name] is None)
        lost = [name for name in without if rows[name][1].startswith("<not known")]
        if lost:
            raise gdb.GdbError("the value of %s is not known here" % ", ".join(lost))
        raise gdb.GdbError("of %s only the text is known here" % ", ".join(without))
    return NativeVariable(expression, "", found[1], None, None)


def _as_gdb_reads(kind: str, text: str) -> "str | None":
    """What stands for an argument in an expression that gdb evaluates; None where there is nothing."""
    if text.startswith("0x") and _NUMBER.fullmatch(text):  # gdb takes a bare number for the address of an int
        pointer = kind if _NUMBERS_POINTER.fullmatch(kind) else "void *"
        return "((%s)%s)" % (pointer, text)
    return "(%s)" % text if _NUMBER.fullmatch(text) else None
