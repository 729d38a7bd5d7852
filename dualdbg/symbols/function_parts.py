"""Where all the code of a function is: compilers put aside what is seldom run, and handlers of exceptions."""

from __future__ import annotations

from ..errors import SymbolError
from .address_space import AddressSpace, Module
from .elf.landing_pads import NOTHING, handlers_of
from .names.symbol import Symbol

_COLD = ".cold"  # what GCC and Clang add to the name of a part that is seldom run

Part = tuple[int, int]
"""Start and end of machine code, as addresses in the target."""


def part_at(image: AddressSpace, address: int) -> Part | None:
    """The part of a function at an address, from the unwind table; None where that does not have it."""
    module = image.module_at(address)
    if module is None or module.library is None:
        return None
    fde = module.library.frames.find(address - module.bias)
    return (fde.start + module.bias, fde.end + module.bias) if fde is not None else None


def sections_of(module: Module, beginning: str) -> list[Part]:
    """Where the sections of a library are in the process whose names begin so."""
    sections = module.library.elf.sections if module.library is not None else []
    found = [one for one in sections if one.name.startswith(beginning)]
    return [(one.address + module.bias, one.address + one.size + module.bias) for one in found]


def is_put_aside(symbol: Symbol) -> bool:
    """Whether this is the name of a part that the compiler has put aside."""
    return symbol.linkage_name.endswith(_COLD)


def further_part(image: AddressSpace, target: int) -> Part | None:
    """The part of a function to which it jumps outside of its others; None where that is another function.

    Raises SymbolError where it is not known what is there.
    """
    module, part = image.module_at(target), part_at(image, target)
    if module is None or module.library is None or part is None:
        raise SymbolError(f"the code at {target:#x} is not known")
    if any(start <= target < end for start, end in sections_of(module, ".plt")):
        return None  # a stub of the linker: it leads to another function
    symbol = module.library.symbol_at(target - module.bias)
    begins = symbol is not None and symbol.address + module.bias == target
    if begins and symbol is not None and not is_put_aside(symbol):
        return None
    return part


def landing_pads(module: Module, address: int) -> list[int]:
    """Where exceptions land that pass the part of a function at an address: in its handlers, and to clean up.

    Raises SymbolError where the file is garbled.
    """
    assert module.library is not None
    fde = module.library.frames.find(address - module.bias)
    found = handlers_of(module.library.elf, fde) if fde is not None else NOTHING
    return [pad + module.bias for pad in (*found.pads, *found.cleanups)]
