"""Asks the user's interpreter what Python names stand for, for the commands that take such names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..config import working_directory
from ..shared.trust import objection
from ..symbols.cache import cache_directory
from ..symbols.callables.native_entries import find_entries
from ..symbols.callables.resolved import Resolved
from ..system.folders import here
from ..target import interpreter
from .main import tell


def resolved(python: str, names: Sequence[str], setup: str | None, cwd: str | None) -> list[Resolved]:
    """The native entries of names, one answer each; ``setup`` runs first, ``cwd`` is the folder to import from.

    :raises SymbolError: the interpreter cannot be started, ends with an error or takes too long.
    """
    program = interpreter.find(python)
    folder = here() / cwd if cwd else working_directory()
    facts = interpreter.inspect(program, cwd=str(folder), cache=cache_directory())
    return find_entries(
        program,
        names,
        setup=setup,
        directory=folder,
        search_path=[*_importable(folder, named=bool(cwd)), *facts.search_path],
    )


def _importable(folder: Path, named: bool) -> list[str]:
    """The folder, to import from it: the user has ``named`` it, or it belongs to the user."""
    why = None if named else objection(folder)
    if why is None:
        return [str(folder)]
    tell(f"nothing is imported from the working directory: {why}", "if you trust it, name it: --cwd .")
    return []
