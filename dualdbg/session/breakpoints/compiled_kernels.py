"""Finds the kernels that torch.compile makes of a line of Python: those known now, and those known when they run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...known.generated_code import WRAPPERS, is_kernel_library, is_model_library
from ...model import ProgramLine
from ...shared.requests.breakpoints import InsertBreakpoint
from ...symbols.address_space import AddressSpace, LoadedFunction, Module
from ...symbols.torch.compiled_code import beside, names_file, of_model
from ..engines import NativeEngine

_OF_PYTORCH = "computed by {}: a function of PyTorch's own, where a breakpoint on the operator stops"
_NOT_RECORDED = (
    "which lines a kernel computes is not recorded: run with --compiled-debug, with Inductor's caches on"
)


@dataclass(frozen=True)
class FoundKernels:
    """Where the kernels of a line begin. ``message`` says why none is known."""

    places: tuple[LoadedFunction, ...] = ()
    message: str | None = None


class CompiledKernels:
    """The kernels of generated code in the target.

    A kernel is loaded before it is written down what it computes. So a library of which that is not known yet is
    stopped in when Python first calls it, before the kernel begins.
    """

    def __init__(self, native: NativeEngine, image: AddressSpace) -> None:
        self._native = native
        self._image = image
        self._watched: dict[int, Module] = {}  # by gdb's breakpoint where Python calls the kernel
        self._called: set[Module] = set()  # those that were stopped in

    async def of_line(self, module: Module, file: str, line: int) -> FoundKernels:
        """The kernels of ``file:line`` in a library. Where it is not known what they compute, a call is waited for."""
        if is_model_library(module.path):
            names = [name for name, lines in of_model(module.path).items() if _is_among(lines, file, line)]
            return FoundKernels(tuple(place for name in names for place in self._named(name, module)))
        if not is_kernel_library(module.path):
            return FoundKernels()
        code = beside(module.path)
        kernels = code.of_library(module.path)
        if all(one.lines is None for one in kernels):
            if module in self._called:
                return FoundKernels(message=_NOT_RECORDED)
            await self._watch(module)
            return FoundKernels()
        wanted = [one for one in kernels if _is_among(one.lines or (), file, line)]
        if not wanted:
            of_pytorch = (one for one in code.kernels() if one.source is None)
            others = [one.name for one in of_pytorch if _is_among(one.lines or (), file, line)]
            return FoundKernels(
                message=_OF_PYTORCH.format(", ".join(dict.fromkeys(others))) if others else None
            )
        functions = dict.fromkeys(one.function for one in wanted)
        return FoundKernels(tuple(place for name in functions for place in self._named(name, module)))

    async def _watch(self, module: Module) -> None:
        if module in self._watched.values():
            return
        for place in (place for name in WRAPPERS for place in self._named(name, module)):
            self._watched[await self._native.ask(InsertBreakpoint(place.address))] = module

    def _named(self, name: str, module: Module) -> tuple[LoadedFunction, ...]:
        """The function alone, without the bodies of parallel regions that the compiler takes out of it."""
        found = self._image.find(f"::{name}", [module])
        return tuple(one for one in found if one.symbol.name.partition("(")[0] == name)

    async def at_call(self, gdb_number: int) -> Module | None:
        """At a stop where Python calls a kernel that was waited for: its library. None at any other stop."""
        module = self._watched.get(gdb_number)
        if module is None:
            return None
        self._called.add(module)
        for number in [number for number, one in self._watched.items() if one == module]:
            del self._watched[number]
            await self._native.delete_breakpoint(number)
        return module

    async def libraries_left(self) -> None:
        """Forget the calls in libraries that are gone."""
        for number, module in list(self._watched.items()):
            if module not in self._image.modules:
                del self._watched[number]
                await self._native.delete_breakpoint(number)
        self._called.intersection_update(self._image.modules)

    def program_replaced(self) -> None:
        """The process runs another program, and gdb has dropped its breakpoints."""
        self._watched.clear()
        self._called.clear()


def _is_among(lines: Iterable[ProgramLine], file: str, line: int) -> bool:
    return any(one.line == line and names_file(file, one.file) for one in lines)
