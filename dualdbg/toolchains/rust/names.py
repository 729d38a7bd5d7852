"""Names of Rust functions for people, as rustc prints them: of both manglings, without the hashes. Pure.

The v0 mangling is that of RFC 2603 ("_RNvCs1234_7mycrate3foo"). The legacy one has the shape of C++'s, with a hash for
its last name ("_ZN7mycrate3foo17h0123456789abcdefE") and escapes for what C++ cannot spell.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# No pattern has one repetition within another: a name of a library could keep such a pattern busy for ever.
_V0 = re.compile(r"_R[BCIMNXY]\w*")
_HASH = re.compile(r"17h[0-9a-f]{16}E")
_SUFFIX = re.compile(r"(?:\.(?:llvm\.\w+|cold|constprop|isra|part|lto_priv)|\.\d+|@.*)+$")
_ESCAPES = {"SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ","}
_ESCAPE = re.compile(r"\$(u[0-9a-f]+|[A-Z]+)\$|\.\.|\.")
_BASIC = {
    "a": "i8", "b": "bool", "c": "char", "d": "f64", "e": "str", "f": "f32", "h": "u8", "i": "isize", "j": "usize",
    "l": "i32", "m": "u32", "n": "i128", "o": "u128", "p": "_", "s": "i16", "t": "u16", "u": "()", "v": "...",
    "x": "i64", "y": "u64", "z": "!",
}  # fmt: skip
_PLAIN_PATH = re.compile(r"\w+(?:::[\w{}#]+)*")
_MOST_LETTERS = 20_000  # of a demangled name: back references may repeat each other
_MOST_DEPTH = 200


def is_rust(mangled: str) -> bool:
    """Whether a linkage name is one that rustc makes."""
    if mangled.startswith("_ZN"):
        return "17h" in mangled and _HASH.search(mangled) is not None
    return _V0.match(mangled) is not None


def demangle_rust(mangled: str) -> str | None:
    """The path that a linkage name stands for: ``mycrate::shapes::Square::grown``; None for what rustc did not make."""
    name = _SUFFIX.sub("", mangled)
    if _V0.fullmatch(name):
        try:
            return _V0Reader(name[2:]).read()
        except (_Garbled, IndexError, ValueError, RecursionError):
            return None
    return _legacy(name) if name.startswith("_ZN") and _HASH.fullmatch(name, max(len(name) - 20, 0)) else None


def scope_of_implementation(mangled: str) -> str | None:
    """The scope of a method in debug info, by its v0 name: ``mycrate::shapes::{impl#1}``, the second ``impl`` there.

    None where the name has no ``impl``, or does not tell which one it is: the legacy mangling has its types only.
    """
    name = _SUFFIX.sub("", mangled)
    if not _V0.fullmatch(name):
        return None
    reader = _V0Reader(name[2:])
    try:
        reader.read()
    except (_Garbled, IndexError, ValueError, RecursionError):
        return None
    return reader.implementation


# -- the legacy mangling --------------------------------------------------------------------------


def _legacy(name: str) -> str | None:
    parts, at = [], len("_ZN")
    while at < len(name) and name[at] != "E":
        digits = re.match(r"\d+", name[at:])
        if digits is None:
            return None
        at += digits.end()
        length = int(digits[0])
        parts.append(name[at : at + length])
        at += length
    if at != len(name) - 1 or len(parts) < 2:
        return None
    return "::".join(map(_unescaped, parts[:-1]))  # the last one is the hash


def _unescaped(part: str) -> str:
    if part.startswith("_$"):
        part = part[1:]
    return _ESCAPE.sub(_letter, part)


def _letter(match: re.Match[str]) -> str:
    code = match[1]
    if code is None:
        return "::" if match[0] == ".." else "-"
    if code in _ESCAPES:
        return _ESCAPES[code]
    return chr(int(code[1:], 16)) if code[0] == "u" else match[0]


# -- the v0 mangling ------------------------------------------------------------------------------


class _Garbled(Exception):
    """The text is no mangled name."""


class _V0Reader:
    """Reads one name from its beginning; positions count from behind ``_R``, as back references do."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._letters = 0
        self._binders = 0
        self.implementation: str | None = None  # the outermost ``impl``

    def read(self) -> str:
        """The path. What may follow it, the crate that made the instance, is left out."""
        if self._text[0].isdigit():
            raise _Garbled  # a version that does not exist yet
        return self._path(in_value=True)

    # -- letters ---

    def _next(self) -> str:
        letter = self._text[self._at]
        self._at += 1
        return letter

    def _take(self, letter: str) -> bool:
        if self._text.startswith(letter, self._at):
            self._at += 1
            return True
        return False

    def _base62(self) -> int:
        if self._take("_"):
            return 0
        value = 0
        while (letter := self._next()) != "_":
            if letter.isdigit():
                digit = int(letter)
            elif "a" <= letter <= "z":
                digit = ord(letter) - ord("a") + 10
            elif "A" <= letter <= "Z":
                digit = ord(letter) - ord("A") + 36
            else:
                raise _Garbled
            value = value * 62 + digit
        return value + 1

    def _disambiguator(self) -> int:
        return self._base62() + 1 if self._take("s") else 0

    def _identifier(self) -> str:
        encoded = self._take("u")
        start = self._at
        if self._text[start] == "0":
            self._at += 1
        else:
            while self._text[self._at].isdigit():
                self._at += 1
        length = int(self._text[start : self._at])
        self._take("_")
        name = self._text[self._at : self._at + length]
        self._at += length
        if len(name) != length:
            raise _Garbled
        return _from_punycode(name) if encoded else name

    def _behind(self, read: Callable[[], str]) -> str:
        """What ``read`` makes of the place that a back reference names."""
        target = self._base62()
        here = self._at
        if target >= here:
            raise _Garbled
        self._at = target
        try:
            return read()
        finally:
            self._at = here

    def _enter(self, text: str = "") -> None:
        self._depth += 1
        self._letters += len(text) + 1
        if self._depth > _MOST_DEPTH or self._letters > _MOST_LETTERS:
            raise _Garbled

    # -- paths ---

    def _path(self, in_value: bool) -> str:
        self._enter()
        try:
            return self._path_of(self._next(), in_value)
        finally:
            self._depth -= 1

    def _path_of(self, kind: str, in_value: bool) -> str:
        if kind == "C":
            self._disambiguator()
            return self._identifier()
        if kind == "M":
            self._implementation()
            return f"<{self._type()}>"
        if kind == "X":
            self._implementation()
            return f"<{self._type()} as {self._path(in_value=False)}>"
        if kind == "Y":
            return f"<{self._type()} as {self._path(in_value=False)}>"
        if kind == "N":
            return self._nested(in_value)
        if kind == "I":
            path = self._path(in_value)
            arguments = ", ".join(self._until_end(self._argument))
            return f"{path}::<{arguments}>" if in_value else f"{path}<{arguments}>"
        if kind == "B":
            return self._behind(lambda: self._path(in_value))
        raise _Garbled

    def _implementation(self) -> None:
        """Where an ``impl`` stands is not a part of the name: the type says it."""
        number = self._disambiguator()
        is_first = self.implementation is None
        if is_first:
            self.implementation = ""
        path = self._path(in_value=False)
        if is_first:
            self.implementation = f"{path}::{{impl#{number}}}"

    def _nested(self, in_value: bool) -> str:
        namespace = self._next()
        outer = self._path(in_value)
        number = self._disambiguator()
        name = self._identifier()
        if namespace.isupper():
            word = {"C": "closure", "S": "shim"}.get(namespace, namespace)
            return f"{outer}::{{{word}{':' + name if name else ''}#{number}}}"
        return f"{outer}::{name}" if name else outer

    def _until_end(self, read: Callable[[], str]) -> list[str]:
        found = []
        while not self._take("E"):
            found.append(read())
        return found

    def _argument(self) -> str:
        if self._take("L"):
            return self._lifetime()
        if self._take("K"):
            return self._constant()
        return self._type()

    def _lifetime(self) -> str:
        index = self._base62()
        if index == 0:
            return "'_"
        depth = self._binders - index
        if depth < 0:
            raise _Garbled
        return f"'{chr(ord('a') + depth)}" if depth < 26 else f"'_{depth}"

    # -- types and constants ---

    def _type(self) -> str:
        self._enter()
        try:
            return self._type_of(self._next())
        finally:
            self._depth -= 1

    def _type_of(self, kind: str) -> str:
        if kind in _BASIC:
            return _BASIC[kind]
        if kind == "A":
            return f"[{self._type()}; {self._constant()}]"
        if kind == "S":
            return f"[{self._type()}]"
        if kind == "T":
            parts = self._until_end(self._type)
            return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"
        if kind in "RQ":
            lifetime = self._lifetime() + " " if self._take("L") else ""
            lifetime = "" if lifetime == "'_ " else lifetime
            return f"&{lifetime}{'mut ' if kind == 'Q' else ''}{self._type()}"
        if kind in "PO":
            return f"*{'const' if kind == 'P' else 'mut'} {self._type()}"
        if kind == "F":
            return self._bound(self._function)
        if kind == "D":
            text = self._bound(lambda: " + ".join(self._until_end(self._trait)))
            if not self._take("L"):
                raise _Garbled
            lifetime = self._lifetime()
            return f"dyn {text}" + (f" + {lifetime}" if lifetime != "'_" else "")
        if kind == "B":
            return self._behind(self._type)
        self._at -= 1
        return self._path(in_value=False)

    def _bound(self, read: Callable[[], str]) -> str:
        """``for<'a>`` and what it is about."""
        if not self._take("G"):
            return read()
        count = self._base62() + 1
        if count > _MOST_DEPTH:
            raise _Garbled
        self._binders += count
        try:
            names = ", ".join(f"'{chr(ord('a') + self._binders - count + index)}" for index in range(count))
            return f"for<{names}> {read()}"
        finally:
            self._binders -= count

    def _function(self) -> str:
        unsafe = "unsafe " if self._take("U") else ""
        abi = ""
        if self._take("K"):
            abi = 'extern "C" ' if self._take("C") else f'extern "{self._identifier().replace("_", "-")}" '
        parameters = ", ".join(self._until_end(self._type))
        returned = self._type()
        return f"{unsafe}{abi}fn({parameters})" + (f" -> {returned}" if returned != "()" else "")

    def _trait(self) -> str:
        path = self._path(in_value=False)
        bindings = []
        while self._take("p"):
            name = self._identifier()
            bindings.append(f"{name} = {self._constant() if self._take('K') else self._type()}")
        if not bindings:
            return path
        inner = ", ".join(bindings)
        return f"{path[:-1]}, {inner}>" if path.endswith(">") else f"{path}<{inner}>"

    def _constant(self) -> str:
        self._enter()
        try:
            return self._constant_of(self._next())
        finally:
            self._depth -= 1

    def _constant_of(self, kind: str) -> str:
        if kind == "p":
            return "_"
        if kind == "B":
            return self._behind(self._constant)
        if kind in "RQ":
            return f"&{'mut ' if kind == 'Q' else ''}{self._constant()}"
        if kind == "A":
            return f"[{', '.join(self._until_end(self._constant))}]"
        if kind == "T":
            return f"({', '.join(self._until_end(self._constant))})"
        if kind == "V":
            path = self._path(in_value=True)
            form = self._next()
            if form == "U":
                return path
            if form == "T":
                return f"{path}({', '.join(self._until_end(self._constant))})"
            return f"{path} {{ {', '.join(self._until_end(self._named_constant))} }}"
        negative = self._take("n")
        digits = ""
        while (letter := self._next()) != "_":
            digits += letter
        value = int(digits or "0", 16)
        if kind == "b":
            return "true" if value else "false"
        if kind == "c":
            return repr(chr(value))
        if kind == "e":
            return f'"{bytes.fromhex(digits).decode("utf-8", "replace")}"'
        return f"{'-' if negative else ''}{value}"

    def _named_constant(self) -> str:
        self._disambiguator()
        name = self._identifier()
        return f"{name}: {self._constant()}"


def _from_punycode(name: str) -> str:
    """The letters of an identifier: RFC 3492, with ``_`` for the ``-`` between its parts."""
    basic, _, extended = name.rpartition("_")
    return (f"{basic}-{extended}" if basic else extended).encode().decode("punycode")


# -- what a user types ----------------------------------------------------------------------------


_IMPLEMENTATION = "::<impl "


def _plain_implementation(name: str) -> str:
    """The legacy name of a method whose ``impl`` is not beside its type, in the form of all others.

    ``a::b::<impl a::T>::f`` is ``<a::T>::f``, ``a::b::<impl a::Tr for a::T>::f`` is ``<a::T as a::Tr>::f``.
    """
    at = name.find(_IMPLEMENTATION)
    if at < 0:
        return name
    start = at + len("::")
    end = _closing(name, start)
    halves = _split_outside(name[at + len(_IMPLEMENTATION) : end - 1], " for ")
    return _plain_implementation(f"<{' as '.join(reversed(halves))}>{name[end:]}")


def rust_paths(name: str) -> list[tuple[str, ...]]:
    """The paths by which a demangled name may be called, each a tuple of names without generic arguments.

    ``<shapes::Square as shapes::Shape>::area`` is ``shapes::Square::area`` and ``shapes::Shape::area``.
    """
    name = _plain_implementation(name)
    if name.startswith("<"):
        end = _closing(name, 0)
        inner, rest = name[1 : end - 1], name[end:]
        halves = _split_outside(inner, " as ")
        return [(*path, *_names(rest)) for half in halves for path in rust_paths(half.lstrip("&*"))]
    return [_names(name)]


def short_rust_name(name: str) -> str:
    """The name without generic arguments: ``sort`` for ``sort::<i64>``, ``Vec::push`` for ``<Vec<T>>::push``."""
    name = _plain_implementation(name)
    if not name.startswith("<"):
        return "::".join(_names(name))
    end = _closing(name, 0)
    inner, rest = name[1 : end - 1], "::".join(_names(name[end:]))
    halves = [_short_type(half) for half in _split_outside(inner, " as ")]
    first = halves[0] if len(halves) == 1 and _PLAIN_PATH.fullmatch(halves[0]) else f"<{' as '.join(halves)}>"
    return f"{first}::{rest}"


def _short_type(text: str) -> str:
    return short_rust_name(text) if text.startswith("<") or _PLAIN_PATH.match(text) else text


def _names(path: str) -> tuple[str, ...]:
    parts = (_without_arguments(part) for part in _split_outside(path, "::"))
    return tuple(part for part in parts if part)


def _without_arguments(part: str) -> str:
    return part if part.startswith("{") else part.partition("<")[0]


def _split_outside(text: str, separator: str) -> list[str]:
    """The parts between the separators that no bracket encloses."""
    parts, start, at = [], 0, 0
    while at < len(text):
        if text[at] in "<([{":
            at = _closing(text, at)
        elif text.startswith(separator, at):
            parts.append(text[start:at])
            at += len(separator)
            start = at
        else:
            at += 1
    parts.append(text[start:])
    return parts


def _closing(text: str, at: int) -> int:
    """The index behind the bracket that closes the one at ``at``; an arrow is no bracket."""
    depth = 0
    for index in range(at, len(text)):
        letter = text[index]
        if letter in "<([{":
            depth += 1
        elif letter in ")]}" or (letter == ">" and text[index - 1] != "-"):
            depth -= 1
            if depth == 0:
                return index + 1
    return len(text)
