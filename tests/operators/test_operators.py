"""The operator table: what it reads is what torchgen reads, and the functions it names are in the libraries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dualdbg.errors import SpecError, SymbolError
from dualdbg.model import Layer
from dualdbg.symbols.locspec.breakpoint_spec import parse_spec
from dualdbg.symbols.objfile import Objfile
from dualdbg.symbols.torch import native_functions
from dualdbg.symbols.torch.native_signature import kernel_parameters, normal, parameters_of
from dualdbg.symbols.torch.operators import Candidate, OperatorTable

pytestmark = pytest.mark.torch


def names(candidates: list[Candidate]) -> list[str]:
    return [candidate.name for candidate in candidates]


def test_every_operator_is_as_torchgen_sees_it(table: OperatorTable, torch_directory: Path) -> None:
    from torchgen.gen import parse_native_yaml

    folder = torch_directory.parent / "torchgen/packaged/ATen/native"
    parsed = parse_native_yaml(str(folder / "native_functions.yaml"), str(folder / "tags.yaml"))
    seen = set()
    for function in parsed.native_functions:
        name = str(function.func.name)
        seen.add(name)
        [entry] = [entry for entry in table.lookup(name) if entry.full_name == name]
        if "generated" not in function.tags:
            assert entry.structured == function.structured, name
            assert entry.out_variant == function.func.is_out_fn(), name
            assert set(entry.variants) == {variant.name for variant in function.variants}, name
            assert entry.python_module == function.python_module, name
            assert list(entry.autogen) == [str(one) for one in function.autogen], name
            delegate = function.structured_delegate
            assert entry.delegate == (None if delegate is None else str(delegate)), name
        registered = {}
        for key, index in parsed.backend_indices.items():
            kernel = index.get_kernel(function)
            if kernel is not None:
                last = f"structured_{kernel.kernel}::impl" if kernel.structured else kernel.kernel
                registered[key.name] = f"{kernel.cpp_namespace}::{last}"
        if name in ("_fw_primal", "detach_"):  # their autograd kernels call no other
            continue
        ours = dict(table.kernels(entry))
        assert {key: ours.get(key) for key in registered} == registered, name
        assert set(ours) == set(registered) or entry.delegate, name
    bases = {*table.names, *(name.partition(".")[0] for name in seen)}
    assert {entry.full_name for base in bases for entry in table.lookup(base)} == seen


@pytest.mark.slow
def test_the_parameters_tell_overloads_apart(table: OperatorTable, torch_directory: Path) -> None:
    library = Objfile.open(torch_directory / "lib/libtorch_cpu.so")
    several = {"randn", "add", "div", "sum", "where", "arange", "hsplit", "tensor_split", "std", "index_fill"}
    checked = 0
    for name in sorted(several):
        for entry in table.lookup(name):
            for key, kernel in table.kernels(entry):
                functions = library.find_functions(f"::{kernel}")
                if kernel.endswith("::impl") or not entry.schema or not functions:
                    continue
                wanted = tuple(map(normal, kernel_parameters(entry.schema, kernel)))
                assert [one for one in functions if parameters_of(one.name) == wanted], (entry.schema, key)
                checked += 1
    assert checked > 40


@pytest.mark.parametrize(
    ("name", "layer", "expected"),
    [
        ("randn", Layer.KERNEL, ["at::native::randn", "at::native::randn_out"]),
        ("randn.generator", Layer.KERNEL, ["at::native::randn"]),
        ("aten::randn", Layer.BINDING, ["torch::autograd::THPVariable_randn"]),
        ("add.Tensor", Layer.DISPATCH, ["at::_ops::add_Tensor::call"]),
        (
            "linear",
            Layer.KERNEL,
            ["at::native::linear", "at::native::nested_linear", "at::native::linear_out"],
        ),
        ("mm.out", Layer.DISPATCH, ["at::_ops::mm_out::call"]),
        ("detach_", Layer.KERNEL, ["torch::autograd::VariableType::(anonymous namespace)::detach_"]),
    ],
)
def test_symbols(table: OperatorTable, name: str, layer: Layer, expected: list[str]) -> None:
    assert names(table.symbols_for(name, layer)) == expected


def test_structured_and_generated_kernels(table: OperatorTable) -> None:
    assert names(table.symbols_for("add.Tensor"))[0] == "at::native::structured_ufunc_add_CPU::impl"
    softmax = table.symbols_for("_softmax")
    assert names(softmax)[0] == "at::native::structured_softmax_cpu_out::impl"
    assert softmax[0].overloads == ("_softmax", "_softmax.out")
    assert softmax[0].keys == ("CPU",)
    [cuda] = [one for one in softmax if one.keys == ("CUDA",)]
    assert cuda.library == "libtorch_cuda"
    assert "at::native::convolution_out_symint" in names(table.symbols_for("convolution"))
    assert names(table.symbols_for("add.Scalar_out")) == ["at::native::add_Scalar_out"]


def test_all_layers_come_in_the_order_of_a_call(table: OperatorTable) -> None:
    layers = [candidate.layer for candidate in table.symbols_for("randn", Layer.ALL)]
    assert layers == sorted(layers, key=[Layer.BINDING, Layer.DISPATCH, Layer.KERNEL].index)
    assert set(layers) == {Layer.BINDING, Layer.DISPATCH, Layer.KERNEL}


def test_an_overload_picks_its_own_function(table: OperatorTable, torch_directory: Path) -> None:
    library = Objfile.open(torch_directory / "lib/libtorch_cpu.so")

    def functions(name: str) -> list[str]:
        [candidate] = [one for one in table.symbols_for(name) if one.name == "at::native::randn"]
        return [one.name for one in candidate.pick(library.find_functions("::at::native::randn"))]

    assert len(functions("randn")) == 2
    [generator] = functions("randn.generator")
    assert "at::Generator" in generator


@pytest.mark.slow
@pytest.mark.exhaustive
def test_every_function_of_the_common_layers_is_there(
    table: OperatorTable, torch_directory: Path, exported: Callable[[str], set[str]]
) -> None:
    """The dispatcher entry of every operator, and a kernel for each that the CPU build has."""
    there = exported("libtorch_cpu.so")
    for name in table.names:
        for candidate in table.symbols_for(name, Layer.DISPATCH):
            assert candidate.name in there, candidate
        for candidate in table.symbols_for(name):
            if candidate.library == "libtorch_cpu" and candidate.keys != ("Autograd",):
                assert candidate.name in there, candidate


@pytest.fixture(scope="session")
def exported(torch_directory: Path) -> Callable[[str], set[str]]:
    """The qualified names of a library's functions, by nm."""
    import re
    import shutil
    import subprocess

    from tests import support

    nm = support.require(shutil.which("nm"), "binutils")

    def read(library: str) -> set[str]:
        command = [nm, "-C", "--defined-only", str(torch_directory / "lib" / library)]
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return set(re.findall(r"^[0-9a-f]+ [tTwW] (at::[\w:]+)\(", text, re.MULTILINE))

    return read


def test_unknown_names(table: OperatorTable) -> None:
    with pytest.raises(SpecError) as caught:
        table.symbols_for("rnadn")
    assert "no operator named 'rnadn'" in caught.value.message
    assert "randn" in caught.value.hint
    with pytest.raises(SpecError) as caught:
        table.symbols_for("add.Tenser")
    assert caught.value.hint == "its overloads: add.Tensor, add.out, add.Scalar, add.Scalar_out"
    assert not table.is_operator("rnadn")
    assert not table.is_operator("add.Tenser")
    assert not table.is_operator("func")
    assert table.is_operator("add.Scalar_out")
    assert table.is_operator("aten::_softmax")
    assert table.is_operator("zero")  # only torchgen's autogen lines have it


def test_a_spec_leads_to_its_functions(table: OperatorTable) -> None:
    spec = parse_spec("add.Tensor@dispatch hits 3", table.is_operator)
    assert names(table.symbols_for_spec(spec)) == ["at::_ops::add_Tensor::call"]
    assert table.symbols_for_spec(parse_spec("mylib::myop@kernel", table.is_operator)) == []
    with pytest.raises(SpecError, match="mylib::myop is not one of PyTorch's own operators"):
        table.symbols_for_spec(parse_spec("mylib::myop@binding", table.is_operator))


def test_an_installation_without_the_table(tmp_path: Path) -> None:
    with pytest.raises(SymbolError) as caught:
        OperatorTable.load(tmp_path / "torch")
    assert str(tmp_path / native_functions.FILE) in caught.value.message
    assert "at::native::randn" in caught.value.hint
