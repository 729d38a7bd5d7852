"""What is passed to boxed kernels of PyTorch's dispatcher, all of which are called by one signature.

The signature is that of ``BoxedKernel::InternalBoxedKernelFunction`` (ATen/core/boxing/BoxedKernel.h). Of that type are
instances of three templates alone, which nothing calls but through the dispatcher's table.
"""

from __future__ import annotations

from ..names.signature import Parameter, Signature
from .native_signature import normal

_CALLED = {
    "c10::BoxedKernel::make_boxed_function",
    "c10::BoxedKernel::make_boxed_functor",
    "c10::impl::make_boxed_from_unboxed_functor::call",
}
_OPERATOR, _KEYS = "c10::OperatorHandle const&", "c10::DispatchKeySet"
_STACK = normal("std::vector<c10::IValue, std::allocator<c10::IValue> >*")
_NAMES = ("functor", "op", "dispatchKeySet", "stack")
_TYPES = [*map(normal, ("c10::OperatorKernel*", _OPERATOR, _KEYS)), _STACK]


def boxed_signature(short: str, types: list[str]) -> Signature | None:
    """The signature of a boxed kernel by its qualified name and the types of its parameters; None of any other."""
    if short not in _CALLED or [*map(normal, types)] != _TYPES:
        return None
    return Signature(tuple(map(Parameter, _NAMES, types)), hidden=False, result="void")
