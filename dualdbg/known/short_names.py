"""Names of functions without what compilers add to them, and short enough for a line. Pure."""

from __future__ import annotations

_OPENING = "<"
_CLOSING = ">"


def in_source(function: str | None) -> str | None:
    """The name of a function of C as it is written: GCC calls its copies ``take_gil.constprop.0`` or ``f.cold``."""
    return function.partition(".")[0] if function else None


def short_function(name: str, room: int | None) -> str:
    """``name`` in at most ``room`` characters where that is possible: template arguments go first, the middle next."""
    if room is None or len(name) <= room:
        return name
    name = without_template_arguments(name)
    if len(name) <= room or room < 8:
        return name[: max(room, 8)] if len(name) > room else name
    tail = name.rpartition("::")[2]
    keep = min(len(tail), room - 5)
    return name[: room - keep - 3] + "..." + name[len(name) - keep :]


def without_template_arguments(name: str) -> str:
    """``f<int, g<char> >::call`` becomes ``f<...>::call``; ``operator<``, ``operator->`` and their kin stay.

    A method of Rust is that of its type: ``<Square as Shape>::area`` becomes ``Square::area``.
    """
    if name.startswith(_OPENING):
        end = _end_of_brackets(name)
        type_name = without_template_arguments(_before_trait(name[1:end]))
        return type_name + without_template_arguments(name[end + 1 :])
    result: list[str] = []
    depth = 0
    at = 0
    while at < len(name):
        operator = _operator_at(name, at)
        if operator:
            if depth == 0:
                result.append(operator)
            at += len(operator)
            continue
        letter = name[at]
        if letter == _OPENING:
            if depth == 0:
                result.append("<...>")
            depth += 1
        elif letter == _CLOSING and depth:
            depth -= name[at - 1] != "-"  # an arrow is no bracket
        elif depth == 0:
            result.append(letter)
        at += 1
    return "".join(result)


def _end_of_brackets(name: str) -> int:
    """The index of the bracket that closes the one at the beginning; an arrow is no bracket."""
    depth = 0
    for at, letter in enumerate(name):
        if letter == _OPENING:
            depth += 1
        elif letter == _CLOSING and name[at - 1] != "-":
            depth -= 1
            if depth == 0:
                return at
    return len(name)


def _before_trait(name: str) -> str:
    """``a::T<b>`` of ``a::T<b> as c::Trait``."""
    depth = 0
    for at, letter in enumerate(name):
        if depth == 0 and name.startswith(" as ", at):
            return name[:at]
        depth += (letter == _OPENING) - (letter == _CLOSING and name[at - 1] != "-")
    return name


def _operator_at(name: str, at: int) -> str:
    for operator in _OPERATORS:
        if name.startswith(operator, at) and (at == 0 or not (name[at - 1].isalnum() or name[at - 1] == "_")):
            return operator
    return ""


# Longest first. The brackets of "(anonymous namespace)" need no care: they hold no template arguments.
_OPERATORS = tuple(
    f"operator{symbol}" for symbol in ("<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">")
)
