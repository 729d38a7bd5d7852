"""The way of generation: what is said agrees with torchgen's own rules and with the files of the wheel."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import pytest

from dualdbg.cli.commands import ops
from dualdbg.cli.commands.ops import operator_of, with_namespace
from dualdbg.errors import SpecError, UsageError
from dualdbg.symbols.torch.generated_files import Generation, generation
from dualdbg.symbols.torch.generated_report import as_data, as_text, in_repository
from dualdbg.symbols.torch.operator_chain import TorchInstallation

pytestmark = pytest.mark.torch

YAML = "torchgen/packaged/ATen/native/native_functions.yaml"


@pytest.fixture(scope="module")
def torch(torch_directory: Path) -> TorchInstallation:
    return TorchInstallation(torch_directory)


@cache
def made(torch: TorchInstallation, name: str) -> Generation:
    """Asked once for each operator: it takes seconds."""
    return generation(torch, name)


def sources(found: Generation) -> dict[str, str]:
    """The library of each file, by the file's name."""
    return {Path(one.path or "?").name: one.library for one in found.files}


def test_randn(torch: TorchInstallation) -> None:
    found = made(torch, "randn")
    assert found.operator == "randn"
    lines = (torch.directory.parent / YAML).read_text().splitlines()
    for entry in found.entries:
        assert lines[entry.line - 1] == f"- func: {entry.schema}"
    assert [re.sub(r"_\d", "_N", one) for one in sources(found)] == [
        "RegisterSchema.cpp",
        "python_torch_functions_N.cpp",
        "Operators_N.cpp",
        "RegisterBackendSelect.cpp",
        "TraceType_N.cpp",
        "RegisterFunctionalization_N.cpp",
        "RegisterCompositeExplicitAutograd_N.cpp",
        "RegisterCompositeImplicitAutograd_N.cpp",
    ]
    binding, dispatcher = found.files[1:3]
    assert (binding.library, dispatcher.library) == ("libtorch_python", "libtorch_cpu")
    library = torch.library("libtorch_cpu")
    assert library is not None
    (place,) = (one for one in dispatcher.places if one.function == "at::_ops::randn::call")
    symbol = library.symbol_at(place.address)
    assert symbol is not None and symbol.name.startswith("at::_ops::randn::call(")


def test_each_generator_and_template_is_where_it_is_said_to_be(torch: TorchInstallation) -> None:
    packages = torch.directory.parent
    for name in ("add.Tensor", "view_copy"):
        for file in made(torch, name).files:
            assert (
                file.generator is not None and file.generator.line is not None and file.template is not None
            )
            line = (packages / file.generator.file).read_text().splitlines()[file.generator.line - 1]
            assert re.match(rf"(?:def|class) {file.generator.function}\b", line), (file, line)
            assert (packages / file.template).is_file()


# By layer: how many shards there are, and by which of its names an operator is put in one.
SHARDS = {
    "python_torch_functions": (3, "root"),
    "Operators": (5, "root"),
    "TraceType": (10, "root"),
    "VariableType": (10, "cpp"),
    "ADInplaceOrViewType": (2, "root"),
    "RegisterFunctionalization": (4, "root"),
    "RegisterCPU": (4, "root"),
}
NAMES = {
    "randn": ("randn", "randn"),
    "add.Tensor": ("add", "add"),
    "__iand__.Tensor": ("and", "__iand__"),
    "cumsum.out": ("cumsum", "cumsum_out"),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_shards_are_those_of_torchgens_hash(torch: TorchInstallation, name: str) -> None:
    from torchgen.utils import string_stable_hash

    root, cpp = NAMES[name]
    seen = 0
    for file in sources(made(torch, name)):
        match = re.fullmatch(r"(\w+)_(\d+)\.cpp", file)
        if match and match[1] in SHARDS:
            count, key = SHARDS[match[1]]
            assert int(match[2]) == string_stable_hash(cpp if key == "cpp" else root) % count, file
            seen += 1
    assert seen >= 2


def test_a_kernel_that_torchgen_writes_and_a_binding_that_it_does_not(torch: TorchInstallation) -> None:
    assert "CompositeViewCopyKernels.cpp" in sources(made(torch, "view_copy"))
    ufunc = sources(made(torch, "add.Tensor"))
    assert {
        "UfuncCPU_add.cpp",
        "UfuncCPUKernel_add.cpp.DEFAULT.cpp",
        "python_functions_2.cpp",
    } <= ufunc.keys()
    by_hand = {Path(one.path or "?").name: one for one in made(torch, "numel").files if one.generator is None}
    assert list(by_hand) == ["python_torch_functions_manual.cpp", "python_variable_methods.cpp"]
    assert by_hand["python_torch_functions_manual.cpp"].template is None
    template = by_hand["python_variable_methods.cpp"].template
    assert template is not None and "THPVariable_numel(" in (torch.directory.parent / template).read_text()


def test_what_is_printed(torch: TorchInstallation, capsys: pytest.CaptureFixture[str]) -> None:
    assert ops.main(["aten::numel", "--generated"]) == 0
    printed = capsys.readouterr().out
    found = made(torch, "numel")
    assert printed == as_text(found) + "\n"
    assert f"native_functions.yaml#L{found.entries[0].line}" in printed
    assert ops.main(["numel", "--generated", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(as_data(found)))
    assert (
        in_repository("torchgen/packaged/autograd/gen_python_functions.py")
        == "tools/autograd/gen_python_functions.py"
    )
    assert in_repository("torchgen/gen.py") == "torchgen/gen.py"


@pytest.mark.processes
def test_no_operator() -> None:
    with pytest.raises(SpecError, match="no operator named 'radn'"):
        ops.main(["radn", "--generated"])
    with pytest.raises(UsageError):
        ops.main(["--generated"])


@pytest.mark.pure
@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("randn", "randn"),
        ("add.Tensor", "add.Tensor"),
        ("aten::mm", "aten::mm"),
        ("torch.randn", "randn"),
        ("torch.Tensor.add_", "add_"),
        ("torch.ops.aten.add.Tensor", "aten::add.Tensor"),
        ("torch.ops.quantized.add", "quantized::add"),
    ],
)
def test_names_of_python_mean_operators(typed: str, meant: str) -> None:
    assert operator_of(typed) == meant


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("mylib.myop", "mylib::myop"),
        ("mylib.myop.out", "mylib::myop.out"),
        ("mylib::myop.out", "mylib::myop.out"),
        ("add.Tensor", "add.Tensor"),
        ("add.Tensorr", "add.Tensorr"),
        ("adl.Tensor", "adl.Tensor"),  # a slip in the name of add
        ("aten.mm.out", "aten::mm.out"),
    ],
)
def test_a_namespace_before_a_dot_is_told_from_an_operator(
    torch: TorchInstallation, typed: str, meant: str
) -> None:
    assert with_namespace(typed, torch.table) == meant
