"""Where the functions of an operator are in a process: of one candidate, and behind a binding, layer by layer."""

from __future__ import annotations

import re

from ...errors import SpecError
from ...model import Layer
from ..address_space import AddressSpace, LoadedFunction, Module
from ..names.calling import calling_of
from ..names.demangle import demangle
from ..names.result_types import result_type
from ..names.signature import Signature
from .operators import Candidate, OperatorTable
from .signatures import result_of_function, signature_of

# Made by PyTorch's tools/autograd/gen_python_functions.py.
_BINDING = re.compile(r"torch::autograd::(?:.*::)?THPVariable_(\w+)")


def places_of(image: AddressSpace, candidate: Candidate, modules: list[Module]) -> list[LoadedFunction]:
    """The functions of a candidate; where the compiler has inlined them, the wrappers that call them."""
    places = []
    for module in modules:
        for name in (candidate.name, *candidate.wrappers):
            found = image.find(name, [module])
            meant = candidate.pick([place.symbol for place in found]) if name == candidate.name else None
            chosen = [place for place in found if meant is None or place.symbol in meant]
            places += chosen
            if chosen:
                break
    return places


def signature_at(
    image: AddressSpace, operators: OperatorTable | None, pc: int, is_return: bool
) -> tuple[int, Signature] | None:
    """Where the function at an address begins, and its signature: of an operator by its schema, of any other by its
    mangled name, as far as that tells.

    ``is_return``: the address is one to which a call returns.
    """
    address = pc - is_return
    module = image.module_at(address)
    symbol = module.library.symbol_at(address - module.bias) if module and module.library else None
    if module is None or module.library is None or symbol is None:
        return None
    signature = signature_of(symbol, operators)
    # What Clang has made does not pass what the called function leaves unused.
    if signature is None and module.library.keeps_parameters:
        signature = calling_of(symbol, module.library.has_in_names, module.library.uses_torch)
    return (symbol.address + module.bias, signature) if signature is not None else None


def result_at(image: AddressSpace, operators: OperatorTable | None, pc: int) -> tuple[str | None, bool]:
    """The C++ type of what the function at an address returns, ``void`` for none, None where no name tells it; and
    whether what comes back is of the type that is declared.

    A compiler's clone of a function may have lost its result (GCC's ``-fipa-sra``).
    """
    module = image.module_at(pc)
    symbol = module.library.symbol_at(pc - module.bias) if module and module.library else None
    if symbol is None:
        return None, True
    if symbol.language == "rust":
        return None, True  # its names have dots of their own, and no types of results
    if symbol.clone is not None:
        return None, False
    known = result_of_function(symbol, operators)
    if known is not None:
        return known, True
    kinds = {result_type(name) for name in (symbol.name, *map(demangle, symbol.aliases))}
    return kinds.pop() if len(kinds) == 1 else None, True


def behind_binding(
    image: AddressSpace, operators: OperatorTable, address: int, layer: Layer
) -> tuple[int, ...]:
    """The entries in ``layer`` of the operator whose Python binding begins at ``address``.

    Empty for any other function, for a binding of no operator (``a[0]``, ``a.shape``), and for the binding's own layer.
    """
    name, _ = image.describe(address)
    match = _BINDING.fullmatch(name or "")
    if layer is Layer.BINDING or match is None:
        return ()
    try:
        candidates = operators.symbols_for(match[1], layer)
    except SpecError:
        return ()
    places = (place for one in candidates for place in places_of(image, one, image.modules))
    return tuple(sorted({place.address for place in places}))
