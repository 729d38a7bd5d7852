"""The text of a demangled C++ name, taken apart: scopes, template arguments, parameters.

The text is that of the Itanium demanglers (libiberty, libstdc++, libc++abi) or what a user types
in the same manner. Nothing here knows about libraries.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

ANONYMOUS = "(anonymous namespace)"
# Scopes that source code does not spell: a name is reachable without them.
TRANSPARENT = frozenset({ANONYMOUS, "__cxx11", "__1", "__ndk1", "_V2", "__debug"})

_SPECIAL = re.compile(
    r"(?:non-virtual thunk to|virtual thunk to|covariant return thunk to|transaction clone for"
    r"|non-transaction clone for|guard variable for|reference temporary(?: #\d+)? for|vtable for|VTT for"
    r"|construction vtable for|typeinfo name for|typeinfo for|typeinfo fn for|TLS init function for"
    r"|TLS wrapper function for|hidden alias for|java Class for|template parameter object for"
    r"|initializer for module) "
)
_CLONES = re.compile(r"(?: \[clone [^\]]*\])+$")
_CLONE = re.compile(r"\[clone ([^\]]*)\]")
_QUALIFIERS = re.compile(r"(?: const| volatile| restrict| noexcept| ?&&?)*")
_CONSTRAINT = " requires "  # behind the parameters and qualifiers of a function; GCC 14 and later mangle it
_OPERATOR = re.compile(
    r"operator(?:"
    r"\(\)|\[\]|<=>|<<=|>>=|->\*|->|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|\+=|-=|\*=|/=|%=|\^=|&=|\|="
    r"|[-+*/%^&|~!=<>,]"
    r"| (?:new|delete)(?:\[\])?(?![\w:])| co_await(?!\w)"
    r'|"" ?\w+)'
)
_OPENING = frozenset("([{<")
_CLOSING = {")": "(", "]": "[", "}": "{", ">": "<"}
# What ``closing`` looks at. An operator's name and an operator of an expression are no brackets:
# the demanglers put the operands of a comparison into parentheses.
_BRACKET = re.compile(
    r"\b" + _OPERATOR.pattern + r"( ?<)?" + r"|((?<=\))(?:>>=?|>=|<<?=?|<=>)(?![,>]))|->|>>|[()\[\]{}<>]"
)
_SCOPE_TOKEN = re.compile(r"::|[ <(\[{]|(?<![\w$])operator(?![\w$])")
_PLAIN = re.compile(r"(?:(?:[\w$~.]+|\(anonymous namespace\))::)*(?!operator\b|decltype\b)[\w$~.]+(?=\()")
_LOCAL_SCOPE = re.compile(r"\)[ a-z&]*(?:::|\()")


@dataclass(frozen=True)
class CxxName:
    """A function or variable name in its parts.

    ``components`` are the scopes and, last, the name itself, each as written (template arguments,
    ABI tags, and for a scope that is a function its parameters included). ``parameters`` is the
    parenthesised list or None; ``qualifiers`` what follows it (``const``, ``&``), without a constraint
    (``requires ...``); ``clones`` the compiler's suffixes (``.cold``, ``.isra.0``); ``special`` a prefix
    such as ``vtable for``.
    """

    components: tuple[str, ...]
    parameters: str | None = None
    qualifiers: str = ""
    clones: tuple[str, ...] = ()
    special: str = ""

    @cached_property
    def bases(self) -> tuple[str, ...]:
        """The components without template arguments, ABI tags and parameters."""
        return tuple(split_component(component)[0] for component in self.components)

    @property
    def short(self) -> str:
        """The qualified name alone: ``at::native::randn``."""
        return "::".join(self.bases)


@lru_cache(maxsize=1 << 13)  # each library that is loaded has the same breakpoints looked at again
def parse(text: str) -> CxxName:
    """Take a demangled (or plain C) name apart. Any other text gives one component."""
    clones: tuple[str, ...] = ()
    suffix = _CLONES.search(text)
    if suffix:
        clones = tuple(_CLONE.findall(suffix.group()))
        text = text[: suffix.start()]
    prefix = _SPECIAL.match(text)
    special = prefix.group()[:-1] if prefix else ""
    body = text[prefix.end() :] if prefix else text
    while nested := _SPECIAL.match(body):
        body = body[nested.end() :]
    components, parameters, qualifiers = _scopes(body)
    return CxxName(components, parameters, qualifiers, clones, special)


def _scopes(text: str) -> tuple[tuple[str, ...], str | None, str]:
    plain = _PLAIN.match(text) if _CONSTRAINT not in text else None
    if plain and not _LOCAL_SCOPE.search(text, plain.end()):
        close = text.rfind(")")
        return tuple(plain.group().split("::")), text[plain.end() : close + 1], text[close + 1 :].strip()
    components: list[str] = []
    start = at = 0
    length = len(text)
    while at < length:
        stop = _SCOPE_TOKEN.search(text, at)
        if stop is None:
            break
        at = stop.start()
        char = text[at]
        if char == "o":
            end = _operator_end(text, at) if at == start else None
            at = at + 1 if end is None else end
        elif char == ":":
            if at > start:
                components.append(text[start:at])
            start = at = at + 2
        elif char == " ":  # what came before was the return type
            components.clear()
            start = at = at + 1
        elif char != "(":
            at = closing(text, at)
        elif at == start and text.startswith(ANONYMOUS, at):
            at += len(ANONYMOUS)
        else:
            end = closing(text, at)
            if at == start:
                inner = _function_returned_by(text[at + 1 : end - 1])
                if inner is not None:
                    return inner
                at = end
                continue
            after = _QUALIFIERS.match(text, end)
            rest = after.end() if after else end
            if rest >= length or text.startswith(_CONSTRAINT, rest):
                components.append(text[start:at])
                return tuple(components), text[at:end], text[end:rest].strip()
            at = rest if text.startswith("::", rest) else end
    components.append(text[start:])
    return tuple(part for part in components if part) or (text,), None, ""


def _function_returned_by(inner: str) -> tuple[tuple[str, ...], str | None, str] | None:
    """The name within ``void (*name(int))(double)``, a function that returns a function pointer."""
    declarator = inner.lstrip("*& ")
    if declarator == inner or "(" not in declarator:
        return None
    return _scopes(declarator)


def _operator_end(text: str, at: int) -> int | None:
    """The end of an operator's name that starts at ``at``, template arguments not included."""
    symbol = _OPERATOR.match(text, at)
    if symbol:
        end = symbol.end()
        return end + 1 if text.startswith(" <", end) else end
    if not text.startswith("operator ", at):
        return None
    end = at + len("operator ")  # a conversion: the type goes on until its empty parameter list
    while end < len(text):
        if text.startswith("()", end):
            return end
        end = closing(text, end) if text[end] in "<([{" else end + 1
    return end


def closing(text: str, at: int) -> int:
    """The index after the bracket that closes the one at ``at``; the end of the text when none does.

    ``<`` and ``>`` are brackets only where they are not operators of an expression: the
    demanglers put a comparison's operands into parentheses, so one that follows ``)`` is an operator.
    """
    stack = [text[at]]
    for token in _BRACKET.finditer(text, at + 1):
        found = token.group()
        if token.group(2):
            continue
        if found in _OPENING:
            stack.append(found)
        elif found in _CLOSING:
            opening = _CLOSING[found]
            if found == ">":
                if stack[-1] == "<":
                    stack.pop()
            else:
                while stack.pop() != opening:
                    if not stack:
                        return len(text)
        elif found == ">>" and stack[-2:] == ["<", "<"]:  # libc++abi puts no space between the two
            del stack[-2:]
        elif token.group(1):
            stack.append("<")
        if not stack:
            return token.end()
    return len(text)


def split_component(component: str) -> tuple[str, str | None, str | None]:
    """(base, template arguments or None, parameters of a scope that is a function or None).

    ABI tags (``[abi:cxx11]``) are left out of the base; a lambda's parameters too:
    ``{lambda(int)#1}`` has the base ``{lambda#1}``.
    """
    if component == ANONYMOUS:
        return component, None, None
    if component.startswith("{"):
        return _unnamed_base(component), None, None
    operator = _operator_end(component, 0) if component.startswith("operator") else None
    at = operator or 0
    base = component[:at].rstrip() if operator else ""
    arguments: str | None = None
    start = at
    while at < len(component):
        char = component[at]
        if char not in "<[(":
            at += 1
            continue
        if not operator and not base:
            base = component[start:at]
        end = closing(component, at)
        if char == "<":
            arguments = component[at:end]
        elif char == "(":
            return base, arguments, component[at:]
        at = end
    return base or component, arguments, None


def lambda_parameters(component: str) -> str | None:
    """``(int)`` of ``{lambda(int)#2}``; None of what is no lambda, or has no parameters in its text."""
    open_at = component.find("(")
    if not component.startswith("{lambda(") or open_at < 0:
        return None
    return component[open_at : closing(component, open_at)]


def _unnamed_base(component: str) -> str:
    """``{lambda(int)#2}`` -> ``{lambda#2}``; other braces as they are."""
    open_at = component.find("(")
    if open_at < 0:
        return component
    return component[:open_at] + component[closing(component, open_at) :]
