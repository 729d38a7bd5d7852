"""How a C++ function is called, by its mangled name and by what other names of its library prove.

A mangled name has the types of the parameters. Whether the function is a member that gets ``this`` it tells of few. A
scope is a class where a constructor, a vtable or a typeinfo of it has a name, and a namespace where something in it has
a name that nothing in a class has. What nothing proves stays open (None).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from ...known.namespaces import NAMESPACES
from . import cxx_names
from .cxx_types import separated
from .demangle import demangle
from .mangled_scopes import MangledName, plain, read
from .result_types import NOTHING, result_type
from .signature import Parameter, Signature
from .symbol import Symbol

Has = Callable[[bytes], bool]
"""Whether these letters are in the names of a library; ``\\0`` ends a name, and is before it."""

_BINARY = frozenset(
    ("dv", "rm", "or", "eo", "pL", "mI", "mL", "dV", "rM", "aN", "oR", "eO", "ls", "rs", "lS", "rS", "eq", "ne", "lt",
     "gt", "le", "ge", "ss", "aa", "oo", "cm", "pm", "pl", "mi", "ml", "an")
)  # fmt: skip
_UNARY = frozenset(("ps", "ng", "ad", "de", "nt", "co"))
_MEMBERS = frozenset(("aS", "pt", "cv"))  # an assignment, ->, a conversion
_STATIC = frozenset(("nw", "na", "dl", "da", "li"))
_COUNTED = frozenset(("pp", "mm"))
_KNOWN = frozenset(found[0] for found in map(plain, NAMESPACES) if found is not None)
_ANONYMOUS = "12_GLOBAL__N_1"
_BUILT_IN = re.compile(
    r"[*&]$|(?:^| )(?:void|bool|char|wchar_t|char\d+_t|short|int|long|float|double|__int128)$"
)
_STRUCTOR = re.compile(r"[CD]\d")
_BASES = ("C2", "D2")
_UNIFIED = ("C3", "C4", "C5", "D3", "D4", "D5")
_LOCAL_ALIAS = re.compile(r"\.localalias(?:\.\d+)?$")  # GCC's second name for the same function
_DROPPED = re.compile(r" ?(?:const|volatile)$")


def calling_of(symbol: Symbol, has: Has, with_torch: bool = False) -> Signature | None:
    """The signature of a function with a mangled name, as far as it is proven; None of any other.

    Several functions that are one piece of code have to agree. ``with_torch``: the library is PyTorch's or uses it, so
    that its namespaces are no classes.
    """
    if symbol.clone is not None or symbol.kind != "function" or symbol.language == "rust":
        return None
    found: set[Signature] = set()
    aliases = (name for name in symbol.aliases if not _LOCAL_ALIAS.search(name))
    names = (symbol.linkage_name, *aliases)
    for name in names:
        one = _of_name(name, has, with_torch)
        if one is None:
            return None
        found.add(one)
    structors = {
        name.last for name in map(read, names) if name is not None and _STRUCTOR.fullmatch(name.last)
    }
    if len(structors) > 1:  # what makes a whole object is what makes a base: there are no virtual ones
        found = {replace(one, table=False) for one in found}
    return found.pop() if len(found) == 1 else None


def _of_name(mangled: str, has: Has, with_torch: bool) -> Signature | None:
    text = demangle(mangled)
    parsed = cxx_names.parse(text)
    if not mangled.startswith("_Z") or parsed.special or parsed.parameters is None or parsed.clones:
        return None
    kinds = [] if parsed.parameters == "(void)" else separated(parsed.parameters[1:-1])
    if not all(kinds):
        return None
    name = read(mangled)
    if name is not None and name.last in _UNIFIED:
        return None  # GCC has made one of several; with virtual bases it is told which is meant, and gets a table
    owner = "::".join(parsed.components[:-1])
    member = _member(name, parsed.qualifiers, kinds, has, with_torch)
    result = _result(name, text)
    by_address = tuple(
        sorted({kind for kind in map(_bare, (*kinds, result or "")) if is_passed_by_address(kind, has)})
    )
    parameters = tuple(Parameter(f"arg{at}", kind) for at, kind in enumerate(kinds, 1))
    return Signature(
        parameters,
        hidden=None if result is None else False if result == NOTHING else None,
        member=member,
        result=result,
        table=_table(name, has),
        this=owner if member is not False else None,
        by_address=by_address,
        by_name=True,
    )


def _result(name: MangledName | None, text: str) -> str | None:
    last = name.last[:2] if name is not None else ""
    if last in ("dl", "da") or (name is not None and _STRUCTOR.fullmatch(name.last)):
        return NOTHING
    return "void*" if last in ("nw", "na") else result_type(text)


def _table(name: MangledName | None, has: Has) -> bool | None:
    if name is None:
        return None
    if name.last not in _BASES:
        return None if name.last.startswith("CI") else False
    return True if has(f"\0_ZTT{name.whole_scope}\0".encode()) else None


def _member(
    name: MangledName | None, qualifiers: str, kinds: list[str], has: Has, with_torch: bool
) -> bool | None:
    if re.search(r"\bconst\b|\bvolatile\b|&", qualifiers):
        return True
    if name is None:
        return None
    if not name.scope or name.is_internal:
        return False
    if _STRUCTOR.fullmatch(name.last):
        return True
    code = name.last[:2]
    if not name.last[:1].isdigit():
        by_operator = _operator_member(code, kinds)
        if by_operator is not None:
            return by_operator
    return False if is_namespace(name.scope, has, with_torch) else None


def _operator_member(code: str, kinds: list[str]) -> bool | None:
    """Operators of a class are members, those of a namespace are not; the number of parameters tells the one from
    the other.
    """
    if code in _MEMBERS:
        return True
    if code in _STATIC:
        return False
    if code in _BINARY:
        return {1: True, 2: False}.get(len(kinds))
    if code in _UNARY:
        return {0: True, 1: False}.get(len(kinds))
    if code in _COUNTED:
        return not kinds or kinds == ["int"]
    return None


def is_namespace(scope: str, has: Has, with_torch: bool) -> bool:
    """Whether names prove that a scope is a namespace: it has an unnamed one in it, or what only its file sees."""
    if scope == "St" or scope.endswith(_ANONYMOUS) or (with_torch and scope in _KNOWN):
        return True
    inside = [f"\0_ZN{scope}{_ANONYMOUS}", *(f"\0_ZN{scope}L{digit}" for digit in range(1, 10))]
    # An operator << of a class has the stream as its object.
    inside += [f"\0_ZN{scope}lsERSo{second}" for second in ("RK", "N", "S")]
    return any(has(needle.encode()) for needle in inside)


def _bare(kind: str) -> str:
    return _DROPPED.sub("", kind.strip())


def is_passed_by_address(kind: str, has: Has) -> bool:
    """Whether names prove that the copy or the destructor of a class is not trivial: they have code, or it has a
    vtable.
    """
    found = plain(kind) if not _BUILT_IN.search(kind) else None
    if found is None:
        return False
    letters, count = found
    own = "S_" if count == 1 else f"S{_base36(count - 2)}_"
    whole = letters if count == 1 else f"N{letters}E"
    needles = [f"\0_ZN{letters}{code}" for code in ("D0Ev", "D1Ev", "D2Ev", f"C1ERK{own}", f"C2ERK{own}")]
    needles += [f"\0_ZN{letters}{code}" for code in (f"C1EO{own}", f"C2EO{own}")]
    return any(has(f"{needle}\0".encode()) for needle in (*needles, f"\0_ZTV{whole}"))


def _base36(number: int) -> str:
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return digits[number] if number < 36 else _base36(number // 36) + digits[number % 36]
