"""``dualdbg ops``: the way from Python to kernels: of an operator, or of a function that was compiled."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import SpecError, SymbolError, UsageError
from ...system.terminal_text import visible_text
from ...target.interpreter import default_python
from ..arguments import Parser

if TYPE_CHECKING:
    from ...symbols.torch.operator_chain import TorchInstallation
    from ...symbols.torch.operators import OperatorTable


def main(words: list[str]) -> int:
    given = make_parser().read(words)
    if given.compiled is not None:
        if given.names:
            raise UsageError("ops: --compiled goes with no operator", "leave one of them away")
        if given.generated:
            raise UsageError("ops: torchgen makes nothing for --compiled", "leave --generated away")
        return _compiled(given.compiled, Path(given.cache) if given.cache else None, given.json)
    if given.cache is not None:
        raise UsageError(
            "ops: --cache goes with --compiled alone", "dualdbg ops --compiled WHAT --cache PATH"
        )
    if given.generated and not given.names:
        raise UsageError("ops: --generated wants an operator", "dualdbg ops randn --generated")
    python = given.python or default_python(os.environ.get)
    from ...symbols.torch.operator_chain import TorchInstallation

    torch = TorchInstallation(torch_folder(python))
    if not given.names:
        names = sorted(torch.table.names)
        sys.stdout.write(json.dumps(names) if given.json else visible_text("\n".join(names)))
        sys.stdout.write("\n")
        return 0
    names = [with_namespace(operator_of(name), torch.table) for name in given.names]
    others = [name for name in names if is_others(torch, name)]
    if given.setup and not others:
        raise UsageError(
            "ops: --setup is for operators that an extension registers, and PyTorch's tables have all of these",
            "leave --setup away",
        )
    registered = _registered(python, others, given.setup, given.cwd) if others else {}
    describe = _generated if given.generated else _chain
    for at, name in enumerate(names):
        text, data = registered[name] if name in registered else describe(torch, name)
        if given.json:
            sys.stdout.write(json.dumps(data) + "\n")
        else:
            sys.stdout.write(("\n" if at else "") + visible_text(text) + "\n")
    return 0


def is_others(torch: TorchInstallation, name: str) -> bool:
    """Whether a name is that of an operator which native_functions.yaml cannot have, such as ``mylib::myop``."""
    namespace = name.rpartition("::")[0]
    return namespace not in ("", "aten") and not torch.table.is_operator(name)


def operator_of(name: str) -> str:
    """The operator that a name in Python means, as ``torch.ops.aten.mm`` or ``torch.add``; others as they are."""
    found = re.fullmatch(r"torch\.ops\.(\w+)\.(.+)", name)
    return f"{found[1]}::{found[2]}" if found is not None else re.sub(r"^torch\.(Tensor\.)?", "", name)


def with_namespace(name: str, table: OperatorTable) -> str:
    """The operator of an extension whose namespace stands before a dot, as in Python: ``mylib.myop.out``.

    ``add.Tensor`` is an overload of an operator that PyTorch has, and ``adl.Tensor`` is meant for one.
    """
    found = re.fullmatch(r"(\w+)\.(\w+(?:\.\w+)?)", name)
    if found is None:
        return name
    first, second = found.groups()
    if table.is_operator(first) or any(table.lookup(f"{near}.{second}") for near in table.nearest(first)):
        return name
    return f"{first}::{second}"


def make_parser() -> Parser:
    """The parser of the command line."""
    parser = Parser(
        prog="dualdbg ops",
        allow_abbrev=False,
        description="An operator's way: Python binding, dispatcher, autograd, kernels; addresses as nm has them.",
    )
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="randn, add.Tensor, aten::mm, torch.add, mylib::myop, mylib.myop; without one: all operators of PyTorch's "
        "tables",
    )
    parser.add_argument(
        "--python", metavar="PATH", help="the interpreter with PyTorch (default: as dualdbg run chooses it)"
    )
    parser.add_argument(
        "--setup",
        metavar="CODE",
        help="for an extension's operator, mylib::myop: run first in the interpreter, such as 'import mylib'",
    )
    parser.add_argument("--cwd", metavar="DIR", help="with --setup: the folder to import from")
    parser.add_argument(
        "--compiled",
        metavar="WHAT",
        help="the kernels that torch.compile has made of a function, a FILE or a FILE:LINE; or back, from a kernel, a "
        "generated file or a line of one to the lines that it computes",
    )
    parser.add_argument(
        "--cache",
        metavar="PATH",
        help="with --compiled: the folder where they are (default: TORCHINDUCTOR_CACHE_DIR, or PyTorch's own choice), "
        "or a package of AOTInductor",
    )
    parser.add_argument(
        "--generated",
        action="store_true",
        help="how torchgen makes it: the entry in native_functions.yaml, each generated file with its template and "
        "generator, and the library where its functions are; of mylib::myop what is registered instead",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object an operator, or a kernel")
    return parser


def _chain(torch: TorchInstallation, name: str) -> tuple[str, dict[str, Any]]:
    """As text and as data. Raises SpecError for an unknown operator."""
    from ...symbols.torch.operator_chain import trace
    from ...symbols.torch.operator_report import as_data, as_text

    chain = trace(torch, name)
    return as_text(chain), as_data(chain)


def _generated(torch: TorchInstallation, name: str) -> tuple[str, dict[str, Any]]:
    """As text and as data. Raises SpecError for an unknown operator."""
    from ...symbols.torch.generated_files import generation
    from ...symbols.torch.generated_report import as_data, as_text

    found = generation(torch, name)
    return as_text(found), as_data(found)


def _registered(
    python: str, names: list[str], setup: str | None, cwd: str | None
) -> dict[str, tuple[str, dict[str, Any]]]:
    """By name, as text and as data, what the dispatcher of an interpreter has. Raises SpecError for an unknown one."""
    from ...symbols.torch.registered_report import as_data, as_text
    from ..resolving import resolved

    paths = ["torch.ops." + name.replace("::", ".") for name in names]
    found = {}
    for name, answer in zip(names, resolved(python, paths, setup, cwd), strict=True):
        if answer.error is not None or not answer.registrations:
            raise SpecError(
                f"no operator {name} is registered once PyTorch is imported{' and --setup has run' if setup else ''}: "
                f"{answer.error or 'the dispatcher knows nothing of what has this name'}",
                _instead(name, setup, answer.near),
            )
        found[name] = as_text(answer), as_data(answer)
    return found


def _instead(name: str, setup: str | None, near: tuple[str, ...] | None) -> str:
    """What to type instead of an operator that is not registered; ``near``: None where its namespace is unknown."""
    namespace = name.partition("::")[0]
    if near:
        return f"operators with a name like it: {', '.join(near)}"
    if near is not None:
        return (
            f"the dispatcher has no operator of {namespace} with a name like it; "
            "those of TorchScript alone (prim::If) and those of higher order (higher_order::cond) are not in it"
        )
    if setup:
        return f"--setup has to import what has TORCH_LIBRARY({namespace}, …) or torch.library for it"
    return f"what registers it has to be imported: dualdbg ops {name} --setup 'import {namespace}'"


def _compiled(wanted: str, where: Path | None, as_json: bool) -> int:
    """Kernels of a compiled function. Raises SymbolError where none is known."""
    from ...symbols.torch.compiled_report import as_data, as_text
    from ...symbols.torch.compiled_search import find_kernels

    found = find_kernels(wanted, where)
    if as_json:
        sys.stdout.writelines(json.dumps(as_data(one)) + "\n" for one in found)
    else:
        sys.stdout.write(visible_text(as_text(found)) + "\n")
    return 0


def torch_folder(python: str) -> Path:
    """Where the PyTorch of an interpreter is. Raises SymbolError when it has none, UsageError for no interpreter."""
    from ...symbols.cache import cache_directory
    from ...target import interpreter

    facts = interpreter.inspect(interpreter.find(python), cache=cache_directory())
    if facts.torch is None:
        raise SymbolError(f"{python} has no PyTorch", "name the interpreter that has it with --python PATH")
    return Path(facts.torch)
