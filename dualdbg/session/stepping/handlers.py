"""Finds where the frames of a stack catch exceptions, from the files that are mapped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from ...backends.native import AskingGdb
from ...errors import CommandError, SymbolError
from ...model import NativeFrame
from ...shared.libraries import is_cxx_library
from ...shared.requests.threads import ReadMemory
from ...stacks.roles import RoleRules, is_evaluation_loop
from ...symbols.address_space import AddressSpace, Module
from ...symbols.elf.eh_frame import Fde
from ...symbols.elf.landing_pads import NOTHING, Handlers, handlers_of
from ...symbols.objfile import Objfile
from .code_of_interest import CodeOfInterest
from .stop_points import Pad

_BEGIN_CATCH = "__cxa_begin_catch"
_PERSONALITY = "__gxx_personality_v0"  # of C++
_COLD = b".cold"  # what GCC and Clang add to the name of such a part


class HandlerFinder:
    """Knows the handlers of functions; each is looked at once."""

    def __init__(self, native: AskingGdb, image: AddressSpace, code: CodeOfInterest) -> None:
        self._native = native
        self._image = image
        self._code = code
        self._known: dict[tuple[str, int], Handlers] = {}  # by file and function
        self._personalities: dict[tuple[str, int], str] = {}  # by file and address: the name

    async def pads(self, frames: Sequence[NativeFrame], rules: RoleRules) -> tuple[Pad, ...]:
        """The landing pads of the user's handlers above the innermost Python function; ``frames`` is innermost first.

        Exceptions that reach a binding layer of C++ become Python's, and where that code returns is known otherwise. In
        Rust it is the library that catches for the user's functions.
        """
        found = []
        for group, top in _functions(frames):
            frame = group[-1]
            if not self._code.has(frame.pc):
                continue
            module = self._code.module_at(frame.pc)
            if module is None:
                continue
            handlers = self._handlers(module, frame.pc - frame.is_call)
            if handlers.pads:
                is_gccs = _PERSONALITY in await self._personality(module, handlers)
                if is_gccs and all(map(rules.is_glue, group)):
                    continue
                # Handlers of C++ are entered by that function, where it is to be found.
                is_cxx = is_gccs and bool(self.begin_catch(module))
                for pad in handlers.pads:
                    place = pad + module.bias
                    found.append(Pad(place, top, group[0].level, frame.level, is_cxx, not is_gccs))
        return tuple(found)

    def begin_catch(self, module: Module | None) -> list[int]:
        """Where C++ code of a file may find its ``__cxa_begin_catch``: in the C++ library, or in the file itself.

        Without a ``module``: where the code of any of the user's files may find it.
        """
        own = self._code.modules() if module is None else [module]
        places = [one for one in self._image.modules if one in own or is_cxx_library(one.path)]
        return [place.address for place in self._image.find(_BEGIN_CATCH, places)]

    def _handlers(self, module: Module, pc: int) -> Handlers:
        library = module.library
        if library is None:
            return NOTHING
        try:
            fde = library.frames.find(pc - module.bias)
            if fde is None:
                return NOTHING
            key = (library.identity, fde.start)
            if key not in self._known:
                self._known[key] = _handlers_in(library, fde)
        except SymbolError:
            return NOTHING  # the file was overwritten while it was mapped: its names are gone too
        return self._known[key]

    async def _personality(self, module: Module, handlers: Handlers) -> str:
        """The name of the function that finds the handlers for the unwinder; empty where it is not known."""
        if handlers.personality is None:
            return ""
        key = module.path, handlers.personality + module.bias
        if key not in self._personalities:
            address: int = key[1]
            try:
                if handlers.is_indirect:
                    address = int.from_bytes(await self._native.ask(ReadMemory(address, 8)), "little")
                name = self._image.describe(address)[0] or ""
            except CommandError:
                name = ""
            self._personalities[key] = name
        return self._personalities[key]


def _handlers_in(library: Objfile, fde: Fde) -> Handlers:
    """The handlers of a function, also in the part that the compiler has put aside because it is seldom run."""
    found = handlers_of(library.elf, fde)
    parts = [library.frames.find(start) for start in _other_parts(library, fde.start)]
    others = [handlers_of(library.elf, part) for part in parts if part is not None]
    pads = {pad for one in (found, *others) for pad in one.pads}
    kept = next((one for one in (found, *others) if one.personality is not None), found)
    return replace(kept, pads=tuple(sorted(pads)))


def _other_parts(library: Objfile, start: int) -> Iterator[int]:
    """Where the other parts of a function begin. Functions of one name in several files count all."""
    for table in library.tables:
        for entry in table.starting_at(start):
            name = table.name(entry)
            whole = name.removesuffix(_COLD)
            other = whole if whole != name else name + _COLD
            yield from (part.value for part in table.called(other))


def _functions(frames: Sequence[NativeFrame]) -> Iterator[tuple[list[NativeFrame], int]]:
    """The frames of each function with what is inlined into it, and the canonical address of that frame.

    They end where the interpreter calls, and before the outermost frame, whose end nobody knows.
    """
    group: list[NativeFrame] = []
    for frame, caller in pairwise(frames):
        if is_evaluation_loop(frame):
            return
        group.append(frame)
        if not frame.inlined:
            if caller.sp is not None:
                yield group, caller.sp
            group = []
