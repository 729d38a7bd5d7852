"""Symbolic integers: a number, or a node that stands for one (c10/core/SymInt.h)."""

from dualdbg_shared import cpython as L

from ..errors import Implausible, Unreadable
from ..python.attributes import Attributes
from ..python.names import Types
from ..python.strings import Strings

MAX_DEPTH = 12


class Symbolic:
    """Writes ``SymNode`` objects of one target, for example "s0" or "2*s0 + 1"."""

    def __init__(self, target):
        self._target = target
        self._types = target.decoder(Types)
        self._strings = target.decoder(Strings)
        self._attribute = target.decoder(Attributes).get

    def node_text(self, address):
        """The expression of the SymNode object at ``address``; raises :class:`Implausible` when it has none."""
        expression = self._attribute(address, "_expr")
        if expression is None and self._types.of(address).name == "NestedIntNode":
            return self._nested(address)
        if expression is None:
            raise Implausible(f"no SymNode at 0x{address:x}")
        return self._text(expression, 0)

    def _nested(self, address):
        """The size of a jagged dimension: "j1", "2*j1" (torch/nested/_internal/nested_int.py)."""
        number = self._strings.integer(self._attribute(address, "t_id"))
        factor = self._strings.integer(self._attribute(address, "coeff"))
        return f"j{number}" if factor == 1 else f"{factor}*j{number}"

    def _text(self, address, depth):
        kind = self._types.of(address)
        if kind.has(L.INT):
            return str(self._strings.integer(address))
        if depth > MAX_DEPTH:
            return "..."
        if "Symbol" in kind.bases:
            name = self._attribute(address, "name")
            if name is not None:
                return self._strings.text(name, 200)
        value = self._attribute(address, "p")
        if value is not None and self._types.of(value).has(L.INT):
            return str(self._strings.integer(value))
        if kind.name in _CONSTANTS:
            return _CONSTANTS[kind.name]
        return self._operation(kind.name, address, depth)

    def _operation(self, name, address, depth):
        args = self._attribute(address, "_args")
        memory, layout = self._target.memory, self._types.layout
        if args is None or not self._types.of(args).has(L.TUPLE):
            return f"<{name}>"
        count = memory.i64(args + layout.head)
        try:
            parts = [
                self._text(a, depth + 1) for a in memory.words(args + layout.tuple_items, min(count, 20))
            ]
        except (Implausible, Unreadable):
            return f"<{name}>"
        if name in _OPERATORS:
            return _OPERATORS[name].join(f"({p})" if " " in p and name != "Add" else p for p in parts)
        return "{}({})".format(name, ", ".join(parts))


_OPERATORS = {"Add": " + ", "Mul": "*", "Pow": "**"}
_CONSTANTS = {"One": "1", "Zero": "0", "NegativeOne": "-1", "Half": "1/2"}


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
