"""Tensors: the facts in a ``c10::TensorImpl``. Values are read by :mod:`.tensor_values`."""

from __future__ import annotations

from typing import Any

from dualdbg_shared.libraries import C10

from ..errors import Implausible, LayoutMissing, Unreadable
from .autograd import Autograd, python_object
from .dispatch import DispatchKeys
from .dtypes import BY_SCALAR_TYPE
from .symint import SymInts

TENSOR_IMPL = "N3c1010TensorImplE"
UNDEFINED_TENSOR_IMPL = "N3c1019UndefinedTensorImplE"
STORAGE_IMPL = "N3c1011StorageImplE"
MAX_DIMENSIONS = 64  # torch refuses more than 64 in most places; a larger number is garbage

LAYOUTS = {
    "Strided": "torch.strided",
    "Sparse": "torch.sparse_coo",
    "SparseCsr": "torch.sparse_csr",
    "SparseCsc": "torch.sparse_csc",
    "SparseBsr": "torch.sparse_bsr",
    "SparseBsc": "torch.sparse_bsc",
    "Mkldnn": "torch._mkldnn",
    "Jagged": "torch.jagged",
}
# c10/core/DeviceType.cpp; every other device is its enumerator in lower case
_DEVICE_NAMES = {"PrivateUse1": "privateuseone"}
HOST_DEVICES = ("cpu", "mkldnn")


class Storage:
    """A storage: its own ``address``, where its ``data`` is, how many bytes (None: symbolic), on which ``device``."""

    __slots__ = ("address", "data", "device", "nbytes", "refcount")
    address: int
    data: int
    device: Any
    nbytes: int | None
    refcount: int


class Tensor:
    """A tensor as read from memory; sizes and strides hold numbers, or text for symbolic ones."""

    __slots__ = (
        "address",
        "autograd",
        "class_name",
        "device",
        "dtype",
        "functions",
        "key_set",
        "layout",
        "mangled",
        "numel",
        "offset",
        "python",
        "refcount",
        "sizes",
        "storage",
        "strides",
        "symbolic",
        "version",
    )
    address: int
    autograd: Any
    class_name: str
    device: Any
    dtype: Any
    functions: Any
    key_set: int
    layout: Any
    mangled: str
    numel: Any
    offset: Any
    python: Any
    refcount: int
    sizes: Any
    storage: Any
    strides: Any
    symbolic: bool
    version: Any

    @property
    def defined(self):
        """Whether it is a tensor at all, not the undefined one."""
        return self.mangled != UNDEFINED_TENSOR_IMPL

    @property
    def dim(self):
        """How many dimensions it has."""
        return len(self.sizes)

    @property
    def on_host(self):
        """Whether its elements lie in memory that can be read."""
        return self.device.split(":")[0] in HOST_DEVICES

    @property
    def conjugate(self):
        """Whether it is to be conjugated when it is read."""
        return "Conjugate" in self.functions

    @property
    def negative(self):
        """Whether it is to be negated when it is read."""
        return "Negative" in self.functions


def counts_at(layout):
    """The offset in bytes of the counts of a ``c10::intrusive_ptr_target``, 64 bits of which the low half is the strong
    one. Up to PyTorch 2.9 they are two members of 32 bits, later one.
    """
    record = layout.record("c10::intrusive_ptr_target")
    return record["combined_refcount_" if "combined_refcount_" in record else "refcount_"]


class Tensors:
    """Reads :class:`Tensor` objects of one target."""

    def __init__(self, target):
        self._target = target
        self._memory = target.memory
        layout = target.layout
        self._impl = layout.record("c10::TensorImpl")
        self._storage = layout.record("c10::StorageImpl")
        self._sizes = layout.record("c10::impl::SizesAndStrides")
        self._version = layout.record("c10::VariableVersion::VersionCounter")
        self._refcount = counts_at(layout)
        self._scalar_types = layout.enum("c10::ScalarType")
        self._devices = layout.enum("c10::DeviceType")
        self._inline_dims = self._sizes.sizes["inlineStorage_"] // 16
        self._keys = target.decoder(DispatchKeys)

    def is_impl(self, address):
        """Whether a ``c10::TensorImpl`` (or one derived from it) is at ``address``."""
        return self._target.rtti.is_a(address, TENSOR_IMPL)

    def read(self, address):
        """The tensor whose ``TensorImpl`` is at ``address``.

        Raises :class:`Implausible` when no tensor is there, :class:`Unreadable` when the memory cannot be read.
        """
        if not self.is_impl(address):
            self._memory.pointer(address)
            raise Implausible(f"no tensor at 0x{address:x}: no vtable of a TensorImpl there")
        memory, impl = self._memory, self._impl
        found = Tensor()
        found.address = address
        found.mangled = self._target.rtti.mangled(address)
        found.class_name = self._target.demangle("_ZTS" + found.mangled)
        found.refcount = memory.u64(address + self._refcount) & 0xFFFFFFFF
        found.key_set = memory.u64(address + impl["key_set_"])
        found.functions, _ = self._keys.functionality(found.key_set)
        found.dtype = self._dtype(address)
        found.device = self._device(address)
        found.numel = memory.i64(address + impl["numel_"])
        found.offset = memory.i64(address + impl["storage_offset_"])
        found.symbolic = bool(impl.bit(memory, address, "has_symbolic_sizes_strides_"))
        self._shape(found)
        found.layout = self._layout(found)
        counter = memory.pointer(address + impl["version_counter_"])
        found.version = memory.u32(counter + self._version["version_"]) if counter else None
        found.storage = self._read_storage(memory.pointer(address + impl["storage_"]))
        meta = memory.pointer(address + impl["autograd_meta_"])
        found.autograd = self._target.decoder(Autograd).read(meta, found.version) if meta else None
        found.python = python_object(self._target, "c10::TensorImpl", address) or None
        return found

    def _dtype(self, address):
        number = self._memory.u16(address + self._impl["data_type_"])
        name = self._scalar_types.get(number)
        if name is None:
            raise Implausible(f"no tensor at 0x{address:x}: dtype {number}")
        return BY_SCALAR_TYPE.get(name)

    def _device(self, address):
        place = address + self._impl["device_opt_"]
        if not self._memory.u8(place + 2):
            return None
        return self.device_name(place)

    def device_name(self, address):
        """The ``c10::Device`` at ``address`` as PyTorch prints it: "cpu", "cuda:0"."""
        number = self._memory.i8(address)
        if number not in self._devices:
            raise Implausible(f"no device: type {number}")
        return self.format_device(number, self._memory.i8(address + 1))

    def format_device(self, number, index):
        """A device as PyTorch prints it, such as ``cuda:0``."""
        name = self._devices.get(number, str(number))
        name = _DEVICE_NAMES.get(name, name.lower())
        return f"{name}:{index}" if index >= 0 else name

    def _shape(self, found):
        memory, place = self._memory, found.address + self._impl["sizes_and_strides_"]
        if found.symbolic:
            self._symbolic_shape(found)
            return
        count = memory.u64(place + self._sizes["size_"])
        if count > MAX_DIMENSIONS:
            raise Implausible(f"no tensor at 0x{found.address:x}: {count} dimensions")
        if count <= self._inline_dims:
            first = place + self._sizes["inlineStorage_"]
            second = first + 8 * self._inline_dims
        else:
            first = memory.pointer(place + self._sizes["outOfLineStorage_"])
            second = first + 8 * count
        found.sizes = list(memory.signed_words(first, count))
        found.strides = list(memory.signed_words(second, count))
        self._check_numel(found)

    def _check_numel(self, found):
        product = 1
        for size in found.sizes:
            product *= size
        # Wrappers written in Python, and nested tensors, keep their true sizes elsewhere.
        custom = self._impl.bit(self._memory, found.address, "sizes_strides_policy_")
        if found.defined and not custom and (product != found.numel or any(size < 0 for size in found.sizes)):
            message = "no tensor at 0x{:x}: sizes {} do not agree with {} elements"
            raise Implausible(message.format(found.address, found.sizes, found.numel))

    def _symbolic_shape(self, found):
        memory, layout = self._memory, self._target.layout
        extra = memory.pointer(found.address + self._impl["extra_meta_"])
        shape = memory.pointer(extra + layout.record("c10::ExtraMeta")["symbolic_shape_meta_"])
        record, symints = layout.record("c10::SymbolicShapeMeta"), self._target.decoder(SymInts)
        for field, name in (("sizes_", "sizes"), ("strides_", "strides")):
            first, count = self._target.cxx.small_vector(shape + record[field], 8)
            if count > MAX_DIMENSIONS:
                raise Implausible(f"no tensor at 0x{found.address:x}: {count} dimensions")
            setattr(found, name, [symints.read(first + 8 * i) for i in range(count)])
        found.offset = symints.read(shape + record["storage_offset_"])
        found.numel = symints.read(shape + record["numel_"])

    def _layout(self, found):
        if "Sparse" in found.functions:
            return LAYOUTS["Sparse"]
        if "SparseCsr" in found.functions:
            record = self._target.layout.record("at::SparseCsrTensorImpl")
            number = self._memory.u8(found.address + record["layout_"])
            return LAYOUTS.get(
                self._target.layout.enum("c10::Layout").get(number), f"unknown layout {number}"
            )
        if "MkldnnCPU" in found.functions:
            return LAYOUTS["Mkldnn"]
        return LAYOUTS["Strided"]

    def _read_storage(self, address):
        if not address:
            return None
        memory, record = self._memory, self._storage
        # intrusive_ptr's null is a null pointer here: a storage is not a tensor.
        if not self._target.rtti.is_a(address, STORAGE_IMPL):
            raise Implausible(f"no storage at 0x{address:x}")
        found = Storage()
        found.address = address
        found.refcount = memory.u64(address + self._refcount) & 0xFFFFFFFF
        place = address + record["data_ptr_"]
        layout = self._target.layout.record("c10::DataPtr")
        found.data = memory.pointer(place + layout["ptr_"])
        found.device = self.device_name(place + layout["device_"])
        size = self._target.decoder(SymInts).read(address + record["size_bytes_"])
        found.nbytes = size if isinstance(size, int) else None
        return found

    def read_storage(self, address):
        """The :class:`Storage` whose ``StorageImpl`` is at ``address``; raises like :meth:`read`."""
        found = self._read_storage(address)
        if found is None:
            raise Implausible("no storage: a null pointer")
        return found

    def member(self, found, record, field):
        """The tensor in the member ``field`` of a tensor of a derived class."""
        offset = self._target.layout.record(record)[field]
        return self.read(self._memory.pointer(found.address + offset))

    def default_dtype(self):
        """The :class:`.dtypes.DType` that ``torch.get_default_dtype()`` would say (float32 where it is not known)."""
        address = self._target.mappings.address_of("_ZN3c10L13default_dtypeE", C10)
        if address is not None:
            try:
                name = self._scalar_types.get(self._memory.u16(address))
                return BY_SCALAR_TYPE.get(name, BY_SCALAR_TYPE["Float"])
            except (Unreadable, LayoutMissing):
                pass
        return BY_SCALAR_TYPE["Float"]
