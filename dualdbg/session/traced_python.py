"""Which of the places that are to be traced are in Python, and where their code is."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ..errors import UsageError
from ..model import BreakpointKind, BreakpointSpec
from ..symbols.callables.python_functions import FunctionDefinition, NoFunction
from ..symbols.locspec.breakpoint_spec import parse_spec
from ..system.folders import here
from ..target.launcher import Launch
from ..trace.python_probes import PythonMemory, PythonProbe
from .breakpoints.python_names import PythonNames
from .breakpoints.tracing import Manner
from .traced_start import alone


def split_python(
    texts: Sequence[str], is_operator: Callable[[str], bool] | None, what: Launch | None
) -> tuple[list[str], list[PythonProbe]]:
    """The specs that are for native code, and the Python functions and lines.

    ``what`` is the program as a user would start it; None: a process that runs already. Raises SpecError, UsageError.
    """
    native: list[str] = []
    found: list[PythonProbe] = []
    names = PythonNames(what) if what is not None and what.native is None else None
    for text in texts:
        probe = _probe(text, parse_spec(text, is_operator), names, what)
        if probe is None:
            native.append(text)
            continue
        same = next((one for one in found if one.place == probe.place), None)
        if same is None:
            found.append(probe)
        elif probe.title not in same.title.split(", "):  # another name of the same function
            same.title += f", {probe.title}"
    return native, found


def with_probes(
    what: Launch, probes: Sequence[PythonProbe], manner: Manner
) -> tuple[Launch, PythonMemory | None]:
    """The program without anything of ours, but for what counts in its interpreter, where there are ``probes``.

    ``manner``: what is done at each hit. Raises UsageError.
    """
    if not probes:
        return alone(what), None
    try:
        memory = PythonMemory(manner.records)
    except OSError as error:
        raise UsageError(
            f"trace: there is no room for the memory of a trace: {error.strerror}",
            "free some memory (df /dev/shm)",
        ) from error
    try:
        memory.add(probes)
    except ValueError as error:
        raise UsageError(f"trace: {error}", "trace fewer functions") from error
    inherited = what.env.get("PYTHONPATH", os.environ.get("PYTHONPATH"))
    added = memory.environment(probes, what.what(), manner.times, inherited)
    return replace(alone(what), env={**what.env, **added}), memory


def _probe(
    text: str, spec: BreakpointSpec, names: PythonNames | None, what: Launch | None
) -> PythonProbe | None:
    is_python = spec.kind in (BreakpointKind.PYTHON_FUNCTION, BreakpointKind.PYTHON_LINE)
    is_dotted = spec.kind is BreakpointKind.FUNCTION and "." in spec.subject
    if names is None or what is None:
        if is_python:
            where = "a process that runs" if what is None else "one that may have Python in it (--native)"
            raise UsageError(
                f"trace: {text}: Python is traced in programs of Python that dualdbg starts, not in {where}",
                "trace native code of it, or start it: dualdbg trace -b SPEC SCRIPT",
            )
        return None
    if not is_python and not is_dotted:
        return None
    if spec.kind is BreakpointKind.PYTHON_LINE:
        probe = _line(text, spec, what)
    else:
        definition = names.find(spec.subject)
        if isinstance(definition, NoFunction):
            if is_dotted:  # of native code, perhaps
                return None
            raise UsageError(f"trace: {text}: {definition.why}", "name its file and a line: FILE.py:LINE")
        probe = _function(spec, definition)
    if spec.suffixes:
        raise UsageError(
            f"trace: {text}: Python functions and lines are traced without {spec.suffixes[0].split()[0]!r}",
            f"dualdbg trace -b {spec.subject}{f':{spec.line}' if spec.line is not None else ''}",
        )
    return probe


def _function(spec: BreakpointSpec, found: FunctionDefinition) -> PythonProbe:
    return PythonProbe(spec.subject, os.path.realpath(found.file), found.line, found.name)


def _line(text: str, spec: BreakpointSpec, what: Launch) -> PythonProbe:
    assert spec.line is not None
    folder = here() / (what.cwd or "")
    folders = [folder, *([(folder / what.script).parent] if what.script is not None else [])]
    file = next((path for one in folders if (path := one / spec.subject).is_file()), None)
    if file is None:
        raise UsageError(
            f"trace: {text}: there is no file {spec.subject} in {folder}", "name it with its folder"
        )
    return PythonProbe(f"{Path(spec.subject).name}:{spec.line}", os.path.realpath(file), spec.line)
