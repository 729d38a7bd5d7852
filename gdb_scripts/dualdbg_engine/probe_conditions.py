"""What gdb makes of a condition, for those who write machine code of it (dualdbg/probes)."""

from __future__ import annotations

import re

import gdb
from dualdbg_helpers import cython_frames, language
from dualdbg_shared.console_text import plain
from dualdbg_shared.requests.probes import ListConditionOperations

from .registry import answers


@answers(ListConditionOperations)
def condition_operations(address: int, condition: str, named: bool) -> str:
    condition = cython_frames.translated(condition, cython_frames.names_at(address))
    condition = _CHARACTER.sub(lambda found: "(char)%d" % _code_of(found[1]), condition)
    if not named:
        with language.ours():
            return plain(gdb.execute("maintenance agent-eval %s" % condition, to_string=True))
    line = gdb.find_pc_line(address)
    if line.symtab is None:
        raise gdb.GdbError("debug info does not tell its line")
    place = "%s:%d" % (line.symtab.fullname(), line.line)
    return plain(gdb.execute("maintenance agent-eval -at %s, %s" % (place, condition), to_string=True))


# gdb has no agent code for characters.
_CHARACTER = re.compile(r"(?<![\w'\"])'([^'\\\"]|\\[0abfnrtv'\"\\])'(?!['\"])")
_ESCAPES = dict(zip("0abfnrtv", (0, 7, 8, 12, 10, 13, 9, 11)))


def _code_of(character: str) -> int:
    code = ord(character) if len(character) == 1 else _ESCAPES.get(character[1], ord(character[1]))
    if code > 127:
        raise gdb.GdbError("a character that is not of ASCII")
    return code
