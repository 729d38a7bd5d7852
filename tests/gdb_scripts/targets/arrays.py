"""numpy arrays and scalars, and torch's small Python objects, with what ``repr`` says; Python containers of tensors."""

import collections
import random

import numpy as np
import torch
from publishing import publish, stop

random.seed(5)
made = {
    "ints": np.arange(5),
    "floats": np.array([1.0, 2.5, -3.25]),
    "thirds": np.arange(5) / 3,
    "float32": np.array([0.1, 0.2, 1 / 3], dtype=np.float32),
    "float16": np.array([0.1, 65504.0], dtype=np.float16),
    "integral": np.array([1.0, 200.0]),
    "big": np.array([1e20, 1.0]),
    "small": np.array([1e-7, 1.0]),
    "special": np.array([np.nan, np.inf, -np.inf, 1.5]),
    "only_special": np.array([np.nan, np.inf]),
    "booleans": np.array([[True, False]]),
    "all_true": np.array([True, True]),
    "zero_d_true": np.array(True),
    "bytes": np.array([1, 2, 255], dtype=np.uint8),
    "int8": np.array([-128, 127], dtype=np.int8),
    "uint64": np.array([2**64 - 1], dtype=np.uint64),
    "complex": np.array([1 + 2j, -0.5 - 1.25j]),
    "complex64": np.array([1 + 2j, 0.1], dtype=np.complex64),
    "two_d": np.arange(12).reshape(3, 4),
    "three_d": np.arange(24.0).reshape(2, 3, 4),
    "transposed": np.arange(6).reshape(2, 3).T,
    "strided": np.arange(20)[::3],
    "reversed": np.arange(5)[::-1],
    "big_endian": np.array([1, 2, 3], dtype=">i4"),
    "big_endian_floats": np.array([1.5, 2.5], dtype=">f8"),
    "texts": np.array(["one", "three"]),
    "raw_texts": np.array([b"a", b"bc"]),
    "objects": np.array([1, "two", None], dtype=object),
    "empty": np.array([]),
    "empty_ints": np.zeros((0, 3), dtype=np.int32),
    "zero_d": np.array(3.5),
    "zero_d_int": np.array(7),
    "long": np.arange(2000),
    "long_floats": np.linspace(0, 1, 5000),
    "large": np.arange(10000).reshape(100, 100),
    "wide": np.arange(40) * 1000,
    "wide_floats": np.arange(30) / 7,
    "negative_zero": np.array([-0.0, 0.0]),
    "broadcast": np.broadcast_to(np.arange(3), (2, 3)),
    "matrix": np.matrix([[1, 2], [3, 4]]),
    "masked_constant": np.ma.masked,
    "scalar_float": np.float64(1.5),
    "scalar_float32": np.float32(0.1),
    "scalar_half": np.float16(0.1),
    "scalar_int": np.int64(-7),
    "scalar_uint8": np.uint8(255),
    "scalar_bool": np.bool_(True),
    "scalar_complex": np.complex128(1 - 2j),
    "dtype": torch.bfloat16,
    "device": torch.device("cuda", 1),
    "cpu": torch.device("cpu"),
    "layout": torch.sparse_csr,
    "memory_format": torch.channels_last,
    "size": torch.Size([2, 3]),
    "empty_size": torch.Size([]),
    "list_of_tensors": [torch.arange(3), {"w": torch.ones(2, requires_grad=True)}],
    "tensor": torch.arange(4.0).reshape(2, 2),
    "parameter": torch.nn.Parameter(torch.zeros(2)),
}
for i in range(30):
    shape = [random.randrange(1, 5) for _ in range(random.randrange(0, 4))]
    values = np.random.default_rng(i).normal(size=shape) * 10.0 ** random.randrange(-5, 9)
    made[f"random_{i}"] = values.astype(random.choice([np.float64, np.float32, np.int64, np.float16]))
module = torch.nn.Linear(2, 3)
described = {
    "module": module,
    "namespace": collections.namedtuple("N", "a b")(1, np.arange(2)),
    "fresh_mask": np.ma.array([1, 2], mask=[0, 1]),
    "sizeless": np.zeros(2, dtype=[]),
    "structured": np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
    "dates": np.array(["2026-01-01"], dtype="datetime64[D]"),
}
publish(
    {"repr": {name: repr(value) for name, value in made.items()}},
    **{name: id(value) for name, value in {**made, **described}.items()},
)
stop()
