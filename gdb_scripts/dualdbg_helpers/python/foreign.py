"""Python objects of torch and numpy: written by the decoders of their own data."""

from ..errors import Implausible
from ..torch.tensor import Tensors
from ..torch.tensor_text import TensorText
from .numpy import Arrays, dtype_text, tuple_text
from .writer import Writer


def tensor_places(target, address, head):
    """The addresses of the ``at::Tensor`` and of the ``TensorImpl`` behind the ``torch.Tensor`` object at ``address``.

    ``THPVariable::cdata`` is an ``at::Tensor``; before PyTorch 2.10 it was a ``c10::MaybeOwned<at::Tensor>``.
    """
    memory, tensors = target.memory, target.decoder(Tensors)
    place = address + head
    first, second = memory.words(place, 2)
    for at, candidate in ((place, first), (place + 8, second)):
        if candidate and tensors.is_impl(candidate):
            return at, candidate
    if second and first & 0xFF == 1:  # borrowed: a pointer to the at::Tensor
        candidate = memory.pointer(second)
        if tensors.is_impl(candidate):
            return second, candidate
    raise Implausible(f"no tensor in the torch.Tensor object at 0x{address:x}")


def tensor_of(target, address, head):
    """The address of the ``TensorImpl`` behind the ``torch.Tensor`` object at ``address``."""
    return tensor_places(target, address, head)[1]


def _tensor(objects, kind, address, depth):
    tensors = objects.target.decoder(Tensors)
    tensor = tensors.read(tensor_of(objects.target, address, objects.layout.head))
    return objects.target.decoder(TensorText).repr(tensor)


def _named(offset, size):
    """A writer of objects that hold their own printed name (torch/csrc/Dtype.h, Layout.h, MemoryFormat.h)."""

    def write(objects, kind, address, depth):
        raw = objects.memory.c_string(address + objects.layout.head + offset, size)
        return raw.decode("utf-8", "replace")

    return write


def _dtype(objects, kind, address, depth):
    name = _named(1, 64)(objects, kind, address, depth)
    return name if name.startswith("torch.") else "torch." + name


def _device(objects, kind, address, depth):
    name = objects.target.decoder(Tensors).device_name(address + objects.layout.head)
    kind_name, _, index = name.partition(":")
    return "device(type='{}'{})".format(kind_name, ", index=" + index if index else "")


def _array(objects, kind, address, depth):
    return objects.target.decoder(Arrays).text(objects, address, depth)


def _masked(objects, kind, address, depth):
    """A masked array by its shape and type: which of its elements count, another array says."""
    if kind.name == "MaskedConstant":
        return "masked"
    found = objects.target.decoder(Arrays).read(address)
    return f"masked_array(shape={tuple_text(found.shape)}, dtype={dtype_text(found)})"


def _scalar(objects, kind, address, depth):
    return objects.target.decoder(Arrays).scalar(kind, address)


_TENSOR = Writer("tensor", _tensor)
_SCALAR = Writer("number", _scalar)

BY_NAME = {
    # name in Type.lineage: writer
    "torch._C.TensorBase": _TENSOR,
    "torch._C._TensorBase": _TENSOR,
    "torch.dtype": Writer("dtype", _dtype),
    "torch.layout": Writer("layout", _named(1, 64)),
    "torch.memory_format": Writer("memory_format", _named(1, 64)),
    "torch.device": Writer("device", _device),
    "numpy.ndarray": Writer("array", _array),
    "class numpy.ma.MaskedArray": Writer("array", _masked),
    "class numpy.ma.core.MaskedArray": Writer("array", _masked),
    "numpy.generic": _SCALAR,
}
