"""ATen operators: from a name to the C++ functions that run when the operator is called, layer by layer."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ..errors import SpecError
from ..model import BreakpointSpec, Layer
from . import native_functions
from .native_functions import NativeFunction

TORCH_CPU = "libtorch_cpu"
TORCH_PYTHON = "libtorch_python"

# The dispatch keys whose kernels of a structured operator are structured, from STRUCTURED_DISPATCH_KEYS in
# torchgen/model.py, and the library that holds them.
_STRUCTURED_KEYS = {"CPU", "CUDA", "MPS", "XPU", "MTIA"}
_UFUNC_KEYS = ("CPU", "CUDA")


@dataclass(frozen=True)
class Candidate:
    """A C++ function that may run when an operator is called.

    ``name`` is qualified and has no parameter list: every function of this name in ``library`` (a file name
    without version and suffix) is meant. ``overloads`` are the operator overloads that come here (``randn``,
    ``randn.generator``), ``keys`` the dispatch keys (empty where there is no choice by key).
    ``instead_of`` names what the compiler has inlined, when this function is only the next best place.
    """

    name: str
    library: str
    layer: Layer
    overloads: tuple[str, ...]
    keys: tuple[str, ...] = ()
    instead_of: str | None = None


class OperatorTable:
    """The operators of one installed PyTorch, read from the native_functions.yaml that is installed with it."""

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
        if not overload:
            return native_functions.exists(self._text, base)
        return any(entry.overload == overload for entry in self.lookup(base))

    def lookup(self, name: str) -> list[NativeFunction]:
        """The overloads of an operator: those of the file in its order, then generated ones.

        ``name`` is a bare name (every overload) or a name with an overload (``add.Tensor``); empty when unknown.
        """
        base, _, overload = _without_aten(name).partition(".")
        entries = native_functions.find(self._text, base) + native_functions.find_generated(self._text, base)
        return [entry for entry in entries if not overload or entry.overload == overload]

    def nearest(self, name: str, count: int = 3) -> list[str]:
        """The operator names that look most like ``name``."""
        return difflib.get_close_matches(_without_aten(name).partition(".")[0], self.names, count, 0.6)

    def symbols_for(self, name: str, layer: Layer = Layer.KERNEL) -> list[Candidate]:
        """The functions at which a breakpoint on the operator belongs, in the order in which a call meets them.

        :raises SpecError: the operator or the overload does not exist; the hint has the nearest names.
        """
        entries = self.lookup(name)
        if not entries:
            raise self._unknown(name)
        makers = _MAKERS if layer is Layer.ALL else {layer: _MAKERS[layer]}
        candidates = [
            candidate for make in makers.values() for entry in entries for candidate in make(self, entry)
        ]
        return _merged(candidates)

    def symbols_for_spec(self, spec: BreakpointSpec) -> list[Candidate]:
        """:meth:`symbols_for` for a spec of kind OPERATOR; no layer means the kernel."""
        name = f"{spec.subject}.{spec.overload}" if spec.overload else spec.subject
        return self.symbols_for(name, spec.layer or Layer.KERNEL)

    def kernels(self, entry: NativeFunction) -> list[tuple[str, str]]:
        """``(dispatch key, qualified name of the kernel)`` of one overload, as torchgen registers them."""
        if entry.generated_from is not None:
            name = entry.unambiguous_name if entry.overload.endswith("out") else entry.name
            return [("CompositeExplicitAutograd", _qualified(name))]
        kernels = [
            (key, _structured(kernel) if entry.structured and key in _STRUCTURED_KEYS else _qualified(kernel))
            for key, kernel in entry.dispatch
        ]
        if entry.ufunc:
            kernels += [(key, _structured(f"ufunc_{entry.name}_{key}")) for key in _UFUNC_KEYS]
        if entry.delegate is not None:
            own = {key for key, _ in kernels}
            base, _, overload = entry.delegate.partition(".")
            for target in native_functions.find(self._text, base):
                if target.overload == overload:
                    kernels += [
                        (key, kernel)
                        for key, kernel in self.kernels(target)
                        if key in _STRUCTURED_KEYS and key not in own
                    ]
        if not kernels and not entry.structured:
            name = f"{entry.name}_out" if entry.out_variant else entry.name
            kernels.append(("CompositeImplicitAutograd", _qualified(name)))
        return kernels

    def _unknown(self, name: str) -> SpecError:
        base, _, overload = _without_aten(name).partition(".")
        overloads = [entry.full_name for entry in self.lookup(base)]
        if overloads:
            return SpecError(
                f"operator {base} has no overload {overload!r}", f"its overloads: {', '.join(overloads)}"
            )
        near = self.nearest(base)
        return SpecError(
            f"PyTorch has no operator named {base!r}",
            f"nearest: {', '.join(near)}" if near else "dualdbg ops lists the operators",
        )


def _binding(_table: OperatorTable, entry: NativeFunction) -> list[Candidate]:
    name = f"torch::autograd::THPVariable_{entry.name}"
    return [Candidate(name, TORCH_PYTHON, Layer.BINDING, (entry.full_name,))]


def _dispatch(_table: OperatorTable, entry: NativeFunction) -> list[Candidate]:
    name = f"at::_ops::{entry.unambiguous_name}::call"
    return [Candidate(name, TORCH_CPU, Layer.DISPATCH, (entry.full_name,))]


def _kernel(table: OperatorTable, entry: NativeFunction) -> list[Candidate]:
    return [
        Candidate(kernel, TORCH_CPU, Layer.KERNEL, (entry.full_name,), (key,))
        for key, kernel in table.kernels(entry)
    ]


_MAKERS = {Layer.BINDING: _binding, Layer.DISPATCH: _dispatch, Layer.KERNEL: _kernel}


def _merged(candidates: list[Candidate]) -> list[Candidate]:
    """One candidate a function, with every overload and key that comes there."""
    merged: dict[tuple[str, str], Candidate] = {}
    for one in candidates:
        place = (one.library, one.name)
        known = merged.get(place)
        merged[place] = one if known is None else _joined(known, one)
    return list(merged.values())


def _joined(first: Candidate, second: Candidate) -> Candidate:
    return replace(
        first,
        overloads=tuple(dict.fromkeys(first.overloads + second.overloads)),
        keys=tuple(dict.fromkeys(first.keys + second.keys)),
    )


def _without_aten(name: str) -> str:
    return name.removeprefix("aten::")


def _qualified(kernel: str) -> str:
    """The kernel's C++ name: ``at::native::`` goes before the last part, after a namespace of its own."""
    namespace, _, name = kernel.rpartition("::")
    return f"{namespace or 'at'}::native::{name}"


def _structured(kernel: str) -> str:
    namespace, _, name = kernel.rpartition("::")
    return f"{namespace or 'at'}::native::structured_{name}::impl"
