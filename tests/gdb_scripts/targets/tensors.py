"""Tensors of every kind, with what ``repr`` says of them: tensors.py SEED."""

import ctypes
import json
import math
import pathlib
import random
import sys

import torch
import torch.autograd.forward_ad as forward_ad
from publishing import publish, stop
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import grad, vmap

FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
FLOAT8 = [getattr(torch, name) for name in dir(torch) if name.startswith("float8_")]
INTS = [
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint16,
    torch.uint32,
    torch.uint64,
]
COMPLEX = [torch.complex64, torch.complex128, torch.complex32]

kept = []
made = {}
described = {}  # tensors whose repr is not to be compared, such as those inside a transform


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Special(torch.Tensor):
    pass


def make_kinds():
    made["float"] = torch.tensor([[1.5, -2.25], [0.125, 3.0]])
    made["scalar"] = torch.tensor(3.14159)
    made["int_scalar"] = torch.tensor(7)
    made["empty"] = torch.empty(0)
    made["empty_2d"] = torch.empty(0, 3, dtype=torch.int32)
    made["three_d"] = torch.arange(24.0).reshape(2, 3, 4)
    made["four_d"] = torch.arange(16).reshape(2, 2, 2, 2)
    made["six_d"] = torch.arange(64).reshape(2, 2, 2, 2, 2, 2)
    made["large"] = torch.linspace(-1, 1, 5000).reshape(50, 100)
    made["long"] = torch.arange(2000)
    made["deep_large"] = torch.arange(4096.0).reshape(8, 8, 8, 8)
    made["mixed_size"] = torch.tensor([1e-8, 1.0, 1e8])
    made["scientific"] = torch.tensor([1e12, -2.5e-7])
    made["integral"] = torch.tensor([1.0, 2.0, 300.0])
    made["big_integral"] = torch.tensor([1e9, 2e9])
    made["special"] = torch.tensor([math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0])
    made["only_nan"] = torch.tensor([math.nan, math.inf])
    made["zeros"] = torch.zeros(3)
    made["small"] = torch.tensor([1e-5, 2e-5])
    made["wide"] = torch.arange(40.0) * 1000.5
    made["booleans"] = torch.tensor([[True, False], [False, True]])
    made["transposed"] = torch.arange(6.0).reshape(2, 3).t()
    made["sliced"] = torch.arange(100).reshape(10, 10)[1:8:3, ::4]
    made["expanded"] = torch.tensor([[1], [2]]).expand(2, 5)
    made["conjugate"] = torch.tensor([1 + 2j, 3 - 4j]).conj()
    made["negative_view"] = torch.tensor([1 + 2j, 3 - 4j]).conj().imag
    made["conjugate_large"] = torch.randn(1200, dtype=torch.complex64).conj()
    made["complex_mixed"] = torch.tensor([1e-9 + 1j, 1e9 - 2.5j, complex(math.nan, math.inf)])
    made["zero_tensor"] = torch._efficientzerotensor((2, 2))
    made["inference"] = inference()
    made["meta"] = torch.empty(2, 3, device="meta")
    made["meta_half"] = torch.empty(2, 3, device="meta", dtype=torch.float16)
    made["channels_last"] = torch.arange(24.0).reshape(1, 2, 3, 4).to(memory_format=torch.channels_last)
    made["subclass"] = torch.arange(3.0).as_subclass(Special)
    made["parameter"] = torch.nn.Parameter(torch.ones(2))
    made["buffer"] = torch.nn.Buffer(torch.ones(2))
    for dtype in FLOATS + FLOAT8 + INTS + COMPLEX:
        made["dtype_" + str(dtype)[6:]] = torch.tensor([0, 1, 2.5, 100]).to(dtype)
    for dtype in FLOAT8:
        made["all_" + str(dtype)[6:]] = torch.arange(256).to(torch.uint8).view(dtype)
    made["limits"] = torch.tensor([2**63 - 1, -(2**63)])
    made["unsigned_limits"] = torch.tensor([2**64 - 1], dtype=torch.uint64)
    if hasattr(torch, "float4_e2m1fn_x2"):  # from 2.8 on
        made["float4"] = torch.arange(8, dtype=torch.uint8).view(torch.float4_e2m1fn_x2)


def inference():
    with torch.inference_mode():
        return torch.ones(2)


def make_autograd():
    leaf = torch.ones(2, requires_grad=True)
    made["leaf"] = leaf
    made["multiplied"] = leaf * 2
    made["summed"] = (leaf * 2).sum()
    made["custom_function"] = Doubled.apply(leaf)
    made["view_of_leaf"] = leaf[0]
    made["detached"] = (leaf * 3).detach()
    changed = torch.ones(3, requires_grad=True) * 1
    view = changed[:2]
    changed.mul_(2)
    described["stale_view"] = view
    with_grad = torch.ones(2, requires_grad=True)
    (with_grad * 3).sum().backward()
    made["with_grad"] = with_grad


def make_sparse():
    indices = torch.tensor([[0, 1, 1], [2, 0, 2]])
    made["coo"] = torch.sparse_coo_tensor(indices, torch.tensor([3.0, 4.0, 5.0]), (2, 3))
    made["coo_hybrid"] = torch.sparse_coo_tensor(indices, torch.ones(3, 2), (2, 3, 2))
    made["coo_empty"] = torch.sparse_coo_tensor(torch.empty(2, 0, dtype=torch.int64), torch.empty(0), (2, 3))
    made["coo_int"] = torch.sparse_coo_tensor(indices, torch.tensor([1, 2, 3], dtype=torch.int32), (2, 3))
    dense = torch.tensor([[1.0, 0, 2], [0, 0, 3]])
    made["csr"] = dense.to_sparse_csr()
    made["csc"] = dense.to_sparse_csc()
    made["bsr"] = torch.eye(4).to_sparse_bsr((2, 2))
    made["bsc"] = torch.eye(4).to_sparse_bsc((2, 2))


def make_quantized():
    values = torch.tensor([[-1.0, 0.0], [1.0, 2.0]])
    made["quint8"] = torch.quantize_per_tensor(values, 0.1, 10, torch.quint8)
    made["qint8"] = torch.quantize_per_tensor(values, 0.25, 0, torch.qint8)
    made["qint32"] = torch.quantize_per_tensor(values, 0.001, 3, torch.qint32)
    scales, zeros = torch.tensor([0.1, 0.01]), torch.tensor([10, 0])
    made["per_channel"] = torch.quantize_per_channel(values, scales, zeros, 0, torch.quint8)
    made["per_channel_last"] = torch.quantize_per_channel(values, scales, zeros, 1, torch.quint8)


def make_wrapped():
    parts = [torch.arange(3.0), torch.arange(5.0)]
    made["nested"] = torch.nested.nested_tensor(parts)
    made["jagged"] = torch.nested.nested_tensor(parts, layout=torch.jagged)
    matrices = [torch.ones(2, 3), torch.ones(4, 3)]
    made["jagged_matrices"] = torch.nested.nested_tensor(matrices, layout=torch.jagged)
    made["nested_matrices"] = torch.nested.nested_tensor(matrices)
    grad(lambda x: (made.update(of_ended_grad=x), x.sum())[1])(torch.ones(3))
    with FakeTensorMode():
        made["fake"] = torch.empty(2, 3)
        made["fake_half"] = torch.empty(4, dtype=torch.float16)
    functional = torch._to_functional_tensor(torch.ones(2))
    made["functional"] = functional


def make_symbolic():
    from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

    shapes = ShapeEnv()
    mode = FakeTensorMode(shape_env=shapes)
    context = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC, DimDynamic.DYNAMIC])
    fake = mode.from_tensor(torch.ones(5, 7), symbolic_context=context)
    described["symbolic"] = fake
    described["symbolic_product"] = fake.reshape(-1)
    return {
        "symbolic": [str(s) for s in fake.size()],
        "symbolic_product": [str(s) for s in fake.reshape(-1).size()],
    }


def make_random(seed):
    generator = random.Random(seed)
    torch.manual_seed(seed)
    for i in range(60):
        sizes = [generator.randrange(0, 6) for _ in range(generator.randrange(0, 5))]
        dtype = generator.choice(FLOATS + INTS + COMPLEX[:2] + [torch.bool])
        tensor = torch.randn(sizes, dtype=torch.complex128 if dtype.is_complex else torch.float64)
        tensor = (tensor * 10 ** generator.randrange(-6, 10)).to(dtype)
        if len(sizes) > 1 and generator.random() < 0.5:
            tensor = tensor.transpose(0, generator.randrange(1, len(sizes)))
        if sizes and tensor.size(0) > 2 and generator.random() < 0.5:
            tensor = tensor[:: generator.randrange(1, 3)]
        made[f"random_{i}"] = tensor


def on_another_device():
    """A copy of a TensorImpl that says it is on the second graphics card; its data cannot be read from here."""
    table = json.loads(pathlib.Path(sys.argv[2]).read_text())
    offset = table["records"]["c10::TensorImpl"][1]["device_opt_"][0]
    original = torch.ones(2, 3)
    raw = bytearray(ctypes.string_at(original._cdata, 176))
    raw[offset : offset + 3] = bytes([table["enums"]["c10::DeviceType"]["CUDA"], 1, 1])
    kept.extend([original, ctypes.create_string_buffer(bytes(raw), len(raw))])
    return ctypes.addressof(kept[-1])


OTHER_DEVICE = on_another_device()  # made here: inside a transform it would be a wrapper


def statistics(tensor):
    values = tensor.to(torch.float64)
    finite = values[torch.isfinite(values)]
    return [
        finite.min().item(),
        finite.max().item(),
        finite.mean().item(),
        int(torch.isnan(values).sum()),
        int(torch.isinf(values).sum()),
    ]


def inside_transforms(more):
    """vmap and grad keep their wrappers alive only inside: the stop is in there."""

    def look(x):
        described["batched"] = x
        more["batched"] = repr(x)
        finish(more)
        return x.sum()

    def outer(x):
        described["gradient"] = x
        more["gradient"] = repr(x)
        return look(x)

    vmap(grad(outer))(torch.ones(2, 3))


def finish(more):
    everything = dict(made)
    everything.update(described)
    addresses = {name: tensor._cdata for name, tensor in everything.items()}
    addresses.update({"object_" + name: id(tensor) for name, tensor in everything.items()})
    publish(more, other_device=OTHER_DEVICE, **addresses)
    stop()


def main():
    make_kinds()
    make_autograd()
    make_sparse()
    make_quantized()
    make_wrapped()
    more = {"sizes": make_symbolic()}
    make_random(int(sys.argv[1]))
    big = {
        "million": torch.randn(1000, 1000),
        "million_half": torch.randn(1000, 1000).to(torch.bfloat16),
        "million_int": torch.randint(-1000, 1000, (1000, 1000)),
        "million_transposed": torch.randn(1000, 1000).t(),
        "million_nan": torch.full((1000, 1000), math.nan),
    }
    big["million_nan"][3, 5:9] = torch.tensor([1.0, 2.0, math.inf, -4.0])
    made.update(big)
    more["statistics"] = {name: statistics(tensor) for name, tensor in big.items()}
    more["statistics"]["special"] = statistics(made["special"])
    more["jagged"] = str(made["jagged"].size(1))
    more["repr"] = {name: repr(tensor) for name, tensor in made.items()}
    with forward_ad.dual_level():
        made["dual"] = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        more["repr"]["dual"] = repr(made["dual"])
        inside_transforms(more)


main()
