"""What the user is told of breakpoints beside their state: what a name may mean, what failed, what never bound."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from ...backends import events as engine
from ...model import Breakpoint, BreakpointKind, BreakpointSpec, BreakpointState, Language, Notice
from ...shared.libraries import is_sanitizer, is_standard_module, is_system
from ...symbols.address_space import AddressSpace, Module
from ...symbols.objfile import Objfile
from ...system.in_thread import in_thread
from ...target.permission import NO_LEAK_CHECK, NO_LEAK_CHECK_HINT, forbids_leak_check
from ..loop import Loop
from .ambiguous_names import AmbiguousNames
from .compiled_lines import CompiledLines
from .cython_locations import ENDINGS
from .operator_registrations import extension_operator
from .python import PythonBreakpoints
from .python_answers import nearest_exceptions
from .spec_reader import SpecReader


class LogFailures:
    """The failures of one process."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[int, str]] = Counter()  # by breakpoint and expression

    def note(self, id: int, expression: str, why: str) -> Notice | None:
        """Count a failure; what is to be said of it, where it is the first of its kind."""
        self._counts[id, expression] += 1
        if self._counts[id, expression] > 1:
            return None
        text = f"breakpoint {id}: {{{expression}}} in its log text has no value: {why}"
        return Notice("warning", text, "shown once; the count follows when the program ends")

    def report(self) -> list[Notice]:
        """What is to be said at the end: how often each failed that failed more than once."""
        return [
            Notice("warning", f"breakpoint {id}: {{{expression}}} in its log text had no value {count} times")
            for (id, expression), count in self._counts.items()
            if count > 1
        ]


_MOST_NAMED = 3  # libraries
_OF_PYDEVD = "/pydevd_attach_to_process/"


class Notices:
    """Tells of the breakpoints ``rows``, which the table changes.

    ``python`` is the Python half of the table. ``optional`` are the breakpoints whose function need not be there.
    """

    def __init__(
        self,
        loop: Loop,
        specs: SpecReader,
        image: AddressSpace,
        rows: Mapping[int, Breakpoint],
        python: PythonBreakpoints,
        optional: Collection[int],
    ) -> None:
        self._loop = loop
        self._specs = specs
        self._image = image
        self._rows = rows
        self._python = python
        self._optional = optional
        self._ambiguous = AmbiguousNames(image)
        self._log_failures = LogFailures()
        self._compiled = CompiledLines(loop, image, rows)

    def removed(self, id: int) -> None:
        """There is no such breakpoint any more."""
        self._ambiguous.forget(id)
        self._compiled.removed(id)

    def at_new_one(self, id: int) -> None:
        """A breakpoint was set: what its name may have meant."""
        spec = self._rows[id].spec
        self.meanings(id, self._image.modules)
        self.troubles()
        self._compiled.look()
        if spec.kind is BreakpointKind.RAISE:
            self._near_exceptions(id, spec.subject)
        if self._loop.state.stop is not None:  # the program has begun, so the name should be known
            self._loop.background(self._nearest(id))

    def _near_exceptions(self, id: int, name: str) -> None:
        near = nearest_exceptions(name)
        if near:
            hint = f"nearest: {', '.join(near)}; a type of the program's own is met when it is raised"
            self._loop.tell(Notice("info", f"breakpoint {id}: {name} is no built-in exception", hint))

    async def _nearest(self, id: int) -> None:
        """Nothing that is loaded has the name of the breakpoint: tell the names that the user may have meant."""
        row = self._rows.get(id)
        if row is None or row.state is not BreakpointState.PENDING or row.spec.language is Language.PYTHON:
            return
        if id in self._optional:
            return
        if row.message is not None:
            return
        if row.spec.kind is BreakpointKind.NATIVE_LINE:
            text = f"breakpoint {id}: no source file of that name is known: {row.spec.subject}"
            self._loop.tell(Notice("info", text, self._without_debug_info(row.spec.subject)))
            return
        names = await in_thread(self._names_near, row.spec)
        if names and id in self._rows and self._rows[id].state is BreakpointState.PENDING:
            text = f"breakpoint {id}: nothing that is loaded is named {self._rows[id].spec.subject}"
            self._loop.tell(Notice("info", text, f"nearest names: {', '.join(names)}"))

    def _names_near(self, spec: BreakpointSpec) -> list[str]:
        """The nearest names. The name itself is left out: its library may only not be loaded yet."""
        return [name for name in self._specs.nearest(spec) if name != spec.subject]

    def _without_debug_info(self, file: str) -> str:
        """Which libraries may have been compiled from a file: they do not say."""
        if file.endswith(ENDINGS):
            return "Cython writes line information with emit_linenums=True"
        silent = self._libraries(lambda one: not one.has_debug_info and one.debug_file is None)
        if not silent:
            return "what is loaded has debug info; a library that comes later may have the file"
        return f"these libraries have no debug info: {silent}"

    def _stripped(self) -> str:
        """Which libraries may have the function without telling: their names went, but for those that they export."""
        silent = self._libraries(lambda one: not one.has_symtab and one.debug_file is None)
        return f"these libraries have no names but those that they export: {silent}" if silent else ""

    def _libraries(self, wanted: Callable[[Objfile], bool]) -> str:
        """The first libraries that are ``wanted``, of those that are not the system's."""
        found = [
            Path(module.path).name
            for module in self._image.modules
            if module.library is not None
            and not is_system(module.path)
            and not is_standard_module(module.path)
            and _OF_PYDEVD not in module.path
            and wanted(module.library)
        ]
        more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        return f"{', '.join(found[:_MOST_NAMED])}{more}"

    def arrived(self, modules: list[Module]) -> None:
        """Libraries were loaded."""
        for id in self._rows:
            self.meanings(id, modules)
        self.troubles()
        self._compiled.look()
        if any(is_sanitizer(one.path) for one in modules) and forbids_leak_check(self._image.pid):
            self._loop.tell(Notice("warning", NO_LEAK_CHECK, NO_LEAK_CHECK_HINT))

    def troubles(self) -> None:
        """Tell of files that were mapped, and cannot be read."""
        for module in self._image.take_troubles():
            hint = "no names are known in it; addresses are: break *0xADDRESS"
            self._loop.tell(Notice("warning", f"{module.path}: {module.trouble}", hint))

    def meanings(self, id: int, arrived: list[Module]) -> None:
        """Tell of a name that is that of several things, once the modules ``arrived`` have come."""
        row = self._rows[id]
        notice = self._ambiguous.notice(id, row.spec, row.locations, arrived)
        if notice is not None:
            self._loop.tell(notice)
        file = self._python.written_in(id)
        if file is not None and any(one.address is not None for one in row.locations):
            both = self._ambiguous.in_both_languages(id, row.spec, file)
            if both is not None:
                self._loop.tell(both)

    def log_failed(self, event: engine.PythonLogFailed) -> None:
        """An expression of a Python log text has no value."""
        notice = self._log_failures.note(event.id, event.expression, event.why)
        if notice is not None:
            self._loop.tell(notice)

    def log_failures(self) -> None:
        """At the end: tell how often expressions of log texts have failed."""
        for notice in self._log_failures.report():
            self._loop.tell(notice)

    def unbound(self, bound: Collection[int]) -> None:
        """At the end: tell which breakpoints never bound, with the nearest names that exist, but not the optional.

        Those ``bound`` have had a place, though its library may be gone, or the process run another program.
        """
        self._compiled.at_end()
        for row in self._rows.values():
            if row.state is not BreakpointState.PENDING or row.hit_count:
                continue
            if row.id in self._optional or row.id in bound:
                continue
            if row.spec.language is Language.PYTHON or row.spec.kind is BreakpointKind.COMPILED_LINE:
                if row.spec.log is not None:
                    continue  # it is written in the target, which counts no hit
                hint = row.message or ""
            elif row.spec.kind is BreakpointKind.NATIVE_LINE:
                known = self._without_debug_info(row.spec.subject)
                hint = row.message or f"no source file of that name is known; {known}"
            else:
                hint = self._without_names(row.spec) or self._meant_instead(row.spec) or self._stripped()
            why = "reached: no code of its file was run" if self._python.never_loaded(row.id) else "bound"
            self._loop.tell(Notice("warning", f"breakpoint {row.id} ({row.spec.text}) never {why}", hint))

    def _without_names(self, spec: BreakpointSpec) -> str:
        """What to type where the name has that of a module which was stripped of its functions' names."""
        scopes = spec.subject.split(".")[:-1] if _is_dotted(spec) else ()
        for module in self._image.modules:
            file = Path(module.path).name
            if (
                file.partition(".")[0] in scopes
                and module.library is not None
                and not module.library.has_symtab
            ):
                return (
                    f"{file} has no names of functions; dualdbg resolve {spec.subject} says where it begins"
                )
        return ""

    def _meant_instead(self, spec: BreakpointSpec) -> str:
        names = self._names_near(spec)
        if "*" in spec.subject.replace("**", ""):
            return f"* ends at ::, ** does not: {spec.subject.replace('*', '**')}"
        hint = f"a Python function: py:{spec.subject}" if _is_dotted(spec) else ""
        hint = f"nearest names: {', '.join(names)}" if names else hint
        return "; ".join(filter(None, [hint, _as_operator(spec)]))


def _is_dotted(spec: BreakpointSpec) -> bool:
    dotted = "." in spec.subject and spec.subject.replace(".", "_").isidentifier()
    return spec.kind is BreakpointKind.FUNCTION and dotted


def _as_operator(spec: BreakpointSpec) -> str:
    """What to type where the name is that of an operator: also libraries of PyTorch have such without a function."""
    operator = extension_operator(spec)
    if operator is not None:
        return f"if it is an operator, dualdbg resolve {operator} has the places of its kernels"
    dotted = re.fullmatch(r"([A-Za-z_]\w*)\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?)", spec.subject)
    if spec.kind is BreakpointKind.FUNCTION and dotted is not None:
        return f"an operator of {dotted[1]}: {dotted[1]}::{dotted[2]}"
    return ""
