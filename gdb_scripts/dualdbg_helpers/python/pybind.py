"""pybind11's instances: the C++ objects in them, and the Python object for a C++ object, from pybind11's tables.

Sources: ``struct instance``, ``struct type_info``, ``struct internals`` and ``PYBIND11_INTERNALS_ID`` in
``include/pybind11/detail`` (internals versions 4 to 12, which is pybind11 2.2 to 3.1); libstdc++'s ``_Hashtable``.
"""

import re

from dualdbg_shared import cpython as L

from ..errors import Implausible, LayoutMissing, Unreadable
from .interpreter import Interpreter
from .names import Types
from .strings import Strings
from .tables import Tables

BASE = "pybind11_object"
"""``tp_name`` of the base of every bound class."""

# Where there are subinterpreters (3.12), other keys begin so too: they end in "_call_once_storage__" and a number.
_INTERNALS = re.compile(r"__pybind11_internals_v(\d+)_\w*__")
_OLDEST, _NEWEST = 4, 12
_MAP = 56  # bytes of a std::unordered_map
# Bytes of a PyInterpreterState that are looked through: its dictionaries are in the first 9,000.
_STATE = 1 << 14
_MANY = 10000  # nodes in one bucket, classes of one type: more is garbage
_SIMPLE, _REGISTERED = 2, 8  # flags of an instance


def _known(text):
    return f"{text} (known: {_OLDEST} to {_NEWEST})."


class Pybind:
    """The instances and registries of one target. A version newer than the known ones is tried, and :meth:`warning`
    says so; of one that is left out it says why.
    """

    def __init__(self, target):
        self._target = target
        self._memory = target.memory
        self._layout = target.decoder(Interpreter).layout
        self._tables = target.decoder(Tables)
        self._maps = None
        self._warning = None

    def warning(self):
        """What is to be said of the versions of pybind11 in the process that are not known; else None."""
        self._registries()
        return self._warning

    def values(self, kind, address):
        """``(C++ class or "", address)`` of the C++ objects in the instance at ``address``, of the type ``kind``.

        A null address is an object that is not constructed yet. Empty for an object that is not an instance.
        """
        if BASE not in kind.bases:
            return []
        memory, head = self._memory, self._layout.head
        infos = self._type_infos(kind.address)
        place, flags = address + head, memory.u8(address + head + 32)
        if flags & _SIMPLE:
            return [(self._class(infos[0]) if infos else "", memory.pointer(place))]
        place = memory.pointer(place)
        found = []
        for info in infos:
            found.append((self._class(info), memory.pointer(place)))
            place += 8 + 8 * min(memory.u64(info + 32), _MANY)  # the pointer, and its holder
        return found

    def type_info(self, kind):
        """The address of the C++ class's ``std::type_info``, which lies in the library of the class; 0 for none."""
        infos = self._type_infos(kind.address) if BASE in kind.bases else []
        return self._memory.pointer(infos[0] + 8) if infos else 0

    def instances(self, pointer):
        """Addresses of the Python objects whose C++ object, or a base of it, is at ``pointer``; each is checked."""
        found = []
        for _, instances in self._registries():
            for node in self._nodes(instances, pointer):
                address = self._memory.pointer(node + 16)
                try:
                    kind = self._target.decoder(Types).of(address)
                except (Implausible, Unreadable):
                    continue
                if BASE in kind.bases and address not in found:
                    found.append(address)
        return found

    def _class(self, info):
        """The C++ class of pybind11's ``type_info``, through its ``cpptype``, the ``std::type_info``."""
        memory = self._memory
        name = memory.c_string(memory.pointer(memory.pointer(info + 8) + 8), 2048).lstrip(b"*")
        return self._target.demangle("_ZTS" + name.decode("ascii", "replace"))

    def _type_infos(self, type_address):
        for types, _ in self._registries():
            for node in self._nodes(types, type_address):
                first, last = self._memory.words(node + 16, 2)
                count = (last - first) // 8
                if 0 < count <= _MANY:
                    return self._memory.words(first, count)
        return []

    def _nodes(self, table, key):
        """The nodes of an unordered map by pointer, whose hash is the pointer itself: next, key, value."""
        memory = self._memory
        buckets, count = memory.words(table, 2)
        if not buckets or not count:
            return
        before = memory.pointer(buckets + 8 * (key % count))
        node = memory.pointer(before) if before else 0
        for _ in range(_MANY):
            if not node:
                return
            following, found = memory.words(node, 2)
            if found % count != key % count:
                return
            if found == key:
                yield node
            node = following

    def _registries(self):
        """``(registered_types_py, registered_instances)`` of every version of pybind11 in the process."""
        if self._maps is None:
            self._maps = []
            for version, internals in self._internals():
                types = internals + _MAP * (2 if version >= 12 else 1)
                self._maps.append((types, types + _MAP))
        return self._maps

    def _internals(self):
        strings, memory = self._target.decoder(Strings), self._memory
        for dictionary in self._dictionaries():
            try:
                for key, capsule in self._tables.items(dictionary, 0, _MANY):
                    match = _INTERNALS.fullmatch(strings.text(key, 200))
                    if match is None or not self._is_tried(int(match.group(1))):
                        continue
                    found = memory.pointer(memory.pointer(capsule + self._layout.head))
                    if found:
                        yield int(match.group(1)), found
            except (Implausible, Unreadable):
                continue  # not a dictionary with strings as keys

    def _is_tried(self, version):
        """Whether the tables of this version are read."""
        if self._layout.free_threaded:  # the members depend on the build
            self._warning = "The tables of pybind11 are not read in a CPython without the GIL."
            return False
        if version < _OLDEST:
            self._warning = _known(
                f"The tables of pybind11's internals {version} are not known, and are left out"
            )
            return False
        if version > _NEWEST:
            self._warning = _known(
                f"pybind11's internals {version} are newer than dualdbg: what is said of its objects may be wrong"
            )
        return True

    def _dictionaries(self):
        """The dictionaries to which the main interpreter's state points: its own, for extensions, and builtins."""
        runtime = self._target.mappings.in_interpreter("_PyRuntime")
        if runtime is None:
            raise LayoutMissing("The symbol _PyRuntime is not there, so pybind11's tables are not found.")
        state = self._memory.pointer(runtime + self._head_of_interpreters(runtime))
        types, seen = self._target.decoder(Types), set()
        for place in range(state, state + _STATE, 8):
            self._target.budget.tick()
            try:
                address = self._memory.pointer(place)
            except Unreadable:
                return
            if address in seen or address < 1 << 16 or address % 8:
                continue
            seen.add(address)
            try:
                if types.of(address).tp_name == "dict" and types.of(address).has(L.DICT):
                    yield address
            except (Implausible, Unreadable):
                continue

    def _head_of_interpreters(self, runtime):
        """The offset of ``interpreters.head`` in ``_PyRuntime`` (Include/internal/pycore_runtime.h of each version)."""
        if self._layout.minor < 13:
            return 32 if self._layout.minor < 11 else 40
        return self._memory.u64(runtime + 40)  # its debug offsets say so: runtime_state.interpreters_head
