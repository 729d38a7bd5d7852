"""The functions that an operator's call passes through: Python binding, dispatcher, autograd, kernels.

Pure but for reading the libraries: :func:`trace` puts together what native_functions.yaml, derivatives.yaml and
the libraries' symbols say; ``operator_report.py`` prints it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from pathlib import Path

from ...model import Layer
from ...shared.libraries import TORCH_CPU
from ..objfile import Objfile, Symbol
from ..source_files import SourceFiles
from . import derivatives
from .dispatch_stubs import StubTable
from .native_functions import NativeFunction
from .operators import Candidate, OperatorTable, autograd_kernel

REPOSITORY = "https://github.com/pytorch/pytorch/blob"
_IN_REPOSITORY = re.compile(r".*?/((?:aten|torch|c10|caffe2)/.*)")
_MADE_BY_THE_BUILD = re.compile(r"/(?:build|generated)/")

# Where PyTorch keeps the functions of a ``python_module`` (gen_python_functions.py).
_PYTHON_MODULES = {
    None: "torch",
    "nn": "torch._C._nn",
    "fft": "torch._C._fft",
    "linalg": "torch._C._linalg",
    "nested": "torch._C._nested",
    "sparse": "torch._C._sparse",
    "special": "torch._C._special",
}


class Step(str, Enum):
    """The kinds of stations, in the order in which a call passes through them."""

    BINDING = "binding"
    DISPATCHER = "dispatcher"
    AUTOGRAD = "autograd"
    KERNEL = "kernel"
    STUB = "stub"
    BACKWARD = "backward"


@dataclass(frozen=True)
class Station:
    """One function of the chain.

    ``function`` is the demangled name, ``library`` the file that has it, ``address`` its link-time address there
    (None: no such function in the libraries at hand, and ``note`` says what that means). ``keys`` are dispatch
    keys or, for a stub, processor capabilities. ``source`` is the path of the source file within PyTorch's repository.
    """

    step: Step
    function: str
    overloads: tuple[str, ...]
    library: str | None = None
    address: int | None = None
    keys: tuple[str, ...] = ()
    source: str | None = None
    note: str | None = None


@dataclass(frozen=True)
class Overload:
    """One overload: its schema (None: torchgen made it from ``made_from``), how Python calls it, its gradients."""

    name: str
    schema: str | None
    python: tuple[str, ...]
    formulas: tuple[tuple[str, str], ...]
    made_from: str | None = None


@dataclass(frozen=True)
class Chain:
    """Everything known of an operator. ``commit`` is the one that PyTorch was built from, where it says so."""

    operator: str
    overloads: tuple[Overload, ...]
    stations: tuple[Station, ...]
    commit: str | None

    def link(self, station: Station) -> str | None:
        """Where the station's source file can be read, at the commit of the build."""
        if self.commit is None or station.source is None:
            return None
        return f"{REPOSITORY}/{self.commit}/{station.source}"


class TorchInstallation:
    """One installed PyTorch: its tables and its libraries."""

    def __init__(self, torch_directory: Path) -> None:
        self.directory = torch_directory
        self.table = OperatorTable.load(torch_directory)

    @cached_property
    def derivatives(self) -> str:
        """The text of derivatives.yaml. Raises SymbolError where it cannot be read."""
        return derivatives.read_text(self.directory)

    @cached_property
    def commit(self) -> str | None:
        """The commit that torch/version.py names."""
        version = self.directory / "version.py"
        found = (
            re.search(r"^git_version = '([0-9a-f]{40})'", version.read_text(), re.MULTILINE)
            if version.exists()
            else None
        )
        return found[1] if found else None

    def library(self, name: str) -> Objfile | None:
        """``libtorch_cpu`` and the like; None when this build does not have it."""
        path = self.directory / "lib" / f"{name}.so"
        return Objfile.open(path) if path.exists() else None

    @cached_property
    def sources(self) -> Callable[[Objfile, Symbol], str | None]:
        """The path in PyTorch's repository of the file that a function was compiled from, where it is known."""
        readers: dict[str, SourceFiles] = {}

        def source(library: Objfile, symbol: Symbol) -> str | None:
            path = readers.setdefault(library.path, SourceFiles(library)).path_of(symbol)
            match = _IN_REPOSITORY.fullmatch(path) if path and not _MADE_BY_THE_BUILD.search(path) else None
            return match[1] if match else None

        return source


def trace(torch: TorchInstallation, name: str) -> Chain:
    """The chain of an operator (``randn``) or of one overload (``add.Tensor``).

    :raises SpecError: there is no such operator. :raises SymbolError: a file of the installation cannot be read.
    """
    torch.table.symbols_for(name)  # raises SpecError for an operator that does not exist
    entries = torch.table.lookup(name)
    overloads = tuple(_overload(torch, entry) for entry in entries)
    # Overload by overload, so that functions that share a name are told apart.
    candidates = [one for entry in entries for one in torch.table.candidates([entry], Layer.ALL)]
    stations = _merged([station for candidate in candidates for station in _stations(torch, candidate)])
    stations = _merged(stations + _stubs(torch, stations) + _autograd(torch, entries))
    order = list(Step)
    stations.sort(key=lambda station: order.index(station.step))
    return Chain(name.removeprefix("aten::"), overloads, tuple(stations), torch.commit)


def _merged(stations: list[Station]) -> list[Station]:
    """One station for each function, with every overload and key that leads to it."""
    merged: dict[tuple[Step, str, int | None], Station] = {}
    for one in stations:
        place = (one.step, one.function, one.address)
        known = merged.get(place)
        if known is not None:
            overloads = tuple(dict.fromkeys(known.overloads + one.overloads))
            one = replace(known, overloads=overloads, keys=tuple(dict.fromkeys(known.keys + one.keys)))
        merged[place] = one
    return list(merged.values())


def _overload(torch: TorchInstallation, entry: NativeFunction) -> Overload:
    gradients = derivatives.find(torch.derivatives, entry.full_name)
    formulas = tuple(formula for one in gradients for formula in one.formulas)
    python = []
    if "function" in entry.variants and entry.generated_from is None:
        python.append(f"{_PYTHON_MODULES.get(entry.python_module, 'torch')}.{entry.name}")
    if "method" in entry.variants:
        python.append(f"torch.Tensor.{entry.name}")
    made_from = entry.generated_from.full_name if entry.generated_from else None
    return Overload(entry.full_name, entry.schema or None, tuple(python), formulas, made_from)


_STEPS = {Layer.BINDING: Step.BINDING, Layer.DISPATCH: Step.DISPATCHER, Layer.KERNEL: Step.KERNEL}


def _stations(torch: TorchInstallation, candidate: Candidate) -> list[Station]:
    step = _STEPS[candidate.layer]
    found = _located(
        torch, step, candidate.name, candidate.library, candidate.overloads, candidate.keys, candidate
    )
    if found or step is Step.BINDING:  # an operator without a binding is called as torch.ops.aten.NAME
        return found
    library = torch.library(candidate.library)
    note = f"this build has no {candidate.library}" if library is None else "inlined, or not in this build"
    if library is not None:
        for wrapper in candidate.wrappers:
            calls = _located(torch, step, wrapper, candidate.library, candidate.overloads, candidate.keys)
            if calls:
                return [replace(one, note=f"calls {candidate.name}, which is inlined") for one in calls]
    return [Station(step, candidate.name, candidate.overloads, keys=candidate.keys, note=note)]


def _located(
    torch: TorchInstallation,
    step: Step,
    name: str,
    library_name: str,
    overloads: tuple[str, ...],
    keys: tuple[str, ...] = (),
    candidate: Candidate | None = None,
) -> list[Station]:
    library = torch.library(library_name)
    if library is None:
        return []
    functions = library.find_functions(f"::{name}" if "::" in name else name)
    picked = candidate.pick(functions) if candidate else functions
    return [
        Station(step, one.name, overloads, library_name, one.address, keys, torch.sources(library, one))
        for one in picked
    ]


def _stubs(torch: TorchInstallation, stations: list[Station]) -> list[Station]:
    """The vectorised functions that the CPU kernels call, by processor capability."""
    library = torch.library(TORCH_CPU)
    if library is None:
        return []
    table = StubTable(library)
    found = []
    for station in stations:
        if station.step is not Step.KERNEL or station.address is None or station.library != TORCH_CPU:
            continue
        symbol = library.symbol_at(station.address)
        for stub in table.called_by(symbol) if symbol else ():
            note = f"by {stub.name.rpartition('::')[2]}"
            found += [
                Station(
                    Step.STUB,
                    function.name,
                    station.overloads,
                    TORCH_CPU,
                    function.address,
                    (capability,),
                    torch.sources(library, function),
                    note,
                )
                for capability, function in stub.functions
            ]
    return found


def _autograd(torch: TorchInstallation, entries: list[NativeFunction]) -> list[Station]:
    stations = []
    for entry in entries:
        name = (entry.full_name,)
        stations += _located(torch, Step.AUTOGRAD, autograd_kernel(entry), TORCH_CPU, name)
        for derivative in derivatives.find(torch.derivatives, entry.full_name):
            if derivative.node is not None:
                node = f"torch::autograd::generated::{derivative.node}::apply"
                stations += _located(torch, Step.BACKWARD, node, TORCH_CPU, name, (derivative.key,))
    return stations
