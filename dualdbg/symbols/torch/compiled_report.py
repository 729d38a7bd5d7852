"""The way from a line of a compiled function to the kernels that compute it, as data and as text. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

from ...model import ProgramLine
from .compiled_code import Kernel, names_file

_LINE = re.compile(r"(?P<file>.+):(?P<line>\d{1,9})", re.DOTALL)


@dataclass(frozen=True)
class KernelFiles:
    """A kernel, and where its source and its library are; None where it is one of PyTorch's own. ``compiled`` is what
    Triton has made of it.
    """

    kernel: Kernel
    source: str | None = None
    library: str | None = None
    compiled: tuple[str, ...] = ()


def computes(kernel: Kernel, wanted: str) -> bool:
    """Whether a kernel computes something of ``wanted``: a function of the program, a file of Python, or FILE:LINE."""
    return any(_is_of(line, wanted) for line in kernel.lines or ())


def place_in(wanted: str) -> tuple[str, int | None]:
    """The file of FILE:LINE, and the line; any other text, and None."""
    match = _LINE.fullmatch(wanted)
    return (match["file"], int(match["line"])) if match is not None else (wanted, None)


def _is_of(line: ProgramLine, wanted: str) -> bool:
    file, number = place_in(wanted)
    if number is not None:
        return line.line == number and names_file(file, line.file)
    name = wanted.rpartition(".")[2]
    return line.function == name or names_file(wanted, line.file)


def as_data(found: KernelFiles) -> dict[str, Any]:
    """The JSON object of a kernel."""
    kernel = found.kernel
    return {
        "kernel": kernel.name,
        "arguments": list(kernel.arguments),
        "module": kernel.module,
        "calls": [call.line for call in kernel.calls],
        "source": found.source,
        "library": found.library,
        "compiled": list(found.compiled),
        "lines": None if kernel.lines is None else [asdict(line) for line in kernel.lines],
    }


def as_text(found: Sequence[KernelFiles]) -> str:
    """Kernels for people, by the modules that call them: the lines of the program first."""
    rows: list[str] = []
    for module in dict.fromkeys(one.kernel.module for one in found):
        rows += [module] if not rows else ["", module]
        for one in found:
            if one.kernel.module == module:
                rows += _kernel(one)
    return "\n".join(rows)


def _kernel(found: KernelFiles) -> list[str]:
    kernel = found.kernel
    at = ", ".join(str(call.line) for call in kernel.calls)
    rows = [f"  {declaration(kernel)}  {'called in line ' + at if at else 'not called'}"]
    lines = kernel.lines or ()
    width = max((len(_place(line)) for line in lines), default=0)
    rows += [f"      {_place(line):<{width}}  {line.code}" for line in lines]
    if kernel.lines is None:
        rows.append(
            "      what it computes was not recorded: run with --compiled-debug, with Inductor's caches on"
        )
    if kernel.source is None:
        rows.append("    a function of PyTorch's own")
    rows += [
        f"    {name:<8} {file}"
        for name, file in (
            ("source", found.source),
            ("library", found.library),
            *(("compiled", one) for one in found.compiled),
        )
        if file
    ]
    return rows


def declaration(kernel: Kernel) -> str:
    """The name, with the types of the parameters where they are known."""
    is_cpp = kernel.source is not None and not kernel.is_triton
    return f"{kernel.name}({', '.join(kernel.arguments)})" if is_cpp else kernel.name


def _place(line: ProgramLine) -> str:
    return f"{PurePath(line.file).name}:{line.line} {line.function}"
