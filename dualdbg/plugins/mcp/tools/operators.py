"""``operator``: the way of an operator of PyTorch, or of a compiled function, to its kernels."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from pydantic import Field

from ....errors import SymbolError, UsageError
from ....symbols.cache import cache_directory
from ....symbols.torch.compiled_report import KernelFiles, declaration
from ....symbols.torch.compiled_report import as_text as kernels_text
from ....symbols.torch.compiled_search import find_kernels
from ....symbols.torch.operator_chain import Chain, TorchInstallation, trace
from ....symbols.torch.operator_report import as_data, as_text
from ....system.in_thread import in_thread
from ....target import interpreter
from ..answers import KernelRow, OperatorAnswer, Reply, StationRow
from ..bounds import bounded_text, joined, line, part_of
from ..registry import Arguments, tool
from ..sessions import Sessions
from .fields import Limit, Start

_MOST_SCHEMAS = 8


class OperatorArguments(Arguments):
    name: Annotated[str | None, Field(max_length=200, description="randn, add.Tensor, aten::mm")] = None
    compiled: Annotated[
        str | None,
        Field(
            max_length=4000,
            description="a compiled function, FILE or FILE:LINE; or a kernel, or such of generated code",
        ),
    ] = None
    cache: Annotated[
        str | None,
        Field(max_length=4000, description="Inductor's folder, or a package"),
    ] = None
    python: Annotated[str | None, Field(max_length=4000, description="the interpreter with PyTorch")] = None
    start: Start = 0
    limit: Limit = 12


@tool("operator", "An operator's way to its kernels", OperatorArguments, OperatorAnswer, looks=True)
async def operator(sessions: Sessions, arguments: OperatorArguments) -> Reply:
    """The native functions behind an operator of PyTorch: Python binding, dispatcher, autograd, kernels, with library,
    address and source. Each may be a breakpoint. Or the kernels that torch.compile made of a function, and
    the lines that one of them computes."""
    if (arguments.name is None) == (arguments.compiled is None):
        raise UsageError("operator wants name or compiled, one of them", "for example operator(name='randn')")
    if arguments.compiled is not None:
        return await _kernels(arguments, arguments.compiled)
    assert arguments.name is not None
    if arguments.cache is not None:
        raise UsageError("cache goes with compiled", "operator(compiled='step', cache='DIR')")
    if arguments.python is not None:
        sessions.permissions.check_interpreter()
    chain = await in_thread(_trace, arguments.name, arguments.python)
    stations, part = part_of(chain.stations, arguments.start, arguments.limit)
    schemas = [one.schema or one.name for one in chain.overloads[:_MOST_SCHEMAS]]
    fewer = replace(chain, stations=tuple(stations), overloads=chain.overloads[:_MOST_SCHEMAS])
    rows = as_data(fewer)["stations"]
    answer = OperatorAnswer(
        operator=chain.operator,
        schemas=[line(schema, 600) for schema in schemas],
        stations=[_station(row) for row in rows],
        left_out=joined(
            part.left_out("functions", f"operator(name={arguments.name!r}, start={{start}})"),
            f"{len(chain.overloads) - _MOST_SCHEMAS} overloads: name one, as in add.Tensor"
            if len(chain.overloads) > _MOST_SCHEMAS
            else None,
        ),
    )
    left = f"left out: {answer.left_out}\n" if answer.left_out else ""
    return Reply(answer, bounded_text(f"{as_text(fewer)}\n{left}"))


async def _kernels(arguments: OperatorArguments, wanted: str) -> Reply:
    where = Path(arguments.cache) if arguments.cache is not None else None
    found = await in_thread(find_kernels, wanted, where)
    kernels, part = part_of(found, arguments.start, arguments.limit)
    cache = f", cache={arguments.cache!r}" if arguments.cache is not None else ""
    answer = OperatorAnswer(
        operator=line(wanted),
        kernels=[_kernel(one) for one in kernels],
        left_out=part.left_out("kernels", f"operator(compiled={wanted!r}{cache}, start={{start}})"),
    )
    left = f"left out: {answer.left_out}\n" if answer.left_out else ""
    return Reply(answer, bounded_text(f"{kernels_text(kernels)}\n{left}"))


def _kernel(found: KernelFiles) -> KernelRow:
    kernel = found.kernel
    told = [line(f"{one.file}:{one.line} {one.function}  {one.code}") for one in kernel.lines or ()]
    return KernelRow(
        kernel=line(declaration(kernel), 300),
        called_in=[f"{kernel.module}:{call.line}" for call in kernel.calls],
        source=found.source,
        library=found.library,
        compiled=list(found.compiled),
        computes=None if kernel.lines is None else told,
    )


def _station(row: dict[str, object]) -> StationRow:
    kept = {name: row[name] for name in ("step", "overloads", "library", "address", "keys", "link", "note")}
    return StationRow.model_validate({**kept, "function": line(str(row["function"]), 300)})


def _trace(name: str, python: str | None) -> Chain:
    chosen = interpreter.find(python or interpreter.default_python(os.environ.get))
    facts = interpreter.inspect(chosen, cache=cache_directory())
    if facts.torch is None:
        raise SymbolError(
            f"{chosen} has no PyTorch", "operator(name=…, python=PATH) names the interpreter that has it"
        )
    return trace(TorchInstallation(Path(facts.torch)), name)
