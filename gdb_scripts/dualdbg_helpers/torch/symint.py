"""Symbolic integers: a number, or a node that stands for one (c10/core/SymInt.h)."""

from ..errors import Implausible, Unreadable
from ..python.symbolic import Symbolic

_TAG_MASK = 0b111 << 61
_SIGN = 1 << 61
_LARGEST_TAGGED = -(1 << 62) - 1  # SymInt::MAX_UNREPRESENTABLE_INT


class SymInts:
    """Reads ``c10::SymInt`` and the nodes behind ``SymInt``, ``SymFloat`` and ``SymBool``."""

    def __init__(self, target):
        self._target = target

    def read(self, address):
        """The ``c10::SymInt`` at ``address``: an ``int``, or text such as "s0" or "2*s1" when it is symbolic."""
        data = self._target.memory.i64(address)
        if data > _LARGEST_TAGGED:
            return data
        bits = data & (1 << 64) - 1 & ~_TAG_MASK
        return self.node((bits ^ _SIGN) - _SIGN & (1 << 64) - 1)

    def node(self, address):
        """What the ``SymNodeImpl`` at ``address`` stands for: a number, a bool, or text."""
        target = self._target
        name = target.rtti.name(address)
        if name.startswith("c10::ConstantSymNodeImpl<"):
            place = address + target.layout.record("dualdbg::ConstantSymInt")["value_"]
            return bool(target.memory.u8(place)) if "<bool>" in name else target.memory.i64(place)
        if name == "c10::NestedIntSymNodeImpl":
            record = target.layout.record(name)
            value = target.memory.i64(address + record["val_"])
            factor = target.memory.i64(address + record["coeff_"])
            return f"j{value}" if factor == 1 else f"{factor}*j{value}"
        if name.endswith("::PythonSymNodeImpl"):
            return self._python_node(address)
        return f"<{name}>"

    def _python_node(self, address):
        target = self._target
        safe = target.memory.pointer(address + target.layout.record("dualdbg::PythonSymNodeImpl")["pyobj_"])
        obj = target.memory.pointer(safe + target.layout.record("c10::SafePyObject")["data_"])
        try:
            return target.decoder(Symbolic).node_text(obj)
        except (Implausible, Unreadable):
            return f"<SymNode at 0x{obj:x}>"
