"""Parameter lists and template arguments in one spelling, so that a user's and the demangler's compare equal.

The demangler writes ``at::Tensor const&``, a user also ``const at::Tensor &``; ``std::string``
is ``std::__cxx11::basic_string<char, ...>``; the integer types of ``<cstdint>`` are those of LP64.
"""

from __future__ import annotations

import re

from .cxx_names import closing

_ALIASES = {
    "std::string": "std::basic_string<char,std::char_traits<char>,std::allocator<char>>",
    "std::wstring": "std::basic_string<wchar_t,std::char_traits<wchar_t>,std::allocator<wchar_t>>",
    "std::string_view": "std::basic_string_view<char,std::char_traits<char>>",
    "std::ostream": "std::basic_ostream<char,std::char_traits<char>>",
    "std::istream": "std::basic_istream<char,std::char_traits<char>>",
    "int8_t": "signed char",
    "uint8_t": "unsigned char",
    "int16_t": "short",
    "uint16_t": "unsigned short",
    "int32_t": "int",
    "uint32_t": "unsigned int",
    "int64_t": "long",
    "uint64_t": "unsigned long",
    "size_t": "unsigned long",
    "ssize_t": "long",
    "ptrdiff_t": "long",
    "intptr_t": "long",
    "uintptr_t": "unsigned long",
    "nullptr_t": "decltype(nullptr)",
}
_ALIAS = re.compile(
    r"(?<![\w:])(?:std::|::)?(" + "|".join(sorted(_ALIASES, key=len, reverse=True)) + r")(?![\w:])"
)
_UNNAMED_SCOPE = "(anonymous namespace)::"
_INLINE_NAMESPACES = re.compile(r"\b(?:__cxx11|__1|__ndk1|_V2)::")
_SPACES = re.compile(r"\s+")
_INNER_SPACE = re.compile(r"(?<=[\w$]) (?=[\w$])")
_INTEGER_WORDS = re.compile(r"(?<![\w:])(?:(?:unsigned|signed|long|short|int|char)\b ?)+")
_CV = re.compile(r"(?:const|volatile) ")
_INTEGER_LITERAL = re.compile(r"(?<=[<,])(-?\d+)(?:u?l{0,2})(?=[,>])")
# Classes whose last template arguments have defaults, and what these are: source code leaves them out.
_WITH_DEFAULTS = re.compile(
    r"(?<![\w:])std::(?:vector|deque|(?:forward_)?list|(?:unordered_)?(?:multi)?(?:set|map)|unique_ptr"
    r"|basic_(?:string|string_view|[io]?stream))(?=<)"
)
_DEFAULT = re.compile(r"std::(?:allocator|char_traits|less|hash|equal_to|default_delete)<")
_CONVERSION = re.compile(r"operator (?!new\b|delete\b|co_await\b|\"\")")
_LITERAL_OPERATOR = re.compile(r"operator\s*\"\"\s*(?=\w)")


def canonical(text: str) -> str:
    """One spelling of a parameter list, a template argument list or a type."""
    text = _SPACES.sub(" ", text.strip()).replace(_UNNAMED_SCOPE, "")  # source code leaves it out
    text = _INLINE_NAMESPACES.sub("", text)
    text = _ALIAS.sub(lambda match: _alias(match), text)
    text = _INTEGER_WORDS.sub(lambda match: _integer(match.group()), text)
    text = _tight(_qualifiers_behind(text)).replace("(void)", "()")
    return _INTEGER_LITERAL.sub(r"\1", _without_defaults(text))


def canonical_operator(base: str) -> str:
    """One spelling of the last part of a name: of the type that ``operator T`` converts to, and of ``operator"" _x``.

    Any other text is as it was. Template arguments of a conversion are left out where no type can have them: those
    of ``operator double*<double>``.
    """
    if base.startswith("operator") and (literal := _LITERAL_OPERATOR.match(base)) is not None:
        return 'operator""' + base[literal.end() :]
    conversion = _CONVERSION.match(base)
    if conversion is None:
        return base
    wanted = base[conversion.end() :]
    at = next((found.end() for found in re.finditer(r"[*&](?=<)", wanted)), len(wanted))
    return conversion.group() + canonical(wanted[:at])


def is_conversion(base: str) -> bool:
    """Whether the last part of a name is an operator that converts to a type: ``operator bool``."""
    return _CONVERSION.match(base) is not None


def _alias(match: re.Match[str]) -> str:
    name = match.group(1)
    return _ALIASES[name]


def _integer(words: str) -> str:
    """The demangler's spelling of ``long unsigned int``: ``unsigned long``."""
    parts = words.split()
    space = " " if words.endswith(" ") else ""
    if "char" in parts:
        names = [word for word in ("signed", "unsigned") if word in parts] + ["char"]
    else:
        size = ["short"] if "short" in parts else ["long"] * parts.count("long")
        names = (["unsigned"] if "unsigned" in parts else []) + (size or ["int"])
    return " ".join(names) + space


def _qualifiers_behind(text: str) -> str:
    """Move a leading ``const`` behind the type it belongs to, in every argument at every depth."""
    result: list[str] = []
    pending: list[str] = []
    at = 0
    at_start = True

    def flush() -> None:
        if pending:
            while result and result[-1] == " ":
                result.pop()
            result.extend(f" {word}" for word in pending)
            pending.clear()

    while at < len(text):
        char = text[at]
        if at_start and (word := _CV.match(text, at)):
            pending.append(word.group().strip())
            at = word.end()
            continue
        if char in "<(":
            end = closing(text, at)
            if char == "(":
                flush()
            inner = text[at + 1 : end - 1] if end <= len(text) and end - 1 > at else ""
            result.append(char + _qualifiers_behind(inner) + text[end - 1 : end])
            at = end
            at_start = False
            continue
        if char in "&*,)[":
            flush()
        result.append(char)
        at_start = char == "," or (at_start and char == " ")
        at += 1
    flush()
    return "".join(result)


def _tight(text: str) -> str:
    """No space but between two words."""
    words = _INNER_SPACE.sub("\0", text)
    return words.replace(" ", "").replace("\0", " ")


def _without_defaults(text: str) -> str:
    """A type of the C++ library without the last arguments that are the defaults, at every depth."""
    at = 0
    while (found := _WITH_DEFAULTS.search(text, at)) is not None:
        at, end = found.end(), closing(text, found.end())
        arguments = [_without_defaults(one) for one in separated(text[at + 1 : end - 1])]
        while len(arguments) > 1 and _DEFAULT.match(arguments[-1]):
            arguments.pop()
        inner = f"<{','.join(arguments)}>"
        text = text[:at] + inner + text[end:]
        at += len(inner)
    return text


def separated(text: str) -> list[str]:
    """The entries of a list of parameters or template arguments: the parts between the commas that are in no brackets.

    None of an empty list.
    """
    parts, start, at = [], 0, 0
    while at < len(text):
        if text[at] in "<([{":
            at = closing(text, at)
            continue
        if text[at] == ",":
            parts.append(text[start:at].strip())
            start = at + 1
        at += 1
    last = text[start:].strip()
    return [*parts, last] if last else parts
