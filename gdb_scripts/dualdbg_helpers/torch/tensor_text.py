"""Tensors as text: as PyTorch's ``repr`` prints them, in one line, and described in full."""

from ..errors import HelperError, Implausible, LayoutMissing, Unreadable
from ..python.attributes import Attributes
from ..python.interpreter import Interpreter
from ..python.names import type_name_of
from .number_format import LINE_WIDTH, THRESHOLD, render
from .ragged import NESTED, Ragged
from .tensor import Tensors
from .tensor_values import TensorValues, affine_per_channel, affine_per_tensor, why_unreadable

BATCHED = "N2at9functorch17BatchedTensorImplE"
WRAPPED = "N2at9functorch13TensorWrapperE"
FUNCTIONAL = "N2at23FunctionalTensorWrapperE"

_ENDED = -2  # what PyTorch says for the level of a tensor whose grad is over
_COMPRESSED = {
    # layout: (name of the compressed indices, name of the plain indices)
    "torch.sparse_csr": ("crow", "col"),
    "torch.sparse_bsr": ("crow", "col"),
    "torch.sparse_csc": ("ccol", "row"),
    "torch.sparse_bsc": ("ccol", "row"),
}
_QSCHEMES = {
    "PER_TENSOR_AFFINE": "torch.per_tensor_affine",
    "PER_CHANNEL_AFFINE": "torch.per_channel_affine",
    "PER_TENSOR_SYMMETRIC": "torch.per_tensor_symmetric",
    "PER_CHANNEL_SYMMETRIC": "torch.per_channel_symmetric",
    "PER_CHANNEL_AFFINE_FLOAT_QPARAMS": "torch.per_channel_affine_float_qparams",
}
_QUANTIZERS = {
    "at::PerTensorAffineQuantizer": "PER_TENSOR_AFFINE",
    "at::PerChannelAffineQuantizer": "PER_CHANNEL_AFFINE",
    "at::PerChannelAffineFloatQParamsQuantizer": "PER_CHANNEL_AFFINE_FLOAT_QPARAMS",
}


def size_text(sizes):
    """Sizes as Python prints a tuple of them."""
    inner = ", ".join(str(size) for size in sizes)
    return f"({inner},)" if len(sizes) == 1 else f"({inner})"


class TensorText:
    """Writes tensors of one target. ``threshold`` elements are shown before the middle is left out."""

    def __init__(self, target):
        self._target = target
        self._tensors = target.decoder(Tensors)
        self.threshold = THRESHOLD
        self._default = self._tensors.default_dtype().name

    # One line

    def summary(self, tensor):
        """``float32 [2, 3] cpu`` and what else is remarkable, without values."""
        if not tensor.defined:
            return "undefined tensor"
        parts = [
            self._dtype_name(tensor),
            "[{}]".format(", ".join(map(str, self._target.decoder(Ragged).shape(tensor)[0]))),
            self.device(tensor) or "no device",
        ]
        if tensor.layout != "torch.strided":
            parts.append(tensor.layout.replace("torch.", ""))
        for function, word in (("Conjugate", "conj"), ("Negative", "neg"), ("ZeroTensor", "zero")):
            if function in tensor.functions:
                parts.append(word)
        name = self.python_type(tensor)
        if name not in (None, "Tensor"):
            parts.append(name)
        if tensor.autograd and tensor.autograd.grad_fn_name:
            parts.append(f"grad_fn=<{tensor.autograd.grad_fn_name}>")
        elif tensor.autograd and tensor.autograd.requires_grad:
            parts.append("requires_grad")
        return " ".join(parts)

    def _dtype_name(self, tensor):
        return tensor.dtype.name if tensor.dtype else "dtype?"

    def python_type(self, tensor):
        """The name of the Python class of the tensor's wrapper, or None when it has no wrapper (or none readable)."""
        if not tensor.python:
            return None
        try:
            return type_name_of(self._target, tensor.python)
        except (Implausible, LayoutMissing, Unreadable):
            return None

    # As PyTorch's repr

    def repr(self, tensor):
        """The tensor as PyTorch prints it; where its values cannot be read, ``...`` and the reason."""
        name = self.python_type(tensor)
        if tensor.mangled in (BATCHED, WRAPPED):
            return self._functorch(tensor)
        if name == "NestedTensor":
            jagged = self._target.decoder(Ragged).jagged_text(tensor, self.repr)
            if jagged is not None:
                return jagged
        text = self._repr(tensor, name)
        if name == "Parameter":
            return "Parameter containing:\n" + text
        return text

    def _repr(self, tensor, name):
        if not tensor.defined:
            return "[ Tensor (undefined) ]"
        plain = name in (None, "Tensor", "Parameter")
        prefix = "nested_tensor(" if tensor.mangled == NESTED else "tensor(" if plain else name + "("
        if tensor.mangled == FUNCTIONAL:
            prefix = "_to_functional_tensor("
        suffixes = []
        device = self.device(tensor)
        if device != "cpu":
            suffixes.append(f"device='{device}'")
        contents, newline = self._contents(tensor, name, len(prefix), suffixes)
        if tensor.layout != "torch.strided":
            suffixes.append("layout=" + tensor.layout)
        if tensor.autograd and tensor.autograd.grad_fn_name:
            suffixes.append(f"grad_fn=<{tensor.autograd.grad_fn_name}>")
        elif tensor.autograd and tensor.autograd.requires_grad:
            suffixes.append("requires_grad=True")
        if tensor.autograd and tensor.autograd.tangent:
            suffixes.append("tangent=" + self.repr(self._tensors.read(tensor.autograd.tangent)))
        return _with_suffixes(prefix + contents, suffixes, len(prefix), newline)

    def device(self, tensor):
        """The device as the user sees it; for a FakeTensor, the device on which it pretends to be."""
        if tensor.device == "meta" and self.python_type(tensor) == "FakeTensor":
            try:
                attribute = self._target.decoder(Attributes).get
                place = attribute(tensor.python, "_fake_device") or attribute(tensor.python, "fake_device")
                if place:
                    return self._tensors.device_name(place + self._target.decoder(Interpreter).layout.head)
            except (Implausible, Unreadable):
                return tensor.device
        return tensor.device

    def _contents(self, tensor, name, indent, suffixes):
        """The text between the parentheses, and whether the first suffix starts a new line."""
        default = self._dtype_name(tensor) in (self._default, "complex64", "int64", "bool")
        dtype = [] if default else ["dtype=torch." + self._dtype_name(tensor)]
        if tensor.layout == "torch.sparse_coo":
            return self._sparse(tensor, indent, suffixes, dtype), True
        if tensor.layout in _COMPRESSED:
            return self._compressed(tensor, indent, suffixes, dtype), False
        if tensor.dtype and tensor.dtype.kind == "quantized":
            return self._quantized(tensor, indent, suffixes, dtype), False
        if tensor.mangled == NESTED:
            inner = ",\n".join(self.repr_of(part) for part in self._target.decoder(Ragged).parts(tensor))
            return "[\n{}\n]".format("\n".join("  " + line for line in inner.split("\n"))), False
        if tensor.mangled == FUNCTIONAL:
            return self.repr(self._tensors.member(tensor, "at::FunctionalTensorWrapper", "value_")), False
        # Unlike the rest, an empty or meta tensor's dtype is left out only if it is the default one.
        strict = (
            [] if self._dtype_name(tensor) == self._default else ["dtype=torch." + self._dtype_name(tensor)]
        )
        if tensor.device == "meta" or name == "FakeTensor":
            suffixes.append("size=" + size_text(tensor.sizes))
            suffixes.extend(strict)
            return "...", False
        if tensor.numel == 0:
            if tensor.dim != 1:
                suffixes.append("size=" + size_text(tensor.sizes))
            suffixes.extend(strict)
            return "[]", False
        problem = why_unreadable(tensor)
        if problem:
            suffixes.append("size=" + size_text(tensor.sizes))
            suffixes.extend(dtype)
            return f"<{problem}>", False
        try:
            values = self.values(tensor, indent)
        except Unreadable as error:
            suffixes.extend(["size=" + size_text(tensor.sizes), "stride=" + size_text(tensor.strides)])
            suffixes.append("dtype=torch." + self._dtype_name(tensor))
            return str(error), False
        suffixes.extend(dtype)
        return values, False

    def repr_of(self, tensor):
        return self._repr(tensor, self.python_type(tensor))

    def values(self, tensor, indent=0, dequantize=None):
        """The values alone, as PyTorch prints them; raises :class:`HelperError` when they cannot be read."""
        if tensor.numel == 0:
            return "[]"
        reader = TensorValues(self._target, tensor, dequantize)
        kind = "float" if dequantize else tensor.dtype.kind
        return render(reader.nested(tensor.numel > self.threshold), tensor.dim, kind, indent)

    def _part(self, label, tensor, indent):
        prefix = label + "=tensor("
        try:
            text = self.values(tensor, indent + len(prefix))
        except HelperError as error:
            text = f"<{error.message}>"
        except Unreadable as error:
            text = str(error)
        if tensor.numel == 0:
            text += ", size=" + size_text(tensor.sizes)
        return prefix + text + ")"

    def _sparse(self, tensor, indent, suffixes, dtype):
        suffixes.append("size=" + size_text(tensor.sizes))
        if tensor.device == "meta":
            suffixes.extend(dtype)
            return "..."
        indices = self._tensors.member(tensor, "at::SparseTensorImpl", "indices_")
        values = self._tensors.member(tensor, "at::SparseTensorImpl", "values_")
        suffixes.append(f"nnz={values.sizes[0] if values.sizes else 0}")
        suffixes.extend(dtype)
        parts = [self._part("indices", indices, indent), self._part("values", values, indent)]
        return (",\n" + " " * indent).join(parts)

    def _compressed(self, tensor, indent, suffixes, dtype):
        record = "at::SparseCsrTensorImpl"
        suffixes.append("size=" + size_text(tensor.sizes))
        if tensor.device == "meta":
            suffixes.extend(dtype)
            return "..."
        compressed = self._tensors.member(tensor, record, "crow_indices_")
        plain = self._tensors.member(tensor, record, "col_indices_")
        values = self._tensors.member(tensor, record, "values_")
        suffixes.append(f"nnz={plain.sizes[-1] if plain.sizes else 0}")
        suffixes.extend(dtype)
        names = _COMPRESSED[tensor.layout]
        parts = [
            self._part(names[0] + "_indices", compressed, indent),
            self._part(names[1] + "_indices", plain, indent),
            self._part("values", values, indent),
        ]
        return (",\n" + " " * indent).join(parts)

    def quantizer(self, tensor):
        """``(scheme, function to dequantise or None, [(parameter, text)])`` of a quantised tensor."""
        target, memory = self._target, self._target.memory
        address = memory.pointer(tensor.address + target.layout.record("at::QTensorImpl")["quantizer_"])
        name = target.rtti.name(address)
        scheme = _QUANTIZERS.get(name)
        if scheme == "PER_TENSOR_AFFINE":
            record = target.layout.record("at::PerTensorAffineQuantizer")
            scale = memory.f64(address + record["scale_"])
            zero_point = memory.i64(address + record["zero_point_"])
            return (
                scheme,
                affine_per_tensor(scale, zero_point),
                [("scale", str(scale)), ("zero_point", str(zero_point))],
            )
        if scheme == "PER_CHANNEL_AFFINE":
            record = target.layout.record("at::PerChannelAffineQuantizer")
            scales = self._tensors.read(memory.pointer(address + record["scales_"]))
            zero_points = self._tensors.read(memory.pointer(address + record["zero_points_"]))
            axis = memory.i64(address + record["axis_"])
            if not 0 <= axis < tensor.dim or scales.numel != tensor.sizes[axis]:
                raise Implausible(f"quantiser at 0x{address:x}: axis {axis}")
            function = affine_per_channel(
                TensorValues(target, scales).flat(scales.numel),
                TensorValues(target, zero_points).flat(zero_points.numel),
                axis,
                tensor.dim,
            )
            shown = [
                ("scale", self.repr(scales)),
                ("zero_point", self.repr(zero_points)),
                ("axis", str(axis)),
            ]
            return scheme, function, shown
        return scheme or name, None, []

    def _quantized(self, tensor, indent, suffixes, dtype):
        scheme, dequantize, parameters = self.quantizer(tensor)
        suffixes.append("size=" + size_text(tensor.sizes))
        suffixes.extend(dtype)
        suffixes.append("quantization_scheme=" + _QSCHEMES.get(scheme, scheme))
        suffixes.extend(f"{name}={text}" for name, text in parameters)
        if dequantize is None:
            return f"<values of {scheme} are not decoded>"
        try:
            return self.values(tensor, indent, dequantize)
        except HelperError as error:
            return f"<{error.message}>"

    def _functorch(self, tensor):
        batched = tensor.mangled == BATCHED
        record = "at::functorch::BatchedTensorImpl" if batched else "dualdbg::TensorWrapper"
        layout, memory = self._target.layout.record(record), self._target.memory
        level = memory.i64(tensor.address + layout["level_"])
        inner = self.repr(self._tensors.member(tensor, record, "value_"))
        inner = "\n".join("    " + line if line.strip() else line for line in inner.split("\n"))
        if batched:
            dim = memory.i64(tensor.address + layout["bdim_"])
            return f"BatchedTensor(lvl={level}, bdim={dim}, value=\n{inner}\n)"
        if self.has_ended(tensor):
            level = _ENDED
        return f"GradTrackingTensor(lvl={level}, value=\n{inner}\n)"

    def has_ended(self, tensor):
        """Whether a tensor was made inside a ``grad`` of functorch that is over."""
        if tensor.mangled != WRAPPED:
            return False
        alive = self._target.layout.record("dualdbg::TensorWrapper")["is_alive_"]
        flag = self._target.memory.pointer(tensor.address + alive)
        return not flag or not self._target.memory.u8(flag)


def _with_suffixes(text, suffixes, indent, newline):
    """``text`` and the suffixes, each on a new line where the 80 columns are used up."""

    parts = [text]
    # The place of the last line break is counted as torch/_tensor_str.py counts it.
    used = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if newline or used + len(suffix) + 2 > LINE_WIDTH:
            parts.append(",\n" + " " * indent + suffix)
            used = indent + len(suffix)
            newline = False
        else:
            parts.append(", " + suffix)
            used += len(suffix) + 2
    parts.append(")")
    return "".join(parts)
