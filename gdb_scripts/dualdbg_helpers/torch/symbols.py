"""Interned names (``c10::Symbol``): a number, and the table of names that the process keeps."""

import re

from dualdbg_shared.elf import EM_X86_64, MACHINES
from dualdbg_shared.libraries import TORCH

from ..errors import Implausible, LayoutMissing, Unreadable

_TABLE = "_ZZN3c10L13globalStringsEvE1s"
MAX_NAME = 200

# An exported function that asks globalStrings(), which is not, for the table; it may be inlined.
_ASKS = "_ZNK3c106Symbol2nsEv"
_CALL = re.compile(rb"\xe8(.{4})", re.DOTALL)
_LEA = re.compile(rb"\x48\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d](.{4})", re.DOTALL)  # of a place by %rip
_LONGEST = 96  # bytes of either function up to the table
_TRIED = 50  # names by which a table is known


class Symbols:
    """Names of the symbols of one target, such as "aten::add" or "prim::If"."""

    def __init__(self, target):
        self._target = target
        self._known = {}
        self._info = target.layout.record("c10::InternedStrings::SymbolInfo")
        self._table = target.layout.record("c10::InternedStrings")
        address = target.mappings.address_of(_TABLE, TORCH)
        if address is None:
            address = next(filter(self._is_table, places_in_code(target)), None)
        if address is None:
            raise LayoutMissing(
                "The table of interned names is not in the symbols of libtorch_cpu (a stripped library)."
            )
        self._open(address)

    def _open(self, address):
        place = address + self._table["sym_to_info_"]
        self._first, self._count = self._target.cxx.vector(place, self._info.size)

    def _is_table(self, address):
        """Whether the first names of a table at ``address`` are such."""
        self._known.clear()
        try:
            self._open(address)
            names = [self.qualified(number) for number in range(_TRIED)]
        except (Implausible, Unreadable):
            return False
        return all(re.fullmatch(r"\w+::\w+", name) for name in names)

    def _name(self, number, field):
        key = (number, field)
        if key not in self._known:
            if not 0 <= number < self._count:
                raise Implausible(f"no symbol: {number}")
            place = self._first + number * self._info.size + self._info[field]
            self._known[key] = self._target.cxx.text(place, MAX_NAME)
        return self._known[key]

    def qualified(self, number):
        """``aten::add``"""
        return self._name(number, "qual_name")

    def unqualified(self, number):
        """``add``"""
        return self._name(number, "unqual_name")


def places_in_code(target):
    """The addresses that code names which asks for the table of interned names; on x86-64 alone."""
    if target.installation is None or target.installation.machine != MACHINES[EM_X86_64]:
        return
    function = target.mappings.address_of(_ASKS, TORCH)
    if function is None:
        return
    asked = [function]
    code = target.memory.read(function, _LONGEST)
    asked += [function + end + offset for end, offset in _operands(_CALL, code)]
    for start in asked:
        try:
            code = target.memory.read(start, _LONGEST)
        except Unreadable:  # no call, but bytes of another instruction
            continue
        for end, offset in _operands(_LEA, code):
            yield start + end + offset


def _operands(instruction, code):
    """Where each such instruction ends, and its operand."""
    for found in instruction.finditer(code):
        yield found.end(), int.from_bytes(found[1], "little", signed=True)
