"""What a user may choose about a session, besides what is run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..model import GdbCommand, Layer, Notice
from ..symbols.locspec.presets import Preset, shipped
from ..system.log_names import LogFolder
from ..target.terminal import Terminal
from .inspect.symbol_policy import SymbolPolicy

if TYPE_CHECKING:
    from .breakpoints.table import BreakpointTable
    from .session import Session


@dataclass(frozen=True)
class Options:
    """What a user may choose about a session, besides what is run."""

    gdb: str | None = None
    log_dir: LogFolder | None = None
    just_my_code: bool = True
    stop_on_entry: bool = False
    breakpoints: tuple[str, ...] = ()
    symbols: SymbolPolicy = field(default_factory=SymbolPolicy)
    presets: Mapping[str, Preset] = field(default_factory=shipped)
    terminal: Terminal | None = None  # lent to the target while it runs
    debugpy: Mapping[str, Any] = field(default_factory=dict)  # further arguments for debugpy
    source_maps: tuple[tuple[str, str], ...] = ()  # a path in debug info, and where the sources are
    gdb_commands: tuple[GdbCommand, ...] = ()  # of the user, run once gdb holds the target
    gdb_arguments: tuple[str, ...] = ()  # words of gdb's own command line
    step_into: Layer = Layer.BINDING  # of an operator of PyTorch
    core_folder: Path | None = None  # where the core of a crash is kept
    table: Callable[..., BreakpointTable] | None = None  # makes another table of breakpoints
    before_run: Callable[[Session], Awaitable[None]] | None = None  # awaited when breakpoints are set
    notices: tuple[Notice, ...] = ()  # about how these options were found

    def tell(self, session: Session) -> None:
        """Tell the front end the notices, before anything else happens in the session."""
        for notice in self.notices:
            session.emit(notice)
