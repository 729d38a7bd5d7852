"""Namespaces of PyTorch: what is in them is no member of a class, which no mangled name tells. They are known by heart
only in libraries that are PyTorch's or use it: another one may have a class of that name.
"""

NAMESPACES = (
    "at",
    "at::cpu",
    "at::cuda",
    "at::indexing",
    "at::meta",
    "at::native",
    "at::sparse",
    "c10",
    "c10::cuda",
    "c10::detail",
    "c10::impl",
    "caffe2",
    "c10d",
    "pybind11",
    "pybind11::detail",
    "torch",
    "torch::autograd",
    "torch::autograd::generated",
    "torch::autograd::impl",
    "torch::autograd::utils",
    "torch::autograd::VariableType",
    "torch::distributed",
    "torch::dynamo",
    "torch::jit",
    "torch::nn",
    "torch::nn::functional",
    "torch::utils",
)

LIBRARIES = ("libc10", "libtorch", "libcaffe2")
"""How names of PyTorch's libraries begin."""
