"""``dualdbg ops``: an operator's way from Python to its kernels, with symbols, libraries and addresses."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from ...errors import SymbolError
from ...target.interpreter import default_python
from ...terminal_text import visible_text
from ..arguments import Parser


def main(words: list[str]) -> int:
    parser = Parser(
        prog="dualdbg ops",
        allow_abbrev=False,
        description="An operator's way: Python binding, dispatcher, autograd, kernels; addresses as nm has them.",
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="randn, add.Tensor, aten::mm; without one: every operator"
    )
    parser.add_argument(
        "--python", metavar="PATH", help="the interpreter with PyTorch (default: as dualdbg run chooses it)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object an operator")
    given = parser.parse_args(words)
    from ...symbols.torch.operator_chain import TorchInstallation, trace
    from ...symbols.torch.operator_report import as_data, as_text

    torch = TorchInstallation(torch_folder(given.python or default_python(os.environ.get)))
    if not given.names:
        names = sorted(torch.table.names)
        sys.stdout.write(json.dumps(names) if given.json else visible_text("\n".join(names)))
        sys.stdout.write("\n")
        return 0
    for at, name in enumerate(given.names):
        chain = trace(torch, name)
        if given.json:
            sys.stdout.write(json.dumps(as_data(chain)) + "\n")
        else:
            sys.stdout.write(("\n" if at else "") + visible_text(as_text(chain)) + "\n")
    return 0


def torch_folder(python: str) -> Path:
    """Where the PyTorch of an interpreter is. Raises SymbolError when it has none, UsageError for no interpreter."""
    from ...symbols.cache import cache_directory
    from ...target import interpreter

    facts = interpreter.inspect(interpreter.find(python), cache=cache_directory())
    if facts.torch is None:
        raise SymbolError(f"{python} has no PyTorch", "name the interpreter that has it with --python PATH")
    return Path(facts.torch)
