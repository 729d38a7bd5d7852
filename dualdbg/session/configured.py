"""Makes the options of a session from the configuration and from what the user asked for, for every front end."""

from __future__ import annotations

from ..config import Asked, Config, notices
from ..symbols.gdb_feed.policy import Policy
from ..symbols.locspec.presets import available
from ..system.open_files import require_enough
from .inspect.symbol_policy import SymbolPolicy, glue_patterns
from .options import Options


def session_options(config: Config, asked: Asked) -> Options:
    """The lists of the configuration and of the user are joined; of single values the user's wins.

    Raises UsageError for a symbol policy that cannot be read, DualdbgError where too few files may be open.
    """
    require_enough()
    only_mine = asked.just_my_code if asked.just_my_code is not None else config.just_my_code
    return Options(
        gdb=asked.gdb,
        log_dir=asked.log_dir,
        just_my_code=only_mine is not False,
        stop_on_entry=asked.stop_on_entry,
        breakpoints=(*config.breakpoints, *asked.breakpoints),
        symbols=SymbolPolicy(Policy.parse((*config.symbols, *asked.symbols)), glue_patterns(config.glue)),
        presets=available(config.presets),
        debugpy=asked.debugpy,
        source_maps=config.source_maps,
        gdb_commands=asked.gdb_commands,
        gdb_arguments=asked.gdb_arguments,
        step_into=config.step_into,
        core_folder=asked.core_folder,
        notices=notices(config),
    )
