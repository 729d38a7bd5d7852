"""Small values of c10: ``Scalar``, and the enumerators that have other names in Python."""

from ..errors import Implausible
from .dtypes import BY_SCALAR_TYPE
from .ivalue import format_double
from .symint import SymInts
from .tensor import LAYOUTS

_MEMORY_FORMATS = {
    "Contiguous": "torch.contiguous_format",
    "Preserve": "torch.preserve_format",
    "ChannelsLast": "torch.channels_last",
    "ChannelsLast3d": "torch.channels_last_3d",
}


class Scalars:
    """Writes scalars and enumerators of one target."""

    def __init__(self, target):
        self._target = target

    def text(self, address):
        """The ``c10::Scalar`` at ``address``."""
        record, memory = self._target.layout.record("c10::Scalar"), self._target.memory
        number = memory.u32(address + record["tag"])
        tag, place = self._target.layout.enum("c10::Scalar::Tag").get(number), address + record["v"]
        if tag == "HAS_d":
            return format_double(memory.f64(place))
        if tag == "HAS_i":
            return str(memory.i64(place))
        if tag == "HAS_u":
            return str(memory.u64(place))
        if tag == "HAS_b":
            return "True" if memory.i64(place) & 0xFF else "False"
        if tag == "HAS_z":
            return repr(complex(memory.f64(place), memory.f64(place + 8)))
        if tag in ("HAS_sd", "HAS_si", "HAS_sb"):
            return str(self._target.decoder(SymInts).node(memory.pointer(place)))
        raise Implausible(f"no Scalar at 0x{address:x}: tag {number}")

    def enumerator(self, enum, number):
        """``number`` of the C++ ``enum`` as Python names it."""
        name = self._target.layout.enum(enum).get(number)
        if name is None:
            return f"<{enum} {number}>"
        if enum == "c10::ScalarType":
            return f"torch.{BY_SCALAR_TYPE[name].name}" if name in BY_SCALAR_TYPE else name
        if enum == "c10::Layout":
            return LAYOUTS.get(name, name)
        if enum == "c10::MemoryFormat":
            return _MEMORY_FORMATS.get(name, name)
        return name.lower() if enum == "c10::DeviceType" else name
