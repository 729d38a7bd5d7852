"""What a C++ function returns, as far as its demangled name tells.

The Itanium ABI puts the type of the result into the names of instances of function templates alone (5.1.5.3). The name
of a conversion operator is its type; constructors and destructors return nothing.
"""

from __future__ import annotations

from . import cxx_names

NOTHING = "void"
# The compiler works these out from the body, or from the arguments of a template.
_WORKED_OUT = ("auto", "decltype", "typename ", "{")


def result_type(demangled: str) -> str | None:
    """The type as the demangler writes it, ``void`` for none; None where the name does not tell."""
    name = cxx_names.parse(demangled)
    if name.parameters is None or name.special:
        return None
    parts = [cxx_names.split_component(component) for component in name.components]
    base, arguments, _ = parts[-1]
    if any(parameters is not None or scope.startswith("{") for scope, _, parameters in parts):
        return None  # local to another function, whose result the text may begin with
    owner = parts[-2][0] if len(parts) > 1 else None
    if owner is not None and base in (owner, f"~{owner}"):
        return NOTHING
    conversion = base.removeprefix("operator ")
    if conversion != base and conversion[0].isidentifier() and not _is_allocation(conversion):
        return None if arguments is not None else _told(conversion)
    if arguments is None:
        return None
    whole = "::".join(name.components) + name.parameters
    before, found, _ = demangled.partition(whole)
    return _told(before.strip()) if found else None


def _is_allocation(word: str) -> bool:
    return word.partition("[")[0] in ("new", "delete", "co_await")


def _told(kind: str) -> str | None:
    whole = kind.count("(") == kind.count(
        ")"
    )  # else it stands around the name, as that of a pointer to a function
    return kind if kind and whole and not any(word in kind for word in _WORKED_OUT) else None
