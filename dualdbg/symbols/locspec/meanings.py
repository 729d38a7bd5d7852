"""A name that several things have: what each of them is, and the spec that means it alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ...model import BreakpointKind, BreakpointSpec
from ..names.cxx_names import parse
from .locspec import locspec_text

# Namespaces of PyTorch's C++ code: functions in them belong to the operator of their name.
_PYTORCH = re.compile(r"(?:at|torch|c10|caffe2|functorch)::")
_CXX_LIBRARY = re.compile(r"(?:std|__gnu_cxx)::")


def is_of_a_header(function: str) -> bool:
    """Whether a function in an extension comes from a header of PyTorch or of the C++ library, by its name."""
    short = parse(function).short
    return _PYTORCH.match(short) is not None or _CXX_LIBRARY.match(short) is not None


@dataclass(frozen=True)
class Meaning:
    """One thing that a spec may mean: the ``spec`` that means it alone, and what it is, for people."""

    spec: str
    what: str


def meanings(spec: BreakpointSpec, functions: Iterable[tuple[str, str]]) -> list[Meaning]:
    """The things that a spec may mean, when they are several; empty when it is clear.

    ``functions`` are the functions found under the spec's subject: qualified names without parameters, and the
    library of each. A function of the user may have the name of an operator, and several scopes may have a function
    of one name. Overloads of one function are one thing.
    """
    if spec.kind not in (BreakpointKind.OPERATOR, BreakpointKind.FUNCTION):
        return []
    if spec.kind is BreakpointKind.OPERATOR and (spec.namespace, spec.overload, spec.layer) != (
        None,
        None,
        None,
    ):
        return []
    if any(letter in spec.subject for letter in "*?"):
        return []  # a pattern means everything that fits it
    found: dict[str, list[str]] = {}
    for name, library in functions:
        libraries = found.setdefault(name, [])
        if library not in libraries:
            libraries.append(library)
    result = []
    if spec.kind is BreakpointKind.OPERATOR:
        result.append(Meaning(f"aten::{locspec_text(spec)}", "PyTorch's operator"))
        found = {name: libraries for name, libraries in found.items() if not _PYTORCH.match(name)}
    result += [
        Meaning(f"::{name}", f"the function in {', '.join(libraries)}") for name, libraries in found.items()
    ]
    return result if len(result) > 1 else []
