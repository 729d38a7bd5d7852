"""The attributes of any Python object: slots, members declared in C, and its ``__dict__``."""

from dualdbg_shared import cpython as L

from ..errors import Implausible, LayoutMissing, Unreadable
from ..values import Value
from .interpreter import Interpreter
from .names import Types
from .strings import Strings
from .tables import Tables

MAX_ATTRIBUTES = 1000
_OBJECT_MEMBERS = (6, 16)  # T_OBJECT, T_OBJECT_EX
_NUMBER_MEMBERS = {
    # T_SHORT, T_INT, T_LONG, T_BYTE, ...: (size in bytes, signed)
    0: (2, True),
    1: (4, True),
    2: (8, True),
    8: (1, True),
    9: (1, False),
    10: (2, False),
    11: (4, False),
    12: (8, False),
    14: (1, False),
    17: (8, True),
    18: (8, False),
    19: (8, True),
}


class Attributes:
    """Reads the attributes of objects of one target."""

    def __init__(self, target):
        self._memory = target.memory
        self._layout = target.decoder(Interpreter).layout
        self._types = target.decoder(Types)
        self._strings = target.decoder(Strings)
        self._tables = target.decoder(Tables)

    def of(self, kind, address):
        """``(name, address or Value)`` of the object's slots, C members and ``__dict__`` entries."""
        if kind.has(L.TYPE):
            return []
        found = []
        try:
            found.extend(self._members(kind, address))
        except (Implausible, LayoutMissing, Unreadable) as error:
            found.append(("<members>", Value.invalid(str(error))))
        try:
            for i, (key, value) in enumerate(self._tables.instance_items(kind, address)):
                if i >= MAX_ATTRIBUTES:
                    break
                found.append((self._name(key), value))
        except (Implausible, LayoutMissing, Unreadable) as error:
            found.append(("__dict__", Value.invalid(str(error))))
        return found

    def _name(self, key):
        try:
            return self._strings.text(key, 200)
        except (Implausible, Unreadable):
            return f"<key at 0x{key:x}>"

    def _members(self, kind, address):
        """Slots and members that C code declares with ``PyMemberDef`` (Include/structmember.h)."""
        memory, found, seen = self._memory, [], set()
        for base in reversed(self._types.base_addresses(kind)):
            place = memory.pointer(base + self._layout.tp_members)
            for _ in range(MAX_ATTRIBUTES if place else 0):
                name, code, offset = memory.pointer(place), memory.u32(place + 8), memory.i64(place + 16)
                if not name:
                    break
                place += 40
                text = memory.c_string(name, 200).decode("utf-8", "replace")
                if text in seen or text.startswith("__") or offset < self._layout.head:
                    continue
                seen.add(text)
                if code in _OBJECT_MEMBERS:
                    value = memory.pointer(address + offset)
                    if value:
                        found.append((text, value))
                elif code in _NUMBER_MEMBERS:
                    size, signed = _NUMBER_MEMBERS[code]
                    number = int.from_bytes(memory.read(address + offset, size), "little", signed=signed)
                    shown = str(bool(number)) if code == 14 else str(number)
                    found.append((text, Value("int", shown, type="bool" if code == 14 else "int")))
        return found

    def get(self, address, name):
        """The address of the attribute ``name`` of the object at ``address``, or None."""
        for key, place in self.of(self._types.of(address), address):
            if key == name and isinstance(place, int):
                return place
        return None
