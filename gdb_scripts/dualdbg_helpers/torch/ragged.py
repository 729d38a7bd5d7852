"""Tensors of several tensors of different sizes: PyTorch's nested tensors, strided and jagged.

Sources: aten/src/ATen/NestedTensorImpl.h, torch/nested/_internal/nested_tensor.py.
"""

from ..errors import Implausible, Unreadable
from ..python.attributes import Attributes
from ..python.interpreter import Interpreter
from ..python.names import type_name_of
from .tensor import Tensors
from .tensor_values import TensorValues

NESTED = "N2at6native16NestedTensorImplE"
ANY = "*"
"""The size of a dimension in which the parts differ."""


class Ragged:
    """Reads the parts of such tensors of one target."""

    def __init__(self, target):
        self._target = target
        self._tensors = target.decoder(Tensors)

    def parts(self, tensor):
        """The tensors that a strided nested tensor is made of."""
        found = []
        rows = [
            self._rows(tensor, field) for field in ("nested_sizes_", "nested_strides_", "storage_offsets_")
        ]
        for sizes, strides, offset in zip(*rows):
            part = self._tensors.read(tensor.address)
            part.mangled, part.class_name = "", "part of a nested tensor"
            part.autograd = part.python = None
            part.sizes, part.strides, part.offset = list(sizes), list(strides), offset
            part.numel = _product(sizes)
            found.append(part)
        return found

    def _rows(self, tensor, field):
        member = self._tensors.member(tensor, "at::native::NestedTensorImpl", field)
        return TensorValues(self._target, member).nested(False) if member.numel else []

    def shape(self, tensor):
        """``(sizes, number of elements)``: what can be said of any tensor; None for a number that is not known."""
        if tensor.mangled == NESTED:
            rows = self._rows(tensor, "nested_sizes_")
            columns = [column[0] if len(set(column)) == 1 else ANY for column in zip(*rows)]
            return [len(rows), *columns], sum(map(_product, rows))
        values = self._jagged(tensor, "_values")
        if values is not None:
            return tensor.sizes, values.numel
        known = all(isinstance(size, int) for size in tensor.sizes)
        if (
            known
            and isinstance(tensor.numel, int)
            and tensor.defined
            and _product(tensor.sizes) != tensor.numel
        ):
            return tensor.sizes, None  # a class in Python keeps its own sizes
        return tensor.sizes, tensor.numel

    def _jagged(self, tensor, name):
        """A tensor that is kept in a field of the Python object of a jagged tensor; None for other tensors."""
        from ..python.foreign import tensor_of

        head = self._target.decoder(Interpreter).layout.head
        try:
            if not tensor.python or type_name_of(self._target, tensor.python) != "NestedTensor":
                return None
            place = self._target.decoder(Attributes).get(tensor.python, name)
            return None if place is None else self._tensors.read(tensor_of(self._target, place, head))
        except (Implausible, Unreadable):
            return None

    def jagged_text(self, tensor, text_of):
        """What ``repr`` says of a jagged tensor; None for other tensors. ``text_of`` writes a tensor."""
        offsets = self._jagged(tensor, "_offsets")
        if offsets is None:
            return None
        extra = ", requires_grad=True" if tensor.autograd and tensor.autograd.requires_grad else ""
        if tensor.autograd and tensor.autograd.grad_fn_name:
            extra = f", grad_fn=<{tensor.autograd.grad_fn_name}>"
        contiguous = self._jagged(tensor, "_lengths") is None
        sizes = ", ".join(map(str, tensor.sizes))
        return f"NestedTensor(size=({sizes}), offsets={text_of(offsets)}{extra}, contiguous={contiguous})"


def _product(sizes):
    number = 1
    for size in sizes:
        number *= size
    return number
