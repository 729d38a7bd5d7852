"""Which code a step may enter and end in, as the mapped files say. No engine is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ...errors import SymbolError
from ...known.binding_layers import (
    RUST_LIBRARY,
    bodies_behind,
    functions_of_macro,
    is_library_code,
    is_pytorch_code,
    is_trampoline,
)
from ...model import Layer
from ...shared.libraries import is_cython_runtime, is_pytorch, is_standard_module, is_system, needs_pytorch
from ...shared.requests.code import CallSite
from ...symbols.address_space import AddressSpace, Module
from ...symbols.elf.code_references import targets
from ...symbols.elf.elf_file import PF_X
from ...symbols.function_parts import Part, part_at
from ...symbols.gdb_feed.policy import Load
from ...symbols.names.symbol import Symbol
from ...symbols.objfile import Objfile
from ...toolchains.registry import toolchain_of
from ..inspect.stack_reader import StackReader
from .stop_points import FunctionCalls

_MANY_BODIES = 1500  # functions of one module; breakpoints at more would take longer than the step is worth
_MANY_LINES = 200  # of the author, in functions of libraries
_RUST_GLUE = re.compile(f"{RUST_LIBRARY.pattern}|<?pyo3(?:_ffi)?::")
_MANY_CALLS = 2000  # calls of one function; the same

Behind = Callable[[int, Layer], tuple[int, ...]]
"""The entries, in a layer of PyTorch, of the operator whose Python binding begins at an address."""

ResultAt = Callable[[int], "tuple[str | None, bool]"]
"""The C++ type of what the function at an address returns, where its name tells; and whether that is what comes back.
"""


class CodeOfInterest:
    """The extensions and the libraries that they bring along; neither the interpreter nor the system.

    All addresses are absolute.
    """

    def __init__(self, image: AddressSpace, reader: StackReader) -> None:
        self.image = image
        self._reader = reader  # it knows which files are the interpreter's and ours
        self.step_into = Layer.BINDING  # of an operator of PyTorch
        self.behind_binding: Behind = lambda address, layer: ()
        self.result_at: ResultAt = lambda pc: (None, True)
        self._bodies: dict[tuple[str, int], int] = {}  # by file and entry: the user's code behind a wrapper
        self._functions: dict[str, list[int]] = {}  # by the identity of a file, as the file has them
        self._has_others: dict[str, bool] = {}  # by file: see has_library_functions
        self._modules: list[Module] = []
        self._version = -1  # of the mapped files from which they were chosen

    def modules(self) -> list[Module]:
        """The modules whose code a step enters."""
        if self._version != self.image.version:
            self._version, self._modules = self.image.version, self._chosen()
        return self._modules

    def _chosen(self) -> list[Module]:
        rules = self._reader.rules
        return [
            module
            for module in self.image.modules
            if module.library is not None
            and not is_system(module.path)
            and not rules.is_ours(module.path)
            and module.path not in rules.interpreter_libraries
            and not is_standard_module(module.path)
            and not is_cython_runtime(module.path)
        ]

    def has(self, pc: int) -> bool:
        """Whether a step may end in the code at ``pc``."""
        return self.image.module_at(pc) in self.modules()

    def is_entry(self, pc: int) -> bool:
        """Whether a function of interest begins at ``pc``: nothing in it is half done."""
        return self.has(pc) and self.image.function_start(pc + 1) == pc

    def ranges(self) -> list[tuple[int, int]]:
        """Where the machine code of these modules is."""
        return [
            (segment.address + module.bias, segment.address + segment.memory_size + module.bias)
            for module in self.modules()
            if module.library is not None
            for segment in module.library.elf.loads()
            if segment.flags & PF_X
        ]

    def part_at(self, pc: int) -> Part | None:
        """The part of a function at ``pc``; None where the unwind table does not have it, or is garbled."""
        try:
            return part_at(self.image, pc)
        except SymbolError:
            return None

    # -- functions --------------------------------------------------------------------------------

    def behind(self, pc: int) -> tuple[int, ...]:
        """The entries behind a binding of PyTorch that begins at ``pc``, in the layer that the user wants to see.

        Empty where no binding begins there, or the binding is that layer.
        """
        return self.behind_binding(pc, self.step_into)

    def entry(self, address: int) -> int:
        """The user's function behind the wrapper of a binding layer at ``address``, else ``address`` itself."""
        module = self.module_at(address)
        if module is None:
            return address
        key = module.path, address
        if key not in self._bodies:
            self._bodies[key] = _body_behind(address, module)
        return self._bodies[key]

    def inlined_bodies(self, address: int) -> list[tuple[int, int, str]]:
        """Start and end of a wrapper, and what the user's function that was inlined into it may be
        called in debug info.

        Nothing for any other function, and without debug info.
        """
        module = self.module_at(address)
        if module is None or module.library is None or self._reader.load_of(module) is not Load.WHOLE:
            return []
        symbol = module.library.symbol_at(address - module.bias)
        if symbol is None or symbol.address + module.bias != address:
            return []
        bodies = toolchain_of(symbol.language).bodies_inlined(symbol.name)
        return [(address, symbol.end + module.bias, body) for body in bodies]

    def module_at(self, address: int) -> Module | None:
        """The mapped file at an address, where it can be read."""
        module = self.image.module_at(address)
        return module if module is not None and module.library is not None else None

    def operator_modules(self) -> list[Module]:
        """The extensions of PyTorch: an operator of ``torch.ops`` may be any of their functions.

        Only the dispatcher can tell which kernel a call arrives at.
        """
        return [
            module
            for module in self.modules()
            if module.library is not None
            and not is_pytorch(module.path)
            and needs_pytorch(module.library.elf.needed)
        ]

    def functions(self, module: Module) -> list[int]:
        """All functions of an extension's own code. Empty where there are too many."""
        library = module.library
        if library is None:
            return []
        if library.identity not in self._functions:
            addresses = {
                entry.value
                for table in library.tables
                for entry in table.functions()
                if not is_library_code(table.name(entry)) and not is_pytorch_code(table.name(entry))
            }
            few = len(addresses) <= _MANY_BODIES
            self._functions[library.identity] = sorted(addresses) if few else []
        return [address + module.bias for address in self._functions[library.identity]]

    def has_library_functions(self, module: Module) -> bool:
        """Whether an extension has functions that are not its author's own."""
        library = module.library
        if library is None:
            return False
        if library.identity not in self._has_others:
            tables = ((table, table.functions()) for table in library.tables)
            names = (table.name(entry) for table, entries in tables for entry in entries)
            self._has_others[library.identity] = any(map(is_library_code, names))
        return self._has_others[library.identity]

    def in_library_functions(self, module: Module, addresses: Sequence[int]) -> list[int]:
        """Those addresses that lie in functions of an extension which are not its author's own: where the compiler
        has put code of the author into a template of a library (a lambda into ``std::sort``). Empty where there are
        too many.
        """
        if module.library is None:
            return []
        symbols = module.library.symbols_at([address - module.bias for address in addresses])
        found = [
            at + module.bias
            for at, one in symbols.items()
            if one and is_library_code(one.linkage_name.encode())
        ]
        return sorted(found) if len(found) <= _MANY_LINES else []

    # -- calls ------------------------------------------------------------------------------------

    def function_at(self, pc: int) -> tuple[int, int] | None:
        """The start and the end of the function at ``pc``, from the unwind table. None where that does not have it."""
        module = self.module_at(pc)
        if module is None or module.library is None:
            return None
        frame = module.library.frames.find(pc - module.bias)
        return (frame.start + module.bias, frame.end + module.bias) if frame is not None else None

    def calls_of(self, start: int, end: int, rows: Sequence[CallSite]) -> FunctionCalls | None:
        """The calls of a function that a step may follow. None where it has no calls, or too many."""
        if not rows or len(rows) > _MANY_CALLS:
            return None
        modules = self.modules()
        targets = {row.target for row in rows if row.target is not None}
        callees = tuple(sorted(target for target in targets if self._is_wanted(modules, target)))
        return FunctionCalls(
            start, end, callees, tuple(sorted(row.site for row in rows if row.target is None))
        )

    def is_wanted(self, address: int) -> bool:
        """Whether a function begins here that has a name, and that a user wants to see."""
        return self._is_wanted(self.modules(), address)

    def _is_wanted(self, modules: list[Module], address: int) -> bool:
        module = self.image.module_at(address)
        if module is None or module not in modules or module.library is None:
            return False
        name, _ = self.image.describe(address)
        if name is None or self.image.function_start(address + 1) != address:
            return False
        if self.image.language_at(address) == "rust" and _RUST_GLUE.match(name):
            return False
        linkage_names = (
            table.name(entry)
            for table in module.library.tables
            for entry in table.with_values({address - module.bias})
        )
        return not any(is_library_code(linkage) for linkage in linkage_names)


def _body_behind(address: int, module: Module) -> int:
    assert module.library is not None
    symbol = module.library.symbol_at(address - module.bias)
    if symbol is not None and is_trampoline(symbol.name):
        symbol = _passed_by(symbol, module.library) or symbol
        address = symbol.address + module.bias
    for body in bodies_behind(symbol.name if symbol is not None else ""):
        for found in module.library.find_functions(body):
            if not functions_of_macro(found.name):  # a wrapper is found by the name of what may be in it
                return found.address + module.bias
    return address


def _passed_by(trampoline: Symbol, library: Objfile) -> Symbol | None:
    """The wrapper of a PyO3 macro to which a trampoline leads; None where its code does not tell that for sure."""
    size = trampoline.end - trampoline.address
    found = {target: library.symbol_at(target) for target in targets(library.elf, trampoline.address, size)}
    wrappers = [
        symbol
        for target, symbol in found.items()
        if symbol is not None and symbol.address == target and functions_of_macro(symbol.name)
    ]
    return wrappers[0] if len(wrappers) == 1 else None
