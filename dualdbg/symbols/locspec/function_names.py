"""Checking that a text can be the name of a C or C++ function, with templates, parameters and globs."""

from __future__ import annotations

import re

_CLOSERS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_OPERATOR_SIGN = re.compile(
    r"\boperator\s*(?:->\*|<=>|<<=|>>=|->|<<|>>|\+\+|--|&&|\|\||[-+*/%^&|=!<>]=|\(\)|\[\]|[-+*/%^&|~!=<>,]"
    r"|(?:new|delete)(?:\s*\[\])?(?!\w)|\"\"\s*\w+)"
)
# An operator that converts to a type, where brackets are NULs: the words of the type, and pointers to it.
_CONVERSION = re.compile(
    r"\boperator\s+(?:(?:const|volatile|unsigned|signed|long|short|int|char|double|struct|class|enum)\s+)*"
    r"[\w:\0]+(?:\s*(?:const\b|volatile\b|[*&]))*"
)
# What may follow the parameter list: qualifiers of a method, and what nm and gdb add.
_TRAILER = re.compile(r"(?:\s*(?:const|volatile|noexcept|&&?|\[clone [^\]]*\]|\[abi:\w+\]))*")
_COMPONENT = re.compile(r"~?[\w$?*.]+~?")

SUFFIXES = 'if CONDITION, hits N, log "text {expr}", thread T, outermost FUNCTION, temporary, fast, count, trace, time'


class Problem(Exception):
    """A text is no spec: what is wrong, at which character, and what to type instead."""

    def __init__(self, message: str, position: int, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.hint = hint

    def shifted(self, by: int) -> Problem:
        """The same problem in a text that begins ``by`` characters earlier."""
        return Problem(self.message, self.position + by, self.hint)


def check_function_name(text: str) -> None:
    """Nothing, if ``text`` can name a function.

    :raises Problem: it cannot.
    """
    # Signs of overloaded operators would look like brackets; as letters they keep every position.
    plain = _OPERATOR_SIGN.sub(lambda match: "o" * len(match[0]), text)
    depth_free = _CONVERSION.sub(lambda match: "o" * len(match[0]), _without_brackets(plain))
    if not text.strip("*?:"):
        raise Problem(f"{text!r} would stop in every function", 0, "put letters into the pattern: *randn*")
    trailer = _TRAILER.fullmatch(depth_free, _end_of_name(depth_free))
    body = depth_free[: _end_of_name(depth_free)] if trailer is not None else depth_free
    space = re.search(r"\s", body.replace("operator ", "operator_"))
    if space is not None:
        raise Problem(
            f"{text[space.end() :].strip()!r} is not understood after {text[: space.start()]!r}",
            space.end(),
            f"suffixes: {SUFFIXES}; a C++ name is written without its return type",
        )
    position = 2 if body.startswith("::") else 0
    for component in body[position:].split("::"):
        _check_component(text, component, position)
        position += len(component) + 2


def _check_component(text: str, component: str, position: int) -> None:
    name = component.replace("\0", "")
    if not component:
        raise Problem("a name is missing beside '::'", position, "namespace::Class::method")
    if component[0].isdigit():
        raise Problem(
            "a function's name does not begin with a digit", position, "a line of a file: FILE:LINE"
        )
    if not name or name.startswith("operator") or _COMPONENT.fullmatch(name):
        return
    bad = next((at for at, letter in enumerate(component) if not re.match(r"[\w$?*.~\0]", letter)), 0)
    raise Problem(
        f"{component[bad]!r} cannot stand in a function's name",
        position + bad,
        "a C or C++ name, for example at::native::randn; a file's line is FILE:LINE",
    )


def _end_of_name(depth_free: str) -> int:
    """Where the qualifiers after a parameter list begin."""
    return depth_free.rfind("\0") + 1 or len(depth_free)


def _without_brackets(text: str) -> str:
    """The text with every bracketed part, brackets included, replaced by NULs, position by position."""
    letters = list(text)
    open_at: list[int] = []
    for at, letter in enumerate(text):
        if letter in _CLOSERS:
            open_at.append(at)
        elif open_at and letter == _CLOSERS[text[open_at[-1]]] and text[at - 1 : at + 1] != "->":
            start = open_at.pop()
            letters[start : at + 1] = "\0" * (at + 1 - start)
        elif letter in ")]}>":
            raise Problem(
                f"{letter!r} closes nothing", at, "write the name as gdb shows it, or without parameters"
            )
    if open_at:
        opener = text[open_at[-1]]
        raise Problem(
            f"{opener!r} is not closed", open_at[-1], "write the whole parameter list, or the name without it"
        )
    return "".join(letters)
