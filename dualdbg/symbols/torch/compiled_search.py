"""Finds the kernels that torch.compile has made of a function, in Inductor's folder or in a package of AOTInductor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...errors import SymbolError
from .compiled_code import CompiledCode, Kernel, default_folder
from .compiled_package import kernels_of_package
from .compiled_report import KernelFiles, computes


def find_kernels(wanted: str, where: Path | None = None) -> list[KernelFiles]:
    """Kernels that compute something of ``wanted``: a function, a file of Python, or FILE:LINE. ``where``: a folder of
    Inductor's, or a package; None for the folder of this user and environment.

    Raises SymbolError where none is known.
    """
    place = where if where is not None else default_folder()
    code = CompiledCode(place)
    is_package = place.is_file()
    known = kernels_of_package(place) if is_package else [KernelFiles(one) for one in code.kernels()]
    found = [one for one in known if computes(one.kernel, wanted)]
    if not found:
        raise SymbolError(*_why_none(wanted, place, [one.kernel for one in known]))
    return found if is_package else [_with_files(one.kernel, code) for one in found]


def _with_files(kernel: Kernel, code: CompiledCode) -> KernelFiles:
    if kernel.is_triton:
        text, compiled = code.triton_files(kernel)
        return KernelFiles(kernel, None if text is None else str(text), compiled=tuple(map(str, compiled)))
    library = code.library_of(kernel)
    if library is None:
        return KernelFiles(kernel)
    return KernelFiles(kernel, str(library.with_suffix(".cpp")), str(library))


def _why_none(wanted: str, place: Path, kernels: Sequence[Kernel]) -> tuple[str, str]:
    """Message and hint."""
    if not kernels:
        return (
            f"{place} has no record of compiled code",
            "run the program with dualdbg run --compiled-debug first; --cache PATH names another folder or package",
        )
    known = sorted({line.function for kernel in kernels for line in kernel.lines or ()})
    if not known:
        return (
            f"the {len(kernels)} kernels in {place} have no record of what they compute",
            "compile them once more with dualdbg run --compiled-debug, without TORCHINDUCTOR_FORCE_DISABLE_CACHES",
        )
    return f"no kernel in {place} computes {wanted}", f"functions that have some: {', '.join(known[:8])}"
