"""Operators that native_functions.yaml does not have: what the dispatcher says of them, their kernels, their layers."""

from __future__ import annotations

import json
import re
from os.path import normpath
from pathlib import Path
from typing import Any

import pytest

from dualdbg.cli.commands import ops, resolve
from dualdbg.errors import SpecError, UsageError
from dualdbg.symbols.callables.native_entries import registered_rows, table_rows
from dualdbg.symbols.callables.resolved import Registered, Registration, Resolved, TableRow
from dualdbg.symbols.torch.registered_report import as_data, as_text, in_repository, layers
from tests import support
from tests.cli.driver import dualdbg

OPERATORS = support.SAMPLES / "torch_extension/operators.cpp"
PYTHON_OPERATORS = """\
import torch

@torch.library.custom_op("mine::doubled", mutates_args=())
def doubled(x: torch.Tensor) -> torch.Tensor:
    return x + x

@doubled.register_fake
def shape_of_doubled(x):
    return torch.empty_like(x)

def backward_of_doubled(context, gradient):
    return gradient + gradient

doubled.register_autograd(backward_of_doubled)

library = torch.library.Library("mine", "FRAGMENT")
library.define("plain(Tensor x) -> Tensor")
library.define("nothing(Tensor x) -> Tensor")
library.impl("plain", lambda x: x, "CPU")
"""


def of(names: list[str], setup: str, capsys: pytest.CaptureFixture[str], *more: str) -> list[dict[str, Any]]:
    """What is told of operators to programs."""
    assert ops.main([*names, "--generated", "--json", "--setup", setup, *more]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def layer(overload: dict[str, Any], file: str, key: str) -> dict[str, Any]:
    [row] = [row for row in overload["layers"] if row["file"] == file and (not key or key in row["keys"])]
    return dict(row)


def line_with(path: Path, text: str) -> int:
    return next(at for at, line in enumerate(path.read_text().splitlines(), 1) if text in line)


@pytest.mark.torch
@pytest.mark.processes
def test_an_extension_in_cpp(torch_extension: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = torch_extension / "sample_operators.so"
    setup = f"import torch; torch.ops.load_library({str(library)!r})"
    found, boxed = of(["sample::scale", "torch.ops.sample.boxed_echo"], setup, capsys)
    assert (found["operator"], found["generated"]) == ("sample::scale", False)
    [scale] = found["overloads"]
    assert scale["schema"] == "sample::scale(Tensor input, float factor) -> Tensor"
    assert normpath(scale["place"]) == f"{OPERATORS}:{line_with(OPERATORS, 'TORCH_LIBRARY(sample')}"
    implemented = f"{OPERATORS}:{line_with(OPERATORS, 'TORCH_LIBRARY_IMPL(sample, CPU')}"
    assert [(row["key"], normpath(row["place"])) for row in scale["registered"]] == [("CPU", implemented)]
    [kernel] = scale["kernels"]
    assert kernel["keys"] == ["CPU"] and kernel["python"] == []
    first, *casters = kernel["entries"]
    assert (first["role"], first["function"]) == ("kernel", "sample::scale(at::Tensor const&, double)")
    assert {entry["library"] for entry in kernel["entries"]} == {str(library)}
    assert len(casters) == 2 and "make_boxed_from_unboxed_functor" in casters[0]["function"]
    assert normpath(layer(scale, "RegisterCPU_N.cpp and the like", "CPU")["what"]) == implemented
    autograd = layer(scale, "VariableType_N.cpp", "AutogradCPU")
    assert (autograd["made"], autograd["what"]) == (
        "generic",
        "aten/src/ATen/core/VariableFallbackKernel.cpp",
    )
    assert layer(scale, "ADInplaceOrViewType_N.cpp", "")["made"] == "passed over"
    assert layer(scale, "TraceType_N.cpp", "Tracer")["made"] == "generic"
    assert layer(scale, "Operators_N.cpp", "")["made"] == "none"
    [echo] = boxed["overloads"]
    assert echo["registered"][0]["calls"] == ["boxed"]
    assert echo["kernels"][0]["entries"][0]["function"].startswith("sample::boxed_echo(")


@pytest.mark.torch
@pytest.mark.processes
def test_operators_in_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "mine_operators.py"
    program.write_text(PYTHON_OPERATORS)
    here = ("--cwd", str(tmp_path))
    found = of(["mine::doubled", "mine::plain"], "import mine_operators", capsys, *here)
    [doubled], [plain] = (one["overloads"] for one in found)
    by_key = {key: kernel for kernel in doubled["kernels"] for key in kernel["keys"]}
    assert all(kernel["entries"] == [] for kernel in doubled["kernels"])
    names = {one["name"] for one in by_key["CPU"]["python"]}
    assert {
        f"mine_operators.{name}" for name in ("doubled", "shape_of_doubled", "backward_of_doubled")
    } <= names
    assert not any(
        one["name"].startswith("torch") for kernel in doubled["kernels"] for one in kernel["python"][1:]
    )
    lines = {one["name"]: (one["file"], one["line"]) for one in by_key["CPU"]["python"]}
    place = (str(program), line_with(program, "def backward_of_doubled"))
    assert lines["mine_operators.backward_of_doubled"] == place
    # Keys that PyTorch cannot be asked for by name are those of the kernel that its table tells.
    for role, file in (
        ("backend_impl", "RegisterCPU_N.cpp and the like"),
        ("autograd_impl", "VariableType_N.cpp"),
    ):
        [kernel] = [one for one in doubled["kernels"] if one["python"][0]["name"].endswith(role)]
        assert kernel["keys"] == layer(doubled, file, kernel["keys"][0])["keys"], role
    meta = by_key["Meta"]["python"][0]["name"]
    assert "fake_impl" in meta and meta.endswith("meta_kernel")  # functools.wraps gives it another's name
    called = by_key["AutogradCPU"]["python"][0]
    assert called["name"].endswith("autograd_impl") and "torch/_library" in called["file"]
    assert layer(doubled, "VariableType_N.cpp", "AutogradCPU")["made"] == "registered"
    assert plain["place"].startswith(f"{program}:")
    [kernel] = plain["kernels"]
    at = line_with(program, 'library.impl("plain"')
    assert [(one["file"], one["line"]) for one in kernel["python"]] == [(str(program), at)]
    assert ops.main(["mine::nothing", "--setup", "import mine_operators", *here]) == 0
    assert "No kernel is known by its dispatch key" in capsys.readouterr().out
    names = ["torch.ops.mine.doubled", "torch.ops.mine.nothing"]
    assert resolve.main([*names, "--setup", "import mine_operators", *here]) == 0
    doubled_text, nothing_text = capsys.readouterr().out.split("\n\n")
    assert "-b mine::doubled finds nothing, for its kernels are written in Python" in doubled_text
    assert f"Python, {program}:3: stop with -b py:mine_operators.doubled" in doubled_text
    assert "-b mine::nothing finds nothing, for no kernel is registered for it" in nothing_text


@pytest.mark.torch
@pytest.mark.processes
@pytest.mark.slow
def test_an_operator_of_pytorch_that_no_table_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The places that resolve names are come to, and its name is a breakpoint that no other operator meets."""
    assert resolve.main(["torch.ops.quantized.add", "quantized::add", "quantized.add"]) == 0
    text, *written = capsys.readouterr().out.removesuffix("\n").split("\n\n")
    assert "the operator quantized::add: stop in its kernels with -b quantized::add\n" in text
    assert written == [text] * 2
    assert resolve.main(["torch.ops.quantized.add.default", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    specs = [entry["spec"] for entry in answer["entries"] if not entry["role"].endswith("dispatcher")]
    assert answer["binds"] is True and specs
    program = tmp_path / "quantized.py"
    program.write_text(
        "import torch\nx = torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)\n"
        "torch.ops.quantized.add(x, x, 0.1, 0)\n"
        "torch.ops.quantized.mul(x, x, 0.1, 0)\n"
    )
    options = [option for spec in specs for option in ("-b", spec)]
    shown = dualdbg("run", "--batch", *options, "-x", "bt", str(program)).stdout
    assert "* Breakpoint " in shown and f"<module>  {program}:3" in shown
    words = ["-b", "quantized::add", "-b", "quantized::mul.out", "-b", "quantized.add"]
    shown = dualdbg("run", "--batch", *words, *["-x", "continue"] * 2, str(program)).stdout
    assert re.findall(r"\* Breakpoint .*?:", shown) == ["* Breakpoint 1:"] and "functions" not in shown
    assert "Breakpoint 2 (quantized::mul.out): 2 places in libtorch_cpu.so" in shown
    assert "an operator of quantized: quantized::add" in shown
    assert ops.main(["c10d::allreduce_.default", "--json"]) == 0  # its arguments are objects of TorchBind
    [allreduce] = json.loads(capsys.readouterr().out)["overloads"]
    assert "CPU" in {key for kernel in allreduce["kernels"] for key in kernel["keys"]}
    assert ops.main(["quantized::add.out"]) == 0
    text = capsys.readouterr().out
    assert "  registered at aten/src/ATen/native/quantized/library.cpp:" in text
    assert "calls at::native::(anonymous namespace)::qadd_out<false>" in text


@pytest.mark.torch
@pytest.mark.processes
@pytest.mark.slow
def test_a_packet_and_an_overload_enter_what_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "calls.py"
    program.write_text(
        PYTHON_OPERATORS + "x = torch.ones(2)\ntorch.ops.mine.plain(x)\ntorch.ops.mine.plain.default(x)\n"
    )
    (tmp_path / "mine_operators.py").write_text(PYTHON_OPERATORS)
    setup = ("--setup", "import mine_operators", "--cwd", str(tmp_path))
    assert ops.main(["mine.plain", "mine::plain.default", "--generated", *setup]) == 0  # a dot, as in Python
    _, text, of_overload = capsys.readouterr().out.split("What a call through torch.ops enters first")
    packet, overload = re.findall(r"libtorch_python\.so\+0x[0-9a-f]+", re.sub(r", in .*", "", text))
    assert packet != overload
    assert re.findall(r"torch\.ops\.\S+\(…\),", text) == [
        "torch.ops.mine.plain(…),",
        "torch.ops.mine.plain.default(…),",
    ]
    assert overload in of_overload and packet not in of_overload
    lines = [line_with(program, f"torch.ops.mine.plain{one}(x)") for one in ("", ".default")]
    typed = [word for line in lines for word in ("-b", f"calls.py:{line}")]
    for place in (packet, overload):
        for command in (f"tbreak {place}", "continue", "bt", "continue"):
            typed += ["-x", command]
    shown = dualdbg("run", "--batch", *typed, str(program)).stdout
    for number, line in enumerate(lines, 3):
        stop = shown.partition(f"* Breakpoint {number}: native")[2]
        assert f"<module>  {program}:{line}" in stop.partition("* Breakpoint")[0], shown


@pytest.mark.torch
@pytest.mark.processes
def test_names_that_pytorchs_own_namespaces_do_not_have(tmp_path: Path) -> None:
    for name in ("quantized::ad", "prim::device", "higher_order::cond"):
        with pytest.raises(SpecError, match=f"no operator {name} is registered") as caught:
            ops.main([name])
        assert "import" not in caught.value.hint
        near = ["quantized::add"] if name.startswith("quantized") else []
        assert re.findall(r"quantized::\w+", caught.value.hint) == near
    (tmp_path / "mine_operators.py").write_text(PYTHON_OPERATORS)
    with pytest.raises(SpecError, match="--setup has run") as caught:
        ops.main(["mine.double", "--setup", "import mine_operators", "--cwd", str(tmp_path)])
    assert caught.value.hint == "operators with a name like it: mine::doubled"
    with pytest.raises(SpecError) as caught:
        ops.main(["::addm"])
    assert "torch.ops" not in caught.value.hint and "addmm" in caught.value.hint


@pytest.mark.torch
@pytest.mark.processes
def test_what_is_not_registered_and_setup_for_nothing() -> None:
    with pytest.raises(
        SpecError, match="no operator mylib::myop is registered once PyTorch is imported"
    ) as caught:
        ops.main(["mylib::myop", "--generated"])
    assert (
        caught.value.hint
        == "what registers it has to be imported: dualdbg ops mylib::myop --setup 'import mylib'"
    )
    with pytest.raises(SpecError, match="--setup has run") as caught:
        ops.main(["mylib::myop", "--setup", "import json"])
    assert "TORCH_LIBRARY(mylib, …)" in caught.value.hint
    with pytest.raises(UsageError, match="--setup is for operators that an extension registers"):
        ops.main(["randn", "--setup", "import json"])


DUMP = """\
name: m::f
schema: m::f(Tensor x) -> Tensor
debug: registered at /home/u/my file.cpp:7
alias analysis kind: FROM_SCHEMA
CPU: registered at /home/u/my file.cpp:9 :: (Tensor _0) -> Tensor _0 [ boxed unboxed ]
CPU (inactive): registered at /home/u/my file.cpp:8 :: (none) [ boxed ]
Autograd[alias]: registered at a.py:1 :: (none) [ boxed ]
catchall: something that is new
"""
TABLE = """\
CPU: registered at /home/u/my file.cpp:9 [kernel]
Undefined: registered at /home/u/my file.cpp:9 [default backend kernel]
Tracer: registered at /builder/pytorch/torch/csrc/autograd/TraceTypeManual.cpp:296 [backend fallback]
AutocastCPU: fallthrough registered at /builder/pytorch/aten/src/ATen/autocast_mode.cpp:330 [backend fallback]
AutogradCPU: registered at a.py:1 [autograd kernel]
something that is new
"""


def test_the_dispatchers_texts() -> None:
    place, registered = registered_rows(DUMP)
    assert place == "/home/u/my file.cpp:7"
    assert registered == (
        Registered("CPU", "/home/u/my file.cpp:9", "(Tensor _0) -> Tensor _0", ("boxed", "unboxed")),
        Registered("Autograd[alias]", "a.py:1", None, ("boxed",)),
    )
    assert [row.key for row in table_rows(TABLE)] == [
        "CPU",
        "Undefined",
        "Tracer",
        "AutocastCPU",
        "AutogradCPU",
    ]
    assert table_rows(TABLE)[3] == TableRow(
        "AutocastCPU", "/builder/pytorch/aten/src/ATen/autocast_mode.cpp:330", "backend fallback", True
    )
    assert registered_rows("") == (None, ()) and table_rows("") == ()


def test_layers_are_told_from_the_table() -> None:
    place, registered = registered_rows(DUMP)
    found = Registration("m::f", "m::f(Tensor x) -> Tensor", place, registered, table_rows(TABLE), ())
    rows = {(row.file, row.keys): (row.made, row.what) for row in layers(found) if row.keys}
    assert rows == {
        ("VariableType_N.cpp", ("AutogradCPU",)): ("registered", "a.py:1, as the autograd kernel"),
        ("TraceType_N.cpp", ("Tracer",)): ("generic", "torch/csrc/autograd/TraceTypeManual.cpp"),
        ("RegisterCPU_N.cpp and the like", ("CPU",)): ("registered", "/home/u/my file.cpp:9"),
        ("RegisterCPU_N.cpp and the like", ("Undefined",)): (
            "registered",
            "/home/u/my file.cpp:9, as the default backend kernel",
        ),
        ("no file of torchgen", ("AutocastCPU",)): ("passed over", "aten/src/ATen/autocast_mode.cpp"),
    }
    answer = Resolved(
        "torch.ops.m.f", "PyTorch operator", (), "m::f", (found.schema,), None, None, False, (found,)
    )
    text = as_text(answer)
    assert "  CPU: kernel registered at /home/u/my file.cpp:9, called boxed and unboxed\n" in text
    assert text.endswith("fallbacks that all operators share\n      AutocastCPU")
    assert as_data(answer)["overloads"][0]["place"] == place


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("/__w/pytorch/pytorch/aten/src/ATen/a.cpp:3", "aten/src/ATen/a.cpp:3"),
        ("/pytorch/torch/csrc/a.cpp:3", "torch/csrc/a.cpp:3"),
        (
            "/env/lib/python3.11/site-packages/torch/library.py:3",
            "/env/lib/python3.11/site-packages/torch/library.py:3",
        ),
        ("/home/u/ext/build/temp/op.cpp:3", "/home/u/ext/build/temp/op.cpp:3"),
    ],
)
def test_places_in_pytorchs_repository(place: str, shown: str) -> None:
    assert in_repository(place) == shown
