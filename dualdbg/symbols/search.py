"""From the name a user writes to the strings of a symbol table that may spell it.

The Itanium mangling writes every identifier of a name in full, with its length before it
(``at::native::randn`` is ``2at6native5randn``), so a byte search finds the few strings that can
be meant; only those are demangled and compared.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from .cxx_names import ANONYMOUS, TRANSPARENT, CxxName, parse, split_component
from .cxx_types import canonical

GLOB_CHARACTERS = frozenset("*?")
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
_LITERAL = re.compile(r"[\w$]+")
_WILD_OPERATOR = re.compile(r"operator\s*[*?]")
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
    def of(cls, name: str, exact: bool = False) -> Query:
        text = name.strip()
        return cls(text[2:] if text.startswith("::") else text, exact or text.startswith("::"), exact)

    @property
    def is_glob(self) -> bool:
        """True for ``at::*softmax*``. A ``*`` in brackets is a pointer, after ``operator`` a product."""
        return not self.exact and bool(GLOB_CHARACTERS & set(_outside_brackets(self.text)))

    @property
    def is_linkage_name(self) -> bool:
        return self.text.startswith("_Z") and _IDENTIFIER.match(self.text.partition(".")[0]) is not None

    @property
    def is_identifier(self) -> bool:
        return _IDENTIFIER.match(self.text) is not None

    @cached_property
    def parsed(self) -> CxxName:
        return parse(self.text)

    @cached_property
    def _parts(self) -> list[tuple[str, str | None, str | None]]:
        parts = [split_component(component) for component in self.parsed.components]
        return [(base, canonical(a) if a else None, canonical(p) if p else None) for base, a, p in parts]

    @cached_property
    def _parameters(self) -> str | None:
        return None if self.parsed.parameters is None else canonical(self.parsed.parameters)

    @cached_property
    def needles(self) -> list[bytes]:
        """Byte strings that every mangled form of the name holds."""
        if self.is_glob:
            return [text.encode() for text in _LITERAL.findall(self.text) if text not in _ABBREVIATED]
        found = {needle for base, _, _ in self._parts for needle in _needles_of(base)}
        return sorted(found)

    @cached_property
    def glob(self) -> re.Pattern[str]:
        """``*`` is any text within one scope, ``**`` any text; matched from the start of a scope."""
        pattern = "".join(_GLOB_PARTS.get(part, re.escape(part)) for part in _GLOB_TOKENS.findall(self.text))
        return re.compile(("" if self.anchored else r"(?:.*::)?") + pattern + r"\Z", re.DOTALL)

    @cached_property
    def plausible(self) -> re.Pattern[str]:
        """What a demangled text must hold to be worth taking apart."""
        base = self._parts[-1][0]
        if base.startswith(("operator", "{", "~")) or base == ANONYMOUS:
            return re.compile(re.escape(base.partition("#")[0].partition("(")[0].rstrip("}")))
        return re.compile(r"(?<![\w$])" + re.escape(base) + r"(?:\[abi:\w+\])*(?:[<(]| \[clone|::|$)")

    def may_mean(self, mangled: bytes) -> bool:
        """False when the start of a mangled name alone shows that it is another function."""
        if any(needle not in mangled for needle in self.needles):
            return False
        if self.is_glob:
            return True
        last = self._parts[-1][0]
        if not _IDENTIFIER.match(last.lstrip("~")):
            return True
        leading = leading_name(mangled)
        return leading is None or leading == last.encode()

    def matches(self, demangled: str) -> bool:
        """True when the query names the function (or variable) whose demangled name this is."""
        if self.exact:
            return demangled == self.text
        if self.is_glob:
            name = parse(demangled)
            return not name.special and self.glob.match(_without_anonymous(self.text, name)) is not None
        if not self.plausible.search(demangled):
            return False
        return self._matches_name(parse(demangled))

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
                other, other_arguments, other_parameters = split_component(components[at])
                at -= 1
                if base == other:
                    break
                if other not in TRANSPARENT or at == len(components) - 2:
                    return False
            if arguments is not None and canonical(other_arguments or "") != arguments:
                return False
            if parameters is not None and canonical(other_parameters or "") != parameters:
                return False
        return not self.anchored or all(c in TRANSPARENT for c in components[: at + 1])


_GLOB_TOKENS = re.compile(r"\*\*|\*|\?|[^*?]+")
_GLOB_PARTS = {"**": ".*", "*": "(?:(?!::).)*", "?": "."}


def leading_name(mangled: bytes) -> bytes | None:
    """The identifier of a mangled name without its scopes, where no template argument stands before it.

    ``_ZN2at6native5randnE...`` -> ``randn``, ``_ZN3FooD1Ev`` -> ``~Foo``; None where that is not plain.
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


def _without_anonymous(pattern: str, name: CxxName) -> str:
    """The short name, unnamed scopes left out unless the pattern names them."""
    if ANONYMOUS in pattern:
        return name.short
    return "::".join(base for base in name.bases if base not in TRANSPARENT)


def _outside_brackets(text: str) -> str:
    depth, kept = 0, []
    for char in _WILD_OPERATOR.sub("operator", text):
        if char in "(<":
            depth += 1
        elif char in ")>":
            depth -= 1
        elif depth <= 0:
            kept.append(char)
    return "".join(kept)


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
        encoded = base.encode()
        return [str(len(encoded)).encode() + encoded]
    return []
