"""What is loaded of each module: the policy for symbols, with the user's overrides."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...known.binding_layers import GLUE_PATTERNS
from ...symbols.elf.debug_names import may_have_lines_of
from ...symbols.gdb_feed.policy import Decision, Load, Policy

if TYPE_CHECKING:
    from ...symbols.address_space import Module


def glue_patterns(own: Iterable[str]) -> tuple[str, ...]:
    """The user's own patterns of function names (``mylib::detail::*``) and the built-in ones."""
    return (*(fnmatch.translate(pattern) for pattern in own), *GLUE_PATTERNS)


@dataclass
class SymbolPolicy:
    """``overrides`` are given with ``--symbols``. ``glue_patterns`` are the user's own and the built-in ones."""

    policy: Policy = field(default_factory=Policy)
    glue_patterns: tuple[str, ...] = GLUE_PATTERNS
    _decisions: dict[str, Decision] = field(default_factory=dict)

    def decide(self, module: Module) -> Decision:
        """What to load of ``module``. It is decided once for each file."""
        if module.path not in self._decisions:
            assert module.library is not None
            self._decisions[module.path] = self.policy.decide(module.library, module.path)
        return self._decisions[module.path]

    def may_have_lines(self, module: Module, file: str) -> bool:
        """Whether gdb may find lines of a source file in a module, which it need not read otherwise."""
        library = module.library
        if library is None or self.decide(module).load is not Load.WHOLE:
            return False
        return may_have_lines_of(library.with_debug_info, file)
