"""``dualdbg resolve``: the native functions that a call of a Python callable enters, and how to stop there; the kernels
that torch.compile has made of a line."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import asdict
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from ...errors import SymbolError, UsageError
from ...system.terminal_text import cleaned, visible_text
from ...target.interpreter import default_python
from ..arguments import Parser

if TYPE_CHECKING:
    from ...symbols.callables.resolved import NativeEntry, Resolved

_NOT_FOUND_STATUS = 3
_MAY_BE_OPERATOR = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)?")
_SHOWN_NAME = 200  # characters of a function's name; templates go on for thousands


def main(words: list[str]) -> int:
    given = make_parser().read(words)
    from ...symbols.torch.compiled_search import is_place

    names = [_of_python(_without_suffixes(name)) for name in given.names]
    callables = [name for name in names if not is_place(name)]
    if given.cache is not None and len(callables) == len(names):
        raise UsageError(
            "resolve: --cache goes with FILE:LINE alone", "dualdbg resolve FILE:LINE --cache PATH"
        )
    python = given.python or default_python(os.environ.get)
    answers = iter(_answers(python, callables, given.setup, given.cwd))
    found_all = True
    for at, name in enumerate(names):
        if is_place(name):
            found, text, data = _of_place(name, Path(given.cache) if given.cache else None)
        else:
            answer = next(answers)
            found, text, data = not answer.error, as_text(answer), [_as_data(answer)]
        found_all = found_all and found
        if given.json:
            sys.stdout.writelines(json.dumps(row) + "\n" for row in data)
        else:
            sys.stdout.write(("\n" if at else "") + text)
    return 0 if found_all else _NOT_FOUND_STATUS


def _of_python(name: str) -> str:
    """What Python calls the operator ``mylib::myop.out``; any other name as it is."""
    return re.sub(r"\A(\w+)::(\w+(?:\.\w+)?)\Z", r"torch.ops.\1.\2", name)


def _answers(python: str, names: list[str], setup: str | None, cwd: str | None) -> list[Resolved]:
    """One for each name. ``mylib.myop`` that Python has not may be an operator of that namespace."""
    from ..resolving import resolved

    if not names:
        return []
    answers = resolved(python, names, setup, cwd)
    unknown = [at for at, one in enumerate(answers) if one.error and _MAY_BE_OPERATOR.fullmatch(one.name)]
    operators = [f"torch.ops.{names[at]}" for at in unknown]
    for at, found in zip(unknown, resolved(python, operators, setup, cwd) if unknown else (), strict=True):
        if not found.error:
            answers[at] = found
    return answers


def _without_suffixes(name: str) -> str:
    """The FILE:LINE that a breakpoint's spec begins with; any other name as it is. What begins so is never imported.

    Raises SpecError for what is no spec.
    """
    if re.match(r".+?:\d{1,9}(?!\d)[^:]", name, re.DOTALL) is None:
        return name
    from ...symbols.locspec.breakpoint_spec import parse_spec

    spec = parse_spec(name)
    return f"{spec.subject}:{spec.line}" if spec.line is not None else name


def _of_place(place: str, where: Path | None) -> tuple[bool, str, list[dict[str, Any]]]:
    """What was compiled of a line of Python, or the lines that one of generated code computes."""
    from ...symbols.torch import compiled_report
    from ...symbols.torch.compiled_search import find_kernels

    try:
        found = find_kernels(place, where)
    except SymbolError as error:
        text = f"{place}\n  {error.message}\n  {error.hint}\n"
        return False, visible_text(text), [{"name": place, "error": error.message, "hint": error.hint}]
    text = f"{place}\n{compiled_report.as_text(found)}\n"
    return True, visible_text(text), [{"name": place, **compiled_report.as_data(one)} for one in found]


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        prog="dualdbg resolve",
        allow_abbrev=False,
        description="The native functions behind Python callables. What the names need is imported, nothing is called.",
    )
    parser.add_argument(
        "names",
        nargs="+",
        metavar="NAME",
        help="torch.randn, torch.ops.aten.mm or aten::mm, math.sin, module.Class.method; or FILE:LINE, of a function "
        "under torch.compile or of what it has generated",
    )
    parser.add_argument(
        "--setup", metavar="CODE", help="run first in the interpreter, such as torch.ops.load_library(…)"
    )
    parser.add_argument("--cwd", metavar="DIR", help="the folder to import from")
    parser.add_argument(
        "--python", metavar="PATH", help="the interpreter (default: as dualdbg run chooses it)"
    )
    parser.add_argument("--cache", metavar="PATH", help="with FILE:LINE: as dualdbg ops --compiled has it")
    parser.add_argument("--json", action="store_true", help="one JSON object a name")
    return parser


def as_text(answer: Resolved) -> str:
    """One answer for people."""
    answer = cleaned(answer, {type(answer): frozenset({"error"})})
    lines = [f"{answer.name}  ({answer.kind})" if answer.kind else answer.name]
    if answer.error:
        lines.append(f"  {answer.error}")
    if answer.operator:
        operator = answer.operator.removeprefix("aten::")
        if answer.binds:
            lines.append(f"  the operator {answer.operator}: stop in its kernels with -b {operator}")
        else:
            lines += _no_kernels_by_name(answer)
    lines += [f"      {schema}" for schema in answer.overloads]
    if answer.python is not None:
        place = answer.python
        lines.append(
            f"  Python, {place.file}:{place.line}: stop with -b py:{place.name.rpartition('<locals>.')[2]}"
        )
    for entry in answer.entries:
        lines += _entry_lines(entry)
    return "\n".join(lines) + "\n"


def _no_kernels_by_name(answer: Resolved) -> list[str]:
    """Why the operator's name is no breakpoint, and what is."""
    name = answer.operator
    if any(not entry.role.endswith("dispatcher") for entry in answer.entries):
        why = "its kernels are in PyTorch's own libraries, where its name is not looked for: stop at the places below"
    elif answer.python is not None:
        why = "its kernels are written in Python"
    else:
        why = "no kernel is registered for it"
    return [
        f"  the operator {name}: -b {name} finds nothing, for {why}",
        f"  dualdbg ops {name} shows what is registered",
    ]


def _entry_lines(entry: NativeEntry) -> list[str]:
    name = entry.function or "(no name)"
    shown = name if len(name) <= _SHOWN_NAME else f"{name[:_SHOWN_NAME]}…"
    lines = [f"  {entry.role}: {shown}"]
    if entry.signature:
        lines.append(f"      for {entry.signature}")
    lines.append(f"      {PurePath(entry.library).name}+{entry.address:#x}")
    lines.append(f"      stop with -b {_shell_word(entry.spec)}")
    lines += [f"      {entry.note}"] if entry.note else []
    return lines


def _shell_word(spec: str) -> str:
    import shlex

    return shlex.quote(spec)


def _as_data(answer: Resolved) -> dict[str, Any]:
    data = asdict(answer)
    del data["registrations"], data["near"]  # dualdbg ops shows them
    for entry in data["entries"]:
        entry["address"] = hex(entry["address"])
    return data
