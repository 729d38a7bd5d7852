"""What a breakpoint's text asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ...model import BreakpointKind, BreakpointSpec
from ...symbols.callables.resolved import Resolved
from ...symbols.locspec.breakpoint_spec import parse_spec


@dataclass(frozen=True)
class SpecReader:
    """Turns text into specs: presets are expanded, operators are told from functions.

    ``optional`` are the members of presets that a program may lack. ``nearest`` gives the names that a user may have
    meant, ``resolve`` what a Python name stands for.
    """

    is_operator: Callable[[str], bool] | None
    expand_preset: Callable[[str], list[str]]
    optional: frozenset[str]
    nearest: Callable[[BreakpointSpec], list[str]]
    resolve: Callable[[str], Resolved]

    def read(self, text: str) -> list[BreakpointSpec]:
        """The specs that ``text`` asks for. Raises SpecError when it cannot be read."""
        spec = parse_spec(text, self.is_operator)
        if spec.kind is not BreakpointKind.PRESET:
            return [spec]
        members = (parse_spec(member, self.is_operator) for member in self.expand_preset(spec.subject))
        return [
            replace(member, counts=spec.counts, records=spec.records, times=spec.times) for member in members
        ]


def python_namesake(spec: BreakpointSpec) -> BreakpointSpec | None:
    """The spec of the Python functions that have the name of a native one. None where the name cannot be of Python."""
    plain = (spec.namespace, spec.overload, spec.layer, spec.counts) == (None, None, None, False)
    named = spec.kind in (BreakpointKind.FUNCTION, BreakpointKind.OPERATOR)
    if not (named and plain and all(part.isidentifier() for part in spec.subject.split("."))):
        return None
    return replace(spec, kind=BreakpointKind.PYTHON_FUNCTION)
