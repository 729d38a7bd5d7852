"""Containers of libstdc++ and c10, read from memory.

The layouts of libstdc++ are fixed by its ABI (gcc.gnu.org/onlinedocs/libstdc++/manual/abi.html), so they
are constants here: ``std::string``, ``std::vector``, ``std::list``, ``std::unordered_map``, ``std::optional``.
"""

from .errors import Implausible, Unreadable


class Containers:
    """``memory`` reads; ``cxx11_abi`` tells which of the two layouts ``std::string`` has."""

    def __init__(self, memory, cxx11_abi=True):
        self._memory = memory
        self.cxx11_abi = cxx11_abi

    def string_place(self, address):
        """``(data, length)`` of the ``std::string`` at ``address``; raises :class:`Implausible`."""
        memory = self._memory
        data = memory.pointer(address)
        if not self.cxx11_abi:  # copy on write: length, capacity and count precede the data
            length, capacity = memory.words(data - 24, 2)
        else:
            length, capacity = memory.words(address + 8, 2)
            if data == address + 16:
                capacity = 15
        if length > capacity or capacity > 1 << 40:
            raise Implausible(f"no std::string at 0x{address:x}")
        return data, length

    def string(self, address, limit=4096):
        """Up to ``limit`` bytes of the ``std::string`` at ``address``."""
        data, length = self.string_place(address)
        return self._memory.read(data, min(length, limit))

    def text(self, address, limit=4096):
        """The ``std::string`` at ``address`` as text."""
        return self.string(address, limit).decode("utf-8", "backslashreplace")

    @property
    def string_size(self):
        """The size of a ``std::string`` in bytes."""
        return 32 if self.cxx11_abi else 8

    def vector(self, address, element_size):
        """``(first, count)`` of the ``std::vector`` at ``address``; raises :class:`Implausible`."""
        first, last, end = self._memory.words(address, 3)
        if not first <= last <= end or (last - first) % element_size or (first == 0 and end != 0):
            raise Implausible(f"no std::vector at 0x{address:x}")
        return first, (last - first) // element_size

    def pointers(self, address, limit):
        """Up to ``limit`` elements of the ``std::vector`` of pointers at ``address``."""
        first, count = self.vector(address, 8)
        return self._memory.words(first, min(count, limit))

    def small_vector(self, address, element_size):
        """``(first, count)`` of the ``c10::SmallVector`` at ``address`` (BeginX, Size u32, Capacity u32)."""
        first = self._memory.pointer(address)
        count, capacity = self._memory.u32(address + 8), self._memory.u32(address + 12)
        if count > capacity or (count and not first):
            raise Implausible(f"no c10::SmallVector at 0x{address:x}")
        return first, count

    def list_nodes(self, address, limit):
        """Addresses of up to ``limit`` values of the ``std::list`` at ``address``."""
        node, found = self._memory.pointer(address), []
        while node != address and len(found) < limit:
            found.append(node + 16)
            node = self._memory.pointer(node)
        return found

    def hash_nodes(self, address, limit):
        """Addresses of up to ``limit`` values of the ``std::unordered_map`` or ``_set`` at ``address``."""
        node, found = self._memory.pointer(address + 16), []
        while node and len(found) < limit:
            found.append(node + 8)
            node = self._memory.pointer(node)
        return found

    def optional(self, address, size):
        """``address`` when the ``std::optional`` of a ``size`` byte type there holds a value, else None."""
        engaged = self._memory.u8(address + size)
        if engaged > 1:
            raise Implausible(f"no std::optional at 0x{address:x}")
        return address if engaged else None

    def plausible_vector(self, address, element_size):
        """Whether memory holds a ``std::vector`` of such elements, to all appearances."""
        try:
            self.vector(address, element_size)
        except (Implausible, Unreadable):
            return False
        return True
