"""What is passed to the functions of an operator, and how its result comes back: from the schema and the mangled name.

The types of the parameters are those of the mangled name. The schema has their names, and what the mangled name does
not tell: whether a hidden first argument says where the result is to be made (Itanium C++ ABI, 3.1.3.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..names import cxx_names
from ..names.signature import Parameter, Signature
from ..names.symbol import Symbol
from .native_functions import NativeFunction
from .native_signature import (
    arguments,
    kernel_parameters,
    normal,
    parameter_types,
    parameters_of,
    result_of,
    returns,
    structured_arguments,
    structured_parameters,
)
from .operators import OperatorTable

_CALLED = {
    "c10::BoxedKernel::make_boxed_function",
    "c10::BoxedKernel::make_boxed_functor",
    "c10::impl::make_boxed_from_unboxed_functor::call",
}
_STACK = normal("std::vector<c10::IValue, std::allocator<c10::IValue> >*")
_BOXED_NAMES = ("functor", "op", "dispatchKeySet", "stack")
_BOXED_TYPES = [
    *map(normal, ("c10::OperatorKernel*", "c10::OperatorHandle const&", "c10::DispatchKeySet")),
    _STACK,
]


def boxed_signature(short: str, types: list[str]) -> Signature | None:
    """The signature of a boxed kernel by its qualified name and the types of its parameters; None of any other."""
    if short not in _CALLED or [*map(normal, types)] != _BOXED_TYPES:
        return None
    return Signature(tuple(map(Parameter, _BOXED_NAMES, types)), hidden=False, result="void")


_KEYS = "c10::DispatchKeySet"
# Functions with a dispatcher's own parameters, by their qualified names (torchgen/dest, torchgen/gen.py).
_DISPATCHED = (
    re.compile(r"at::_ops::(?P<name>\w+)::(?:call|redispatch)"),
    re.compile(r"torch::autograd::VariableType::\(anonymous namespace\)::(?P<name>\w+)"),
    re.compile(r"torch::(?:TraceType|ADInplaceOrView)::\(anonymous namespace\)::(?P<name>\w+)"),
)
_BINDING = re.compile(r"torch::autograd::THPVariable_\w+")
# Of a PyCFunctionWithKeywords, and the first two of a PyCFunction.
_BINDING_NAMES = ("self", "args", "kwargs")
_OBJECT = "_object*"
_KERNEL = re.compile(r"at::native::(?P<name>\w+)")
_UFUNC = re.compile(r"ufunc_(?P<name>\w+)_[A-Z]+")
_STRUCTURED = re.compile(r"at::native::structured_(?P<name>\w+)::impl")

# C++ types of results that come back in registers, or not at all. All others that are known are made in memory.
_IN_REGISTERS = {"bool", "int", "float", "ScalarType", "Layout", "Device", "MemoryFormat", "QScheme"}
_IN_MEMORY = {"Tensor", "Tensor[]", "Scalar", "Storage", "Generator"}


def signature_of(symbol: Symbol, operators: OperatorTable | None) -> Signature | None:
    """The signature of a function of an operator; None for any other, and where the overload is not certain.

    A compiler's clone (``.isra.0``) has other parameters than its name says.
    """
    if symbol.clone is not None or symbol.kind != "function":
        return None
    name = cxx_names.parse(symbol.name).short
    types = parameter_types(symbol.name)
    if _BINDING.fullmatch(name) and all(kind == _OBJECT for kind in types) and 1 <= len(types) <= 3:
        named = (Parameter(name, kind) for name, kind in zip(_BINDING_NAMES, types, strict=False))
        return Signature(tuple(named), hidden=False, result=_OBJECT)
    boxed = boxed_signature(name, types)
    if boxed is not None or operators is None:
        return boxed
    for pattern in _DISPATCHED:
        match = pattern.fullmatch(name)
        if match is not None:
            return _dispatched(operators.by_unambiguous_name(match["name"]), types)
    match = _STRUCTURED.fullmatch(name)
    if match is not None:
        of = _UFUNC.fullmatch(match["name"])
        kernels = operators.with_kernel(match["name"])
        if of is not None:  # torchgen makes it, and names it in no table
            kernels = [(entry, match["name"]) for entry in operators.lookup(of["name"])]
        return _structured(symbol, kernels, types)
    match = _KERNEL.fullmatch(name)
    return _agreed(symbol, operators.with_kernel(match["name"]), types) if match is not None else None


def result_of_function(symbol: Symbol, operators: OperatorTable | None) -> str | None:
    """The C++ type of what a function of an operator returns, ``void`` for none; None of any other, and where the
    overload is not certain.
    """
    if _STRUCTURED.fullmatch(cxx_names.parse(symbol.name).short):
        return "void"
    signature = signature_of(symbol, operators)
    return signature.result if signature is not None else None


def _dispatched(entry: NativeFunction | None, types: list[str]) -> Signature | None:
    if entry is None or not entry.schema:
        return None
    names = [argument.name for argument in arguments(entry.schema)]
    if types[:1] == [_KEYS]:
        names = ["dispatchKeySet", *names]
    hidden = result_is_hidden(entry.schema, symbolic=True)
    if len(names) != len(types) or hidden is None:
        return None
    return Signature(tuple(map(Parameter, names, types)), hidden, result=result_of(entry.schema, True))


def _agreed(
    symbol: Symbol, kernels: Iterable[tuple[NativeFunction, str]], types: list[str]
) -> Signature | None:
    """The signature on which all overloads agree whose kernel has this name and these parameters."""
    given = parameters_of(symbol.name)
    found: set[Signature] = set()
    for entry, kernel in kernels:
        if not entry.schema or tuple(normal_parameters(entry.schema, kernel)) != given:
            continue
        symbolic = "_symint" in kernel
        hidden = result_is_hidden(entry.schema, symbolic)
        if hidden is None:
            return None
        names = [argument.name for argument in arguments(entry.schema)]
        result = result_of(entry.schema, symbolic)
        found.add(Signature(tuple(map(Parameter, names, types)), hidden, result=result))
    return found.pop() if len(found) == 1 else None


def _structured(
    symbol: Symbol, kernels: Iterable[tuple[NativeFunction, str]], types: list[str]
) -> Signature | None:
    """The same of a structured kernel: a member that returns nothing."""
    given = parameters_of(symbol.name)
    found: set[tuple[str, ...]] = set()
    for entry, _ in kernels:
        passed = structured_arguments(entry.schema, entry.precomputed) if entry.schema else []
        if structured_parameters(passed) == given:
            found.add(tuple(argument.name for argument in passed))
    if len(found) != 1:
        return None
    return Signature(tuple(map(Parameter, found.pop(), types)), hidden=False, member=True)


def normal_parameters(schema: str, kernel: str) -> tuple[str, ...]:
    """The kernel's parameters by the schema, in the spelling that is compared."""
    return parameters_of(f"f({', '.join(kernel_parameters(schema, kernel))})")


def result_is_hidden(schema: str, symbolic: bool) -> bool | None:
    """Whether the result of a function with this schema is made where a hidden argument says; None: not known.

    ``symbolic``: a SymInt is a class of its own, and no number. Several results are a ``std::tuple``, which has a move
    constructor of its own.
    """
    results = returns(schema)
    if not results:
        return False
    if len(results) > 1:
        known = all(kind in _IN_MEMORY | _IN_REGISTERS | {"SymInt"} for kind, _ in results)
        return True if known else None
    ((kind, written),) = results
    if written:
        return False if kind == "Tensor" else None  # Tensor&
    if kind == "SymInt":
        # A few kernels with another name return one all the same (sym_stride).
        return True if symbolic else None
    if kind in _IN_REGISTERS:
        return False
    return True if kind in _IN_MEMORY else None
