"""Local variables of a Cython function by the names that its author gave them, for those that C has."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator

import gdb

_VARIABLE = "__pyx_v_"  # Cython/Compiler/Naming.py: var_prefix
_CLOSURE = "__pyx_cur_scope"
_OUTER = "__pyx_outer_scope"
_MOST_SCOPES = 10
# Texts in quotes, members, and names. Only the last are looked at.
_TOKEN = re.compile(
    r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|(?:\.|->)\s*[^\W\d]\w*|\$\w+|\b\d[\w.]*|(?P<name>[^\W\d]\w*)"
)


def names_in(frame: Any) -> Dict[str, str]:
    """The author's names of the variables of a frame, each with its C expression; empty where it is not Cython's."""
    try:
        block = frame.block()
    except RuntimeError:  # no debug info
        return {}
    return _names_of(block)


def names_at(address: int) -> Dict[str, str]:
    """:func:`names_in` for frames that stand at an address."""
    block = gdb.block_for_pc(address)
    return {} if block is None else _names_of(block)


def _names_of(block: Any) -> Dict[str, str]:
    found: Dict[str, str] = {}
    function = None
    while block is not None and function is None:
        function = block.function
        if function is not None and not function.name.startswith("__pyx_"):
            return {}
        for symbol in block:
            if not (symbol.is_argument or symbol.is_variable):
                continue
            if symbol.name.startswith(_VARIABLE):
                found.setdefault(symbol.name[len(_VARIABLE) :], symbol.name)
            elif symbol.name == _CLOSURE:
                for name, expression in _closure(symbol.name, symbol.type):
                    found.setdefault(name, expression)
        block = block.superblock
    return found if function is not None else {}


def _closure(expression: str, type_: Any) -> Iterator[Any]:
    """What a closure or a generator keeps in an object of its own, and in that of the function around it."""
    for _ in range(_MOST_SCOPES):
        target = type_.strip_typedefs()
        if target.code != gdb.TYPE_CODE_PTR:
            return
        fields = target.target().strip_typedefs().fields()
        for field in fields:
            if (field.name or "").startswith(_VARIABLE):
                yield field.name[len(_VARIABLE) :], "(%s->%s)" % (expression, field.name)
        outer = next((field for field in fields if field.name == _OUTER), None)
        if outer is None:
            return
        expression, type_ = "%s->%s" % (expression, _OUTER), outer.type


def translated(text: str, names: Dict[str, str]) -> str:
    """An expression with the author's names in it, as C has it."""
    if not names:
        return text
    return _TOKEN.sub(lambda match: names.get(match["name"] or "", match[0]), text)
