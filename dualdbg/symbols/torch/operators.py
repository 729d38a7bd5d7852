"""ATen operators: from a name to the C++ functions that run when the operator is called, layer by layer."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from ...errors import SpecError
from ...model import BreakpointSpec, Layer
from ...shared.libraries import TORCH_CPU, TORCH_CUDA, TORCH_PYTHON, TORCH_XPU
from . import native_functions
from .native_functions import NativeFunction
from .native_signature import AnyNamed, kernel_parameters, matching

_Item = TypeVar("_Item")

IMPLICIT = "CompositeImplicitAutograd"
EXPLICIT = "CompositeExplicitAutograd"

# The dispatch keys whose kernels of a structured operator are structured (STRUCTURED_DISPATCH_KEYS), and
# those of kernels made from ``ufunc_inner_loop`` (UFUNC_DISPATCH_KEYS), both in torchgen/model.py.
_STRUCTURED_KEYS = {"CPU", "CUDA", "MPS", "XPU", "MTIA"}
_UFUNC_KEYS = ("CPU", "CUDA")

# Operators whose autograd kernel does the whole work and calls no other kernel (VariableTypeManual.cpp).
_AUTOGRAD_ONLY = {"_fw_primal", "detach_"}

# Apple's GPU, and backends that live outside of PyTorch and register functions of their own: no library of
# a Linux PyTorch has kernels that serve only them.
_ELSEWHERE = re.compile("MPS|MTIA|HPU")

# The library of kernels whose keys all contain the word.
_LIBRARY_OF_KEY = (("CUDA", TORCH_CUDA), ("XPU", TORCH_XPU))


@dataclass(frozen=True)
class Candidate:
    """A C++ function that may run when an operator is called.

    ``name`` is qualified and has no parameter list. ``library`` is the file name, without version and suffix,
    of the library in which the release wheels have it. ``overloads`` are the operator overloads that come here
    (``randn``, ``randn.generator``), ``keys`` the dispatch keys (empty where there is no choice by key).
    ``parameters`` are the parameter lists of the wanted functions of this name; empty means all of them.
    ``wrappers`` are the functions that call this one and nothing else: the next best places where the
    compiler has inlined it.
    """

    name: str
    library: str
    layer: Layer
    overloads: tuple[str, ...]
    keys: tuple[str, ...] = ()
    parameters: tuple[tuple[str, ...], ...] = ()
    wrappers: tuple[str, ...] = ()

    def pick(self, functions: Sequence[AnyNamed]) -> list[AnyNamed]:
        """Those of the functions found under the candidate's name that the candidate means."""
        return matching(functions, self.parameters) if self.parameters else list(functions)


class OperatorTable:
    """The operators of one installed PyTorch, read from the native_functions.yaml that came with it."""

    def __init__(self, text: str) -> None:
        self._text = text

    @classmethod
    def load(cls, torch_directory: Path) -> OperatorTable:
        """The table of the torch in ``torch_directory`` (``…/site-packages/torch``).

        :raises SymbolError: this torch has no operator table.
        """
        return cls(native_functions.read_text(torch_directory))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every operator name, without overloads, in file order."""
        return tuple(native_functions.names(self._text))

    def is_operator(self, name: str) -> bool:
        """Whether ``name`` (``randn``, ``aten::randn``, ``add.Tensor``) is an operator of this PyTorch."""
        base, _, overload = _without_aten(name).partition(".")
        return bool(self.lookup(name)) if overload else native_functions.exists(self._text, base)

    def lookup(self, name: str) -> list[NativeFunction]:
        """The overloads of an operator: those of the file in its order, then generated ones.

        ``name`` is a bare name (every overload) or has an overload (``add.Tensor``; ``randn.default`` is the overload
        without a name); empty when unknown.
        """
        base, dot, overload = _without_aten(name).partition(".")
        entries = native_functions.find(self._text, base) + native_functions.find_generated(self._text, base)
        wanted = "" if overload == "default" else overload
        return [entry for entry in entries if not dot or entry.overload == wanted]

    def nearest(self, name: str, count: int = 3) -> list[str]:
        """The operator names that look most like ``name``."""
        return difflib.get_close_matches(_without_aten(name).partition(".")[0], self.names, count, 0.6)

    def symbols_for(self, name: str, layer: Layer = Layer.KERNEL) -> list[Candidate]:
        """The functions at which a breakpoint on the operator belongs, layers in the order of a call.

        A bare name means every overload. The caller looks which of the functions exist: kernels of backends that this
        build does not have are among them.

        :raises SpecError: the operator or the overload does not exist; the hint has the nearest names.
        """
        entries = self.lookup(name)
        if not entries:
            raise self._unknown(name)
        found = self.candidates(entries, layer)
        # Overloads that share a name are told apart only where not all of them are wanted.
        return found if "." in name else [replace(candidate, parameters=()) for candidate in found]

    def candidates(self, entries: Sequence[NativeFunction], layer: Layer) -> list[Candidate]:
        """:meth:`symbols_for` for overloads that are known already, each with the parameters of its own."""
        makers = _MAKERS.values() if layer is Layer.ALL else [_MAKERS[layer]]
        return _merged(candidate for make in makers for entry in entries for candidate in make(self, entry))

    def symbols_for_spec(self, spec: BreakpointSpec) -> list[Candidate]:
        """:meth:`symbols_for` for a spec of kind OPERATOR; no layer means the kernel.

        Empty for the kernel of another namespace: only the registry of the running process has that.

        :raises SpecError: no such operator, or a layer that an operator of another namespace does not have.
        """
        if spec.namespace not in (None, "aten"):
            if spec.layer in (None, Layer.KERNEL, Layer.ALL):
                return []
            name = f"{spec.namespace}::{spec.subject}"
            raise SpecError(
                f"{name} is not one of PyTorch's own operators: of its layers only the kernel is a function of its own",
                f"break {name}@kernel",
            )
        name = f"{spec.subject}.{spec.overload}" if spec.overload else spec.subject
        return self.symbols_for(name, spec.layer or Layer.KERNEL)

    def kernels(self, entry: NativeFunction) -> list[tuple[str, str]]:
        """``(dispatch key, qualified name of the kernel)`` of one overload, as torchgen registers them."""
        if entry.generated_from is not None:
            return [(EXPLICIT, _qualified(_generated_kernel(entry, entry.generated_from)))]
        if entry.name in _AUTOGRAD_ONLY:
            return [("Autograd", autograd_kernel(entry))]
        kernels = [
            (key, _structured(kernel) if entry.structured and key in _STRUCTURED_KEYS else _qualified(kernel))
            for key, kernel in entry.dispatch
        ]
        if entry.ufunc:
            kernels += [(key, _structured(f"ufunc_{entry.name}_{key}")) for key in _UFUNC_KEYS]
        if entry.delegate is not None:
            own = {key for key, _ in kernels}
            kernels += [
                (key, kernel)
                for target in self.lookup(entry.delegate)
                for key, kernel in self.kernels(target)
                if key in _STRUCTURED_KEYS and key not in own
            ]
        if entry.implicit:
            kernels.append((IMPLICIT, _qualified(cpp_name(entry))))
        return sorted(kernels, key=lambda pair: _KEY_ORDER.get(pair[0], len(_KEY_ORDER)))

    def by_unambiguous_name(self, name: str) -> NativeFunction | None:
        """The overload that torchgen calls so in C++ (``add_Tensor``, ``randn``); None where there is none, or two."""
        cuts = [at for at, letter in enumerate(name) if letter == "_"]
        bases = [(name, ""), *((name[:at], name[at + 1 :]) for at in cuts)]
        found = [
            entry
            for base, overload in bases
            for entry in (self.lookup(f"{base}.{overload or 'default'}") if base else [])
            if entry.unambiguous_name == name
        ]
        return found[0] if len(found) == 1 else None

    def with_kernel(self, kernel: str) -> list[tuple[NativeFunction, str]]:
        """The overloads whose kernel has this bare name, each with the name that it has in the table."""
        found = [
            (entry, name)
            for entry in native_functions.that_dispatch_to(self._text, kernel)
            for _, name in entry.dispatch
            if name.rpartition("::")[2] == kernel
        ]
        for base in dict.fromkeys((kernel, kernel.removesuffix("_out"))):
            entries = native_functions.find(self._text, base)
            found += [(entry, kernel) for entry in entries if entry.implicit and cpp_name(entry) == kernel]
        return list(dict.fromkeys(found))

    def _unknown(self, name: str) -> SpecError:
        base, _, overload = _without_aten(name).partition(".")
        overloads = [entry.full_name for entry in self.lookup(base)]
        if overloads:
            known = ", ".join(overloads)
            return SpecError(f"operator {base} has no overload {overload!r}", f"its overloads: {known}")
        namespace, _, operator = base.partition("::")
        if namespace and operator:
            hint = f"an extension's operator: dualdbg resolve torch.ops.{namespace}.{operator} --setup 'import …'"
            return SpecError(f"{base} is not one of PyTorch's own operators", hint)
        near = ", ".join(self.nearest(operator or namespace))
        hint = f"nearest: {near}" if near else "dualdbg ops lists the operators"
        return SpecError(f"PyTorch has no operator named {base!r}", hint)


def autograd_kernel(entry: NativeFunction) -> str:
    """The function that records an overload for the backward pass, where it has one."""
    return f"torch::autograd::VariableType::(anonymous namespace)::{entry.unambiguous_name}"


def _binding(_table: OperatorTable, entry: NativeFunction) -> list[Candidate]:
    name = f"torch::autograd::THPVariable_{entry.name}"
    return [Candidate(name, TORCH_PYTHON, Layer.BINDING, (entry.full_name,))]


def _dispatch(_table: OperatorTable, entry: NativeFunction) -> list[Candidate]:
    name = f"at::_ops::{entry.unambiguous_name}::call"
    return [Candidate(name, TORCH_CPU, Layer.DISPATCH, (entry.full_name,))]


def _kernel(table: OperatorTable, entry: NativeFunction) -> list[Candidate]:
    found = []
    for key, kernel in table.kernels(entry):
        if _ELSEWHERE.search(key):
            continue
        plain = kernel.startswith("at::") and not kernel.endswith("::impl") and entry.schema
        parameters = (kernel_parameters(entry.schema, kernel),) if plain else ()
        found.append(
            Candidate(
                kernel,
                _library((key,)),
                Layer.KERNEL,
                (entry.full_name,),
                (key,),
                parameters,
                (_wrapper(entry, key),),
            )
        )
    return found


_MAKERS = {Layer.BINDING: _binding, Layer.DISPATCH: _dispatch, Layer.KERNEL: _kernel}

# The kernels of a plain tensor on the CPU first, then what any backend shares.
_KEY_ORDER = {
    key: at for at, key in enumerate(("CPU", EXPLICIT, f"{EXPLICIT}NonFunctional", IMPLICIT, "Meta"))
}


def _merged(candidates: Iterable[Candidate]) -> list[Candidate]:
    """One candidate for each function, with every overload and key that leads to it."""
    merged: dict[str, Candidate] = {}
    for one in candidates:
        known = merged.get(one.name)
        merged[one.name] = one if known is None else _joined(known, one)
    return list(merged.values())


def _joined(first: Candidate, second: Candidate) -> Candidate:
    keys = _union(first.keys, second.keys)
    return replace(
        first,
        library=_library(keys) if keys else first.library,
        overloads=_union(first.overloads, second.overloads),
        keys=keys,
        parameters=_union(first.parameters, second.parameters)
        if first.parameters and second.parameters
        else (),
        wrappers=_union(first.wrappers, second.wrappers),
    )


def _union(first: tuple[_Item, ...], second: tuple[_Item, ...]) -> tuple[_Item, ...]:
    return tuple(dict.fromkeys(first + second))


def _library(keys: tuple[str, ...]) -> str:
    for word, library in _LIBRARY_OF_KEY:
        if all(word in key for key in keys):
            return library
    return TORCH_CPU


def _wrapper(entry: NativeFunction, key: str) -> str:
    """The function in Register<key>.cpp that calls the kernel (torchgen/dest/register_dispatch_key.py)."""
    structured = (entry.structured or entry.delegate) and key in _STRUCTURED_KEYS
    return wrapper_names(entry, key)[0 if structured else 1]


def wrapper_names(entry: NativeFunction, key: str) -> tuple[str, str]:
    """The names of an overload's function in Register<key>.cpp: with a structured kernel, and with another one."""
    overload = f"_{entry.overload}" if entry.overload else ""
    return f"wrapper_{key}_{cpp_name(entry)}{overload}", f"wrapper_{key}_{entry.overload}_{cpp_name(entry)}"


def cpp_name(entry: NativeFunction) -> str:
    """The operator's name in C++: ``add_out`` for the overloads that write to what they are given."""
    return f"{entry.name}_out" if entry.out_variant else entry.name


def _generated_kernel(entry: NativeFunction, origin: NativeFunction) -> str:
    name = entry.unambiguous_name if entry.overload.endswith("out") else entry.name
    return f"{name}_symint" if "SymInt" in origin.schema else name


def _without_aten(name: str) -> str:
    return name.removeprefix("aten::")


def _qualified(kernel: str) -> str:
    """The kernel's C++ name. A kernel may bring a namespace of its own; ``native`` is then put behind that."""
    namespace, _, name = kernel.rpartition("::")
    return f"{namespace or 'at'}::native::{name}"


def _structured(kernel: str) -> str:
    namespace, _, name = kernel.rpartition("::")
    return f"{namespace or 'at'}::native::structured_{name}::impl"
