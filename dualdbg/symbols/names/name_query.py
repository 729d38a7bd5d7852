"""From the name a user writes to the strings of a symbol table that may spell it.

The Itanium mangling writes every identifier of a name in full, with its length before it
(``at::native::randn`` is ``2at6native5randn``), so a byte search finds the few strings that can
be meant; only those are demangled and compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from string import ascii_letters, digits

from ...toolchains.rust.names import rust_paths, short_rust_name
from .cxx_names import ANONYMOUS, TRANSPARENT, CxxName, lambda_parameters, parse, split_component
from .cxx_types import canonical, canonical_operator, is_conversion

GLOB_CHARACTERS = frozenset("*?")
_GLOB_LETTERS = GLOB_CHARACTERS | frozenset(ascii_letters + digits + "_")
# Names that the mangling abbreviates (Itanium C++ ABI 5.1.10): St, Sa, Ss, Sb, Si, So, Sd.
_ABBREVIATED = frozenset(
    {
        "std",
        "allocator",
        "basic_string",
        "string",
        "basic_istream",
        "basic_ostream",
        "basic_iostream",
        "istream",
        "ostream",
        "iostream",
    }
)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*$")
_WORD = re.compile(r"(?<![\w$.#:'])[A-Za-z_][\w$]*|(?<=::)[A-Za-z_][\w$]*")
_ANY_WORD = re.compile(r"\w+")
_INTEGER = re.compile(r"(?<=[<,)])(-?\d+)(?:u?l?l?)(?=[,>])")
_LAMBDA = re.compile(r"\{lambda\([^{}]*\)#(\d+)\}")
# Words of a demangled text that the mangled one does not spell: built-in types, keywords, descriptions.
_UNSPELLED_WORDS = """
    char_traits anonymous namespace lambda unnamed type default arg auto decltype operator new delete
    const volatile restrict noexcept void bool char short int long signed unsigned float double wchar_t
    char8_t char16_t char32_t __int128 __float128 _Float16 half _Complex _Imaginary complex imaginary
    nullptr true false sizeof alignof typeid throw static_cast dynamic_cast reinterpret_cast const_cast
    this abi clone __vector co_await decimal32 decimal64 decimal128 nullptr_t template parameter object
    requires
"""
_UNSPELLED = _ABBREVIATED | set(_UNSPELLED_WORDS.split())
_CLONE_SUFFIX = re.compile(
    r"(?:\.(?:cold|part|constprop|isra|lto_priv|localalias|llvm|resolver|_omp_fn|__uniq)(?:\.\d+)*)+$"
)
_LITERAL = re.compile(r"[\w$]+")
_TRAILING = re.compile(r"(?: const| volatile| ?&&?| \[clone [^\]]*\])+$")
_SPACE_BEFORE_LIST = re.compile(r"(?<=[\w)>\]])\s+\((?![*&]|anonymous namespace\))")
# A product, or the type that an operator converts to.
_AFTER_OPERATOR = re.compile(
    r"\boperator(?:\s*[*?]|\s(?!\s*(?:new|delete)\b)[\w:][\w:\s]*(?:<.*>)?[\w:\s*&]*)"
)
# Itanium C++ ABI 5.1.3, operator encodings; a symbol with two entries is unary or binary.
_OPERATOR_CODES: dict[str, tuple[bytes, ...]] = {
    "new": (b"nw",), "new[]": (b"na",), "delete": (b"dl",), "delete[]": (b"da",), "co_await": (b"aw",),
    "~": (b"co",), "+": (b"pl", b"ps"), "-": (b"mi", b"ng"), "*": (b"ml", b"de"), "/": (b"dv",),
    "%": (b"rm",),
    "&": (b"an", b"ad"), "|": (b"or",), "^": (b"eo",), "=": (b"aS",), "+=": (b"pL",), "-=": (b"mI",),
    "*=": (b"mL",), "/=": (b"dV",), "%=": (b"rM",), "&=": (b"aN",), "|=": (b"oR",), "^=": (b"eO",),
    "<<": (b"ls",), ">>": (b"rs",), "<<=": (b"lS",), ">>=": (b"rS",), "==": (b"eq",), "!=": (b"ne",),
    "<": (b"lt",), ">": (b"gt",), "<=": (b"le",), ">=": (b"ge",), "<=>": (b"ss",), "!": (b"nt",),
    "&&": (b"aa",), "||": (b"oo",), "++": (b"pp",), "--": (b"mm",), ",": (b"cm",), "->*": (b"pm",),
    "->": (b"pt",), "()": (b"cl",), "[]": (b"ix",),
}  # fmt: skip


@dataclass(frozen=True)
class Query:
    """A name as a user wrote it, ready to be compared with demangled names.

    ``text`` is the name without a leading ``::``; ``anchored`` is true when it had one, or was
    asked for exactly: then no further scope may stand before it.
    """

    text: str
    anchored: bool
    exact: bool = False

    @classmethod
    @lru_cache(maxsize=256)  # one name is looked for in each library that is loaded
    def of(cls, name: str, exact: bool = False) -> Query:
        """What the user typed. ``exact``: no further scope may stand before it, and it is no pattern."""
        text = name.strip() if exact else _SPACE_BEFORE_LIST.sub("(", name.strip())
        return cls(text[2:] if text.startswith("::") else text, exact or text.startswith("::"), exact)

    @cached_property
    def is_glob(self) -> bool:
        """True for ``at::*softmax*``. A ``*`` in brackets is a pointer, after ``operator`` a product."""
        return not self.exact and bool(GLOB_CHARACTERS & set(_name_part(self.text)))

    @property
    def is_linkage_name(self) -> bool:
        """Whether it is a mangled name, of the Itanium C++ ABI."""
        return self.text.startswith("_Z") and _IDENTIFIER.match(self.text.partition(".")[0]) is not None

    @property
    def is_c_name(self) -> bool:
        """True for an identifier, also with the suffix of a compiler's clone."""
        return _IDENTIFIER.match(self.text.replace(".", "_")) is not None

    @cached_property
    def parsed(self) -> CxxName:
        """The name in its parts."""
        return parse(self.text)

    @cached_property
    def _parts(self) -> list[tuple[str, str | None, str | None]]:
        parts = [_component(component) for component in self.parsed.components]
        return [(base, canonical(a) if a else None, canonical(p) if p else None) for base, a, p in parts]

    @cached_property
    def _parameters(self) -> str | None:
        return None if self.parsed.parameters is None else canonical(self.parsed.parameters)

    @cached_property
    def _bracketed(self) -> list[str]:
        """The template arguments and parameters that the query gives."""
        texts = [text for _, arguments, parameters in self._parts for text in (arguments, parameters) if text]
        return texts + ([self._parameters] if self._parameters else [])

    @cached_property
    def _words(self) -> set[str]:
        """Words of the template arguments and parameters that a text with the same ones holds as well."""
        words = {word for text in self._bracketed for word in _ANY_WORD.findall(text)} - _UNSPELLED
        return {word for word in words if not word[0].isdigit()}  # a number may have a suffix there

    @cached_property
    def needles(self) -> list[bytes]:
        """Byte strings that every mangled form of the name holds."""
        if self.is_glob:
            return [text.encode() for text in _LITERAL.findall(self.text) if text not in _ABBREVIATED]
        found = {needle for base, _, _ in self._parts for needle in _needles_of(base)}
        for text in self._bracketed:
            words = set(_WORD.findall(text)) - _UNSPELLED
            found.update(_length_prefixed(word) for word in words)
            found.update(_integer_needle(number) for number in _INTEGER.findall(text))
            found.update(_lambda_needle(int(number)) for number in _LAMBDA.findall(text))
        return sorted(found)

    @cached_property
    def glob(self) -> re.Pattern[str]:
        """``*`` is any text within one scope, ``**`` any text; matched from the start of a scope."""
        before = "" if self.anchored else r"(?:.*::)?"
        return re.compile(before + _glob_pattern(self.text) + r"\Z", re.DOTALL)

    @cached_property
    def _endings(self) -> tuple[str, ...]:
        """The last component and what can follow it; one of these is in the demangled text."""
        base = self._parts[-1][0]
        if base.startswith('operator""') or is_conversion(base):
            return ("operator",)
        if not _IDENTIFIER.match(base.lstrip("~")):
            return (base.partition("#")[0].partition("(")[0].rstrip("}"),)
        return tuple(base + after for after in ("(", "<", "[abi:", " [clone"))

    def _is_plausible(self, demangled: str) -> bool:
        """A quick look, before a demangled text is taken apart."""
        return any(ending in demangled for ending in self._endings) or demangled.endswith(self._parts[-1][0])

    @cached_property
    def plain(self) -> bytes | None:
        """The bytes of a name that may belong to C, or is a linkage name; None for a qualified name or a glob."""
        plain = self.is_linkage_name or (self.is_c_name and not self.is_glob)
        return self.text.encode() if plain else None

    def is_plain(self, string: bytes) -> bool:
        """True when a symbol of this name is the C function that is meant, or a clone or a version of it."""
        plain = self.plain or b""
        if not string.startswith(plain) or string[len(plain) : len(plain) + 1] not in (b"", b".", b"@"):
            return False
        name = string.partition(b"@")[0].decode("utf-8", "replace")
        return name == self.text or (not self.exact and name == self.text + (clone_suffix(name) or ""))

    def candidates(self, offset: int, string: bytes) -> Iterator[tuple[int, bytes]]:
        """(offset, name) for each symbol that may be in ``string``, which is at ``offset``.

        The linker stores a name that ends another name only once: a symbol may start at any ``_Z``.
        """
        at = string.find(b"_Z")
        if self.is_glob and at != 0 and self.may_mean(string):
            yield offset, string
        while at >= 0:
            name = string[at:]
            if self.may_mean(name):
                yield offset + at, name
            at = string.find(b"_Z", at + 1)

    def may_mean(self, mangled: bytes) -> bool:
        """False when the start of a mangled name alone shows that it is another function."""
        if any(needle not in mangled for needle in self.needles):
            return False
        if self.is_glob:
            leading = leading_name(mangled) if self._last_glob is not None else None
            return leading is None or self._last_glob is None or self._last_glob.match(leading) is not None
        if self._last is None:
            return True
        if not self._ending.search(mangled) and not mangled.startswith(self._unscoped):
            return False
        leading = leading_name(mangled)
        return leading is None or leading == self._parts[-1][0].encode()

    @cached_property
    def _last_glob(self) -> re.Pattern[bytes] | None:
        """The last scope of a glob, which rules out most names before they are demangled; None with ``**`` in it."""
        last = self.text.rpartition("::")[2]
        if "**" in last or not set(last) <= _GLOB_LETTERS:
            return None
        return re.compile(_glob_pattern(last).encode() + rb"\Z")

    @cached_property
    def _last(self) -> bytes | None:
        """The last identifier as the mangling writes it; None for a name that ends in an operator or a lambda."""
        name = self._parts[-1][0].lstrip("~")
        return _length_prefixed(name) if _IDENTIFIER.match(name) else None

    @cached_property
    def _ending(self) -> re.Pattern[bytes]:
        """The last identifier, followed by the end of its scope, by arguments or by a tag."""
        spelled = re.escape(self._last or b"") + rb"(?:[EIB]|[CD][0-9I])"
        if self._parts[-1][0].lstrip("~") not in _ABBREVIATED:
            return re.compile(spelled)
        # A constructor or destructor has no name of its own: it is written behind the short form of its class.
        return re.compile(spelled + rb"|N[rVK]*[RO]?S[absiod](?:I|[CD][0-9I])")

    @cached_property
    def _unscoped(self) -> tuple[bytes, ...]:
        return tuple(head + (self._last or b"") for head in (b"_Z", b"_ZL", b"_ZSt", b"_ZStL"))

    def matches(self, demangled: str) -> bool:
        """True when the query names the function (or variable) whose demangled name this is."""
        if self.exact:
            return demangled == self.text
        if self.is_glob:
            name = parse(demangled)
            return not name.special and self.glob.match(_without_anonymous(self.text, name)) is not None
        if not self._is_plausible(demangled) or not self._words <= set(_ANY_WORD.findall(demangled)):
            return False
        return self._matches_name(parse(demangled))

    def matches_rust(self, demangled: str) -> bool:
        """True when the query names the function of Rust whose demangled name this is, generic arguments or not."""
        paths = rust_paths(demangled)
        if self.is_glob:
            return any(self.glob.match("::".join(path)) for path in paths)
        wanted = rust_paths(self.text)
        if " as " in self.text:
            if demangled.endswith(self.text) or short_rust_name(demangled).endswith(self.text):
                return True
            told = len(paths) == len(wanted) and short_rust_name(self.text) == self.text
            return told and all(self._ends(path, part) for path, part in zip(paths, wanted, strict=True))
        return any(self._ends(path, wanted[0]) for path in paths)

    def _ends(self, path: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
        """Whether a path of Rust is the wanted one, but for scopes in front."""
        return path == wanted if self.anchored else path[-len(wanted) :] == wanted

    def _matches_name(self, name: CxxName) -> bool:
        query = self.parsed
        if name.special != query.special:
            return False
        if query.clones and query.clones != name.clones:
            return False
        if self._parameters is not None:
            if name.parameters is None or canonical(name.parameters) != self._parameters:
                return False
            if query.qualifiers and canonical(query.qualifiers) != canonical(name.qualifiers):
                return False
        return self._matches_scopes(name.components)

    def _matches_scopes(self, components: tuple[str, ...]) -> bool:
        at = len(components) - 1
        for base, arguments, parameters in reversed(self._parts):
            while True:
                if at < 0:
                    return False
                other, other_arguments, other_parameters = _component(components[at])
                at -= 1
                if base == other:
                    break
                if not (other in TRANSPARENT or _VERSION.fullmatch(other)) or at == len(components) - 2:
                    return False
            if arguments is not None and canonical(other_arguments or "") != arguments:
                return False
            if parameters is not None and canonical(other_parameters or "") != parameters:
                return False
        return not self.anchored or all(c in TRANSPARENT for c in components[: at + 1])


# How inline namespaces are called, which symbols do not tell from others: v2, json_abi_v3_11_2, lts_20240722, __8.
_VERSION = re.compile(r"(?:\w*_)?v\d\w*|lts_\d+|__\d+")
_GLOB_TOKENS = re.compile(r"\*\*|\*|\?|[^*?]+")
_GLOB_PARTS = {"**": ".*", "*": "(?:(?!::).)*", "?": "."}


def leading_name(mangled: bytes) -> bytes | None:
    """The identifier of a mangled name without its scopes, where no template argument stands before it.

    ``_ZN2at6native5randnE...`` -> ``randn``, ``_ZN3FooD1Ev`` -> ``~Foo``; None where the mangling is not that simple.
    """
    head = _HEAD.match(mangled)
    if head is None:
        return None
    nested, at = head.group(1) is not None, head.end()
    name: bytes | None = None
    while (digits := _LENGTH.match(mangled, at)) is not None:
        at = digits.end() + int(digits.group(1))
        name = mangled[digits.end() : at]
        if not nested:
            return name
    end = mangled[at : at + 2]
    if end[:1] == b"E":
        return name
    if end in (b"C1", b"C2", b"C3") and mangled[at + 2 : at + 3] == b"E":
        return name
    if end in (b"D0", b"D1", b"D2") and mangled[at + 2 : at + 3] == b"E":
        return None if name is None else b"~" + name
    return None


_HEAD = re.compile(rb"_Z(?:(N)[rVK]*[RO]?)?(?:St)?L?")
_LENGTH = re.compile(rb"L?([1-9]\d*)")


def _glob_pattern(text: str) -> str:
    return "".join(_GLOB_PARTS.get(part, re.escape(part)) for part in _GLOB_TOKENS.findall(text))


def _without_anonymous(pattern: str, name: CxxName) -> str:
    """The short name, unnamed scopes left out unless the pattern names them."""
    if ANONYMOUS in pattern:
        return name.short
    return "::".join(base for base in name.bases if base not in TRANSPARENT)


def _name_part(text: str) -> str:
    """The text without what is in brackets, without a return type and without qualifiers."""
    depth, kept = 0, []
    for char in _AFTER_OPERATOR.sub("operator", text):
        if char in "(<":
            depth += 1
        elif char in ")>":
            depth -= 1
        elif depth <= 0:
            kept.append(char)
    return _TRAILING.sub("", "".join(kept)).rpartition(" ")[2]


def _component(text: str) -> tuple[str, str | None, str | None]:
    """As :func:`split_component`, but with a lambda's parameters: GCC 14 and later numbers each list of them.

    Operators that are named by a type or a word have one spelling.
    """
    base, arguments, parameters = split_component(text)
    return canonical_operator(base), arguments, parameters or lambda_parameters(text)


def _needles_of(base: str) -> list[bytes]:
    if base == ANONYMOUS:
        return [b"_GLOBAL_"]
    if base in _ABBREVIATED:
        return []
    if base.startswith("~"):
        return _needles_of(base[1:])
    if base.startswith("{lambda"):
        return [b"Ul"]
    if base.startswith("operator") and not _IDENTIFIER.match(base):
        symbol = base[len("operator") :].strip()
        codes = _OPERATOR_CODES.get(symbol)
        if codes:
            return [codes[0]] if len(codes) == 1 else []
        if symbol.startswith('""'):
            literal = symbol[2:].strip()
            return [f"{len(literal)}{literal}".encode()]
        return [b"cv"]
    if _IDENTIFIER.match(base):
        return [_length_prefixed(base)]
    return []


def clone_suffix(linkage_name: str) -> str | None:
    """``.constprop.0`` of ``_Z3foov.constprop.0``; None for a function as it was written."""
    if linkage_name.startswith("_Z"):
        _, dot, suffix = linkage_name.partition(".")
        return dot + suffix if dot else None
    found = _CLONE_SUFFIX.search(linkage_name)
    return found.group() if found else None


def _integer_needle(number: str) -> bytes:
    """The end of a literal template argument: ``3`` is ``Li3E``, ``-1`` is ``Lin1E``."""
    return number.replace("-", "n").encode() + b"E"


def _lambda_needle(number: int) -> bytes:
    """The end of a closure type: the first of a scope is ``UlvE_``, the third ``UlvE1_``."""
    return b"E_" if number == 1 else f"E{number - 2}_".encode()


def _length_prefixed(identifier: str) -> bytes:
    encoded = identifier.encode()
    return str(len(encoded)).encode() + encoded
