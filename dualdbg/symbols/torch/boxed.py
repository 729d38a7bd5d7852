"""What is passed to boxed kernels of PyTorch's dispatcher, all of which are called by one signature.

The signature is that of ``BoxedKernel::InternalBoxedKernelFunction`` (ATen/core/boxing/BoxedKernel.h). Of that type are
instances of three templates alone, which nothing calls but through the dispatcher's table. One of them is made for each
function that takes the stack itself, such as a fallback of functorch: it has that function in its name, and passes on
what it is given.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ..address_space import Module
from ..names.signature import Parameter, Relays, Signature
from ..names.symbol import Symbol
from .native_signature import normal

_OF_FUNCTION = "c10::BoxedKernel::make_boxed_function"
_CALLED = {
    _OF_FUNCTION,
    "c10::BoxedKernel::make_boxed_functor",
    "c10::impl::make_boxed_from_unboxed_functor::call",
}
_OPERATOR, _KEYS = "c10::OperatorHandle const&", "c10::DispatchKeySet"
_STACK = normal("std::vector<c10::IValue, std::allocator<c10::IValue> >*")
_NAMES = ("functor", "op", "dispatchKeySet", "stack")
_TYPES = [*map(normal, ("c10::OperatorKernel*", _OPERATOR, _KEYS)), _STACK]
# What of that a function takes which is made a boxed kernel, by its parameters.
_TAKES = {(_TYPES[1], _STACK): (1, 3), tuple(_TYPES[1:]): (1, 2, 3)}


def boxed_signature(short: str, types: list[str]) -> Signature | None:
    """The signature of a boxed kernel by its qualified name and the types of its parameters; None of any other."""
    if short not in _CALLED or [*map(normal, types)] != _TYPES:
        return None
    return Signature(tuple(map(Parameter, _NAMES, types)), hidden=False, result="void")


def with_relays(signature: Signature, module: Module, symbol: Symbol, needed: bool) -> Signature | None:
    """The signature of a function that is made a boxed kernel, with the boxed kernels that may pass on to it what they
    are given. Of any other function the signature as it is, or None where they are ``needed``.
    """
    unchanged = None if needed else signature
    taken = _TAKES.get(tuple(normal(one.type) for one in signature.parameters))
    if taken is None or module.library is None:
        return unchanged
    is_argument = re.compile(rf"[:&]{re.escape(symbol.short_name.rpartition('::')[2])}[(>)]")
    kernels = [
        one.address + module.bias
        for one in module.library.find_functions(f"::{_OF_FUNCTION}")
        if is_argument.search(one.name)
    ]
    if not kernels:
        return unchanged
    named = tuple(
        Parameter(_NAMES[at], one.type) for at, one in zip(taken, signature.parameters, strict=True)
    )
    return replace(signature, parameters=named, relays=Relays(tuple(kernels), taken, needed))
