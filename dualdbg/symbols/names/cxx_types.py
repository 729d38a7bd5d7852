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
}
_ALIAS = re.compile(
    r"(?<![\w:])(?:std::|::)?(" + "|".join(sorted(_ALIASES, key=len, reverse=True)) + r")(?![\w:])"
)
_INLINE_NAMESPACES = re.compile(r"\b(?:__cxx11|__1|__ndk1|_V2)::")
_SPACES = re.compile(r"\s+")
_INNER_SPACE = re.compile(r"(?<=[\w$]) (?=[\w$])")
_INTEGER_WORDS = re.compile(r"(?<![\w:])(?:(?:unsigned|signed|long|short|int|char)\b ?)+")
_CV = re.compile(r"(?:const|volatile) ")


def canonical(text: str) -> str:
    """One spelling of a parameter list, a template argument list or a type."""
    text = _INLINE_NAMESPACES.sub("", _SPACES.sub(" ", text.strip()))
    text = _ALIAS.sub(lambda match: _alias(match), text)
    text = _INTEGER_WORDS.sub(lambda match: _integer(match.group()), text)
    text = _qualifiers_behind(text)
    return _tight(text).replace("(void)", "()")


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
