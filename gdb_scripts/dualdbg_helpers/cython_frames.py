"""Local variables of a Cython function by the names that its author gave them, for those that C has."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, List, Optional, Tuple

import gdb
from dualdbg_shared.toolchains.cython import CYTHON_SOURCES, is_cython_authors

_VARIABLE = "__pyx_v_"  # Cython/Compiler/Naming.py: var_prefix
_CLOSURE = "__pyx_cur_scope"
_OUTER = "__pyx_outer_scope"
_OPTIONAL = "__pyx_optional_args"  # a struct of those with a default that a cdef function takes
_GIVEN = "__pyx_n"  # how many of them the caller has given
_GENERATOR = "__pyx_generator"
_MOST_SCOPES = 10
_MOST_RUNS = 32  # of instructions of one line, at which the beginning of a statement is looked for
_NOT_KNOWN = "dualdbg_not_known"
# Texts in quotes, members, and names. Only the last are looked at.
_TOKEN = re.compile(
    r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|(?:\.|->)\s*[^\W\d]\w*|\$\w+|\b\d[\w.]*|(?P<name>[^\W\d]\w*)"
)


def names_in(frame: Any) -> Dict[str, str]:
    """The author's names of the variables of a frame, each with its C expression; empty where it is not Cython's.

    Where a value cannot be told, its expression has no value, and the error says why.
    """
    try:
        block = frame.block()
    except RuntimeError:  # no debug info
        return {}
    names = _names_of(block, frame.pc())
    # A call is where the source has it: the values of the frames that have called are those of their lines.
    return _not_known(names) if names and is_innermost(frame) and _is_moved(frame.pc()) else names


def is_innermost(frame: Any) -> bool:
    """Whether nothing of the author's is further in than a frame, and it has called nothing that was not inlined."""
    newer = frame.newer()
    while newer is not None:
        function = newer.function()
        if newer.type() != gdb.INLINE_FRAME or (function is not None and is_cython_authors(function.name)):
            return False
        newer = newer.newer()
    return True


def names_at(address: int) -> Dict[str, str]:
    """:func:`names_in` for frames that stand at an address."""
    block = gdb.block_for_pc(address)
    names = {} if block is None else _names_of(block, address)
    return _not_known(names) if names and _is_moved(address) else names


def _not_known(names: Dict[str, str]) -> Dict[str, str]:
    # What a closure keeps is in memory, which has it before anything else is called.
    return {
        name: "$%s()" % _NOT_KNOWN if expression.startswith(_VARIABLE) else expression
        for name, expression in names.items()
    }


def _is_moved(address: int) -> bool:
    """Whether an instruction of a line of the author's is among those of another line, which began last.

    Debug info has the values that the variables have where that other line is run: what lies between the two may not
    have been done.
    """
    line, file = _author_line(address)
    at = gdb.find_pc_line(address)
    for _ in range(_MOST_RUNS if file else 0):
        if at.symtab is None:
            return False
        if at.symtab.filename == file:
            begin = {row.pc for row in at.symtab.linetable().line(at.line) or ()}
            if address in begin:
                return False
            if at.pc in begin:
                return bool(at.line != line)
        at = gdb.find_pc_line(at.pc - 1)
    return False


def _author_line(address: int) -> Tuple[int, str]:
    """The line of the author's at which an instruction is, and its file: of what was inlined there that of the call."""
    inner, block = None, gdb.block_for_pc(address)
    while block is not None and not (block.function is not None and is_cython_authors(block.function.name)):
        inner, block = block.function or inner, block.superblock
    if block is None:
        return 0, ""
    position = gdb.find_pc_line(address)
    table, line = position.symtab, position.line
    if inner is not None:
        table, line = block.function.symtab, inner.line
    file = table.filename if table is not None else ""
    return line, file if file.endswith(CYTHON_SOURCES) else ""


def argument_names_in(block: Any) -> Optional[List[str]]:
    """The author's names of the arguments of the function around a block of Cython's, in the order of C; None where it
    is a wrapper, or a generator, which keeps them among its variables.
    """
    while block.function is None:
        block = block.superblock
    if not is_cython_authors(block.function.name):
        return None
    names = []
    for symbol in block:
        if not symbol.is_argument:
            continue
        if symbol.name.startswith(_VARIABLE):
            names.append(symbol.name[len(_VARIABLE) :])
        elif symbol.name == _OPTIONAL:
            fields = symbol.type.strip_typedefs().target().strip_typedefs().fields()
            names += [field.name for field in fields if field.name != _GIVEN]
        elif symbol.name == _GENERATOR:
            return None
    return names


def _names_of(block: Any, address: int) -> Dict[str, str]:
    found: Dict[str, str] = {}
    kept: Dict[str, str] = {}
    function, is_own = None, False
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
                    kept.setdefault(name, expression)
                is_own = _is_made_by(symbol.type, block)
        block = block.superblock
    if function is None:
        return {}
    for name, expression in kept.items():
        # What a function takes and an inner one uses is moved into the closure when the function begins.
        is_moved = (
            is_own and expression == _member_of_closure(_CLOSURE, name) and address > _body_of(function)
        )
        if is_moved or name not in found:
            found[name] = expression
    return found


def _is_made_by(scope: Any, block: Any) -> bool:
    """Whether the closure of this type is that of the function around a block, and not one that it was given."""
    while block.function is None:
        block = block.superblock
    name = re.search(r"_scope_struct_\d*_(\w+)", str(scope))
    return name is not None and re.search(r"(?:_|\d)%s$" % name[1], block.function.name) is not None


def _body_of(function: Any) -> int:
    """Where the body of a function begins, behind its prologue."""
    last = gdb.find_pc_line(int(function.value().address)).last
    return last + 1 if last is not None else 0


def _closure(expression: str, type_: Any) -> Iterator[Tuple[str, str]]:
    """What a closure or a generator keeps in an object of its own, and in that of the function around it."""
    for _ in range(_MOST_SCOPES):
        target = type_.strip_typedefs()
        if target.code != gdb.TYPE_CODE_PTR:
            return
        fields = target.target().strip_typedefs().fields()
        for field in fields:
            if (field.name or "").startswith(_VARIABLE):
                name = field.name[len(_VARIABLE) :]
                yield name, _member_of_closure(expression, name)
        outer = next((field for field in fields if field.name == _OUTER), None)
        if outer is None:
            return
        expression, type_ = "%s->%s" % (expression, _OUTER), outer.type


def _member_of_closure(closure: str, name: str) -> str:
    return "(%s->%s%s)" % (closure, _VARIABLE, name)


def translated(text: str, names: Dict[str, str]) -> str:
    """An expression with the author's names in it, as C has it."""
    if not names:
        return text
    return _TOKEN.sub(lambda match: names.get(match["name"] or "", match[0]), text)


class _NotKnown(gdb.Function):
    """What stands for a variable of which debug info has a value of another line."""

    def invoke(self, *arguments: Any) -> Any:
        """No value."""
        raise gdb.GdbError("not known here: the compiler has moved this code of the line in front of others")


_NotKnown(_NOT_KNOWN)
