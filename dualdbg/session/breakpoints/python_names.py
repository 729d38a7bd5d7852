"""Looks up the Python names of the debugged program: where a function is written, or which native function it is."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path

from ...symbols.cache import cache_directory
from ...symbols.callables.native_entries import find_entries
from ...symbols.callables.python_functions import FunctionDefinition, NoFunction, find_function
from ...symbols.callables.resolved import Resolved
from ...system.folders import here
from ...target import interpreter
from ...target.launcher import Launch

# A program that has Python in it is run by nobody but the user: to ask it would be to start it.
_NO_INTERPRETER = (
    "the program is no Python interpreter that could be asked where the name is: name a file and a line"
)


class PythonNames:
    """Looks names up as the program would: with its interpreter, its environment and its folder."""

    def __init__(self, what: Launch) -> None:
        self._what = what

    def program_replaced(self, what: Launch) -> None:
        """The process runs another program (exec), as if it had been launched so."""
        self.__dict__ = {"_what": what}  # nothing that was worked out of the earlier one

    @cached_property
    def _folder(self) -> Path:
        return here() / (self._what.cwd or "")

    @cached_property
    def _environment(self) -> dict[str, str]:
        changed = {**os.environ, **self._what.env}
        return {name: value for name, value in changed.items() if value is not None}

    @cached_property
    def _script(self) -> Path | None:
        return self._folder / self._what.script if self._what.script is not None else None

    @cached_property
    def _facts(self) -> interpreter.Interpreter:
        what = self._what
        return interpreter.inspect(
            what.python, self._environment, str(self._folder), cache_directory(), what.flags
        )

    @cached_property
    def _own_folder(self) -> str:
        return str(self._script.resolve().parent if self._script is not None else self._folder)

    @cached_property
    def _search_path(self) -> list[str]:
        return [self._own_folder, *self._facts.search_path]

    @property
    def _unasked(self) -> str:
        return self._what.unasked or _NO_INTERPRETER

    def find(self, name: str) -> FunctionDefinition | NoFunction:
        """Where a function begins, from the source alone. Raises UsageError where the interpreter cannot be run."""
        if self._what.python:
            return find_function(name, self._script, self._search_path, self._facts.built_in)
        # Nobody says where the program finds its modules. Those beside its script it finds first.
        found = find_function(name, self._script, [self._own_folder]) if self._script is not None else None
        return found if isinstance(found, FunctionDefinition) else NoFunction(None, self._unasked)

    def resolve(self, name: str) -> Resolved:
        """What a name stands for.

        It is imported in an interpreter of its own, and that takes as long as the import. Raises SymbolError when the
        interpreter fails.
        """
        if not self._what.python:
            return Resolved(name, None, (), None, (), None, self._unasked)
        [answer] = find_entries(
            self._what.python,
            [name],
            directory=self._folder,
            environment=self._environment,
            search_path=self._search_path,
        )
        return answer
