"""The chain of an operator: what is said of it, and that calls come by every station of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dualdbg.errors import SpecError
from dualdbg.symbols.torch import derivatives
from dualdbg.symbols.torch.operator_chain import Chain, Station, Step, TorchInstallation, trace
from dualdbg.symbols.torch.operator_report import as_data, as_text
from tests.operators.counting import run

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def torch(torch_directory: Path) -> TorchInstallation:
    return TorchInstallation(torch_directory)


def stations(chain: Chain, step: Step) -> list[Station]:
    return [station for station in chain.stations if station.step is step]


def test_randn(torch: TorchInstallation) -> None:
    chain = trace(torch, "aten::randn")
    assert chain.operator == "randn"
    assert [overload.name for overload in chain.overloads] == [
        "randn",
        "randn.generator",
        "randn.out",
        "randn.generator_out",
    ]
    assert chain.overloads[0].python == ("torch.randn",)
    [binding] = stations(chain, Step.BINDING)
    assert binding.library == "libtorch_python" and "THPVariable_randn" in binding.function
    plain, generator = stations(chain, Step.KERNEL)[:2]
    assert (plain.overloads, generator.overloads) == (("randn",), ("randn.generator",))
    assert "at::Generator" in generator.function and "at::Generator" not in plain.function
    assert plain.source == "aten/src/ATen/native/TensorFactories.cpp"
    assert chain.commit is not None
    link = f"https://github.com/pytorch/pytorch/blob/{chain.commit}/aten/src/ATen/native/TensorFactories.cpp"
    assert chain.link(plain) == link


def test_stubs_gradients_and_what_is_not_there(torch: TorchInstallation) -> None:
    chain = trace(torch, "_softmax")
    assert chain.overloads[0].formulas == (
        ("self", "_softmax_backward_data(grad, result, dim, self.scalar_type())"),
    )
    [backward] = stations(chain, Step.BACKWARD)
    assert "SoftmaxBackward0::apply" in backward.function
    stubs = stations(chain, Step.STUB)
    assert {station.note for station in stubs} == {"by softmax_kernel", "by softmax_lastdim_kernel"}
    assert {("DEFAULT",), ("AVX2",)} <= {station.keys for station in stubs}
    [cuda] = [station for station in stations(chain, Step.KERNEL) if station.keys == ("CUDA",)]
    if torch.library("libtorch_cuda") is None:
        assert cuda.address is None and cuda.note == "this build has no libtorch_cuda"


def test_one_overload(torch: TorchInstallation) -> None:
    chain = trace(torch, "randn.default")
    assert [overload.name for overload in chain.overloads] == ["randn"]
    assert [station.overloads for station in stations(chain, Step.KERNEL)] == [("randn",)]


def test_the_report(torch: TorchInstallation) -> None:
    chain = trace(torch, "add.Tensor")
    text = as_text(chain)
    for part in (
        "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
        "Python: torch.add, torch.Tensor.add",
        "at::native::structured_ufunc_add_CPU::impl",
        "AddBackward0",
        "SparseCsrCPU",
    ):
        assert part in text
    data = json.loads(json.dumps(as_data(chain)))
    assert [station["step"] for station in data["stations"]] == [
        station.step.value for station in chain.stations
    ]
    addresses = [station["address"] for station in data["stations"]]
    assert addresses == [None if one.address is None else hex(one.address) for one in chain.stations]


def test_an_unknown_operator(torch: TorchInstallation) -> None:
    with pytest.raises(SpecError, match="no operator named 'sofmax'") as caught:
        trace(torch, "sofmax")
    assert "softmax" in caught.value.hint


@pytest.mark.exhaustive
def test_derivatives_are_as_torchgen_sees_them(torch: TorchInstallation) -> None:
    from torchgen.packaged.autograd.load_derivatives import load_derivatives

    folder = torch.directory.parent / "torchgen/packaged"
    files = (derivatives.FILE, "ATen/native/native_functions.yaml", "ATen/native/tags.yaml")
    paths = [str(torch.directory.parent / files[0]), *(str(folder / name) for name in files[1:])]
    checked = 0
    for schema, by_key in load_derivatives(*paths)[0].items():
        ours = {one.key: one for one in derivatives.find(torch.derivatives, str(schema.name))}
        for key, theirs in by_key.items():
            assert (ours[key].node if key in ours else None) == theirs.op, (schema.name, key)
            if theirs.op is not None:
                inputs = {
                    name
                    for names, value in ours[key].formulas
                    if value != "non_differentiable"
                    for name in names.split(", ")
                }
                assert inputs == {name for one in theirs.derivatives for name in one.var_names}, schema.name
            checked += 1
    assert checked > 600


GRAD = "torch.set_grad_enabled"
NESTED = "torch.nested.nested_tensor([torch.rand(2, 3), torch.rand(3, 3)], requires_grad=True)"
# Together the calls of an operator come by every function of its chain that a CPU can reach.
EVERY_CALL = {
    "randn": [
        "torch.randn(2, 3)",
        "torch.randn(2, generator=torch.Generator())",
        "torch.randn(2, out=torch.empty(2))",
        "torch.randn(2, generator=torch.Generator(), out=torch.empty(2))",
        "torch.randn((2,), names=('a',))",
        "torch.randn((2,), generator=torch.Generator(), names=('a',))",
    ],
    "add.Tensor": [
        "torch.add(torch.rand(64, requires_grad=True), torch.rand(64)).sum().backward()",
        "torch.rand(3).add(torch.rand(3))",
        "torch.rand(3).to_sparse() + torch.rand(3).to_sparse()",
        "torch.rand(3, 3).to_sparse_csr() + torch.rand(3, 3).to_sparse_csr()",
        "torch.rand(3, 3).to_mkldnn() + torch.rand(3, 3).to_mkldnn()",
        f"{NESTED} + {NESTED}",
        "torch._efficientzerotensor(3) + torch._efficientzerotensor(3)",
        "torch.rand(3, device='meta') + torch.rand(3, device='meta')",
    ],
    "linear": [
        "torch.nn.functional.linear(torch.rand(2, 3), torch.rand(4, 3))",
        "torch.nn.functional.linear(torch.rand(2, 3, requires_grad=True), torch.rand(4, 3)).sum().backward()",
        "torch._C._nn.linear(torch.rand(2, 3), torch.rand(4, 3), out=torch.empty(2, 4))",
        f"torch.nn.functional.linear({NESTED}, torch.rand(4, 3), torch.rand(4)).to_padded_tensor(0).sum().backward()",
    ],
    "_softmax": [
        "torch._softmax(torch.rand(4, 8, requires_grad=True), 1, False).sum().backward()",
        "torch._softmax(torch.rand(4, 8), 0, False)",
        "torch._softmax(torch.rand(4, 8), 1, False, out=torch.empty(4, 8))",
        "torch._softmax(torch.rand(4, 8).to_mkldnn(), 1, False)",
        "torch._softmax(torch.rand(4, 8, device='meta'), 1, False)",
        f"torch._softmax({NESTED}, 2, False)",
    ],
}
ONE_CALL = {
    "sin.default": "torch.sin(torch.rand(64, requires_grad=True)).sum().backward()",
    "sum.dim_IntList": "torch.sum(torch.rand(8, 8, requires_grad=True), (0,)).sum().backward()",
    "cumsum.default": "torch.cumsum(torch.rand(8, requires_grad=True), 0).sum().backward()",
}


@pytest.mark.slow
def test_calls_come_by_every_station(torch: TorchInstallation, tmp_path: Path) -> None:
    calls = {**EVERY_CALL, **{name: [call] for name, call in ONE_CALL.items()}}
    chains = {name: trace(torch, name) for name in calls}
    rows = [(name, f"[{GRAD}(True), {call}, {GRAD}(False)]") for name in calls for call in calls[name]]

    def place(station: Station) -> str:
        return f"{torch.directory}/lib/{station.library}.so+{station.address or 0:#x}"

    places = [{place(one) for one in chains[name].stations if one.address} for name, _ in rows]
    hits = run([call for _, call in rows], places, tmp_path)
    for name, chain in chains.items():
        reached = {at for (of, _), counts in zip(rows, hits, strict=True) if of == name for at in counts}
        there = [one for one in chain.stations if one.address is not None]
        came = [one for one in there if place(one) in reached]
        if name in ONE_CALL:
            assert {one.step for one in came} == {one.step for one in there}, name
            continue
        picked = {(one.step, one.function) for one in came}  # of a stub's functions this processor runs one
        missed = [one for one in there if (one.step, one.function) not in picked]
        assert missed == [] and all(one.step is Step.STUB for one in there if one not in came), name
