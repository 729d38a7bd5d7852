"""The way from a line to the kernels that torch.compile has made of it, and back, for what a target has loaded."""

from __future__ import annotations

from pathlib import Path

from ...errors import CommandError, SymbolError
from ...known.generated_code import is_kernel_library
from ...symbols.address_space import AddressSpace
from ...symbols.torch.compiled_report import as_text
from ...symbols.torch.compiled_search import find_kernels
from ...system.in_thread import in_thread


async def kernels_of(image: AddressSpace, wanted: str) -> str:
    """The kernels of a function or FILE:LINE, or what a kernel or a line of generated code computes, as text.

    Raises CommandError.
    """
    libraries = (one.path for one in image.modules if is_kernel_library(one.path))
    folders = list(dict.fromkeys(Path(path).parent.parent for path in libraries))
    if not folders:
        raise CommandError(
            "no kernel that torch.compile has made for the CPU is loaded yet",
            "-b FILE:LINE@kernel stops in the first one of a line; outside of a session: dualdbg ops --compiled WHAT",
        )
    found, problem = [], None
    for folder in folders:
        try:
            found += await in_thread(find_kernels, wanted, folder)
        except SymbolError as error:
            problem = error
    if not found and problem is not None:
        raise CommandError(problem.message, problem.hint)
    return f"{as_text(found)}\n"
