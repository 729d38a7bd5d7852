"""Where the functions of an operator are in a process: of one candidate, and behind a binding, layer by layer."""

from __future__ import annotations

import re

from ...errors import SpecError
from ...model import Layer
from ..address_space import AddressSpace, LoadedFunction, Module
from .operators import Candidate, OperatorTable

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
