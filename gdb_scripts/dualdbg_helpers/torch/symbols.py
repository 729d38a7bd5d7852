"""Interned names (``c10::Symbol``): a number, and the table of names that the process keeps."""

from dualdbg_shared.libraries import TORCH

from ..errors import Implausible, LayoutMissing

_TABLE = "_ZZN3c10L13globalStringsEvE1s"
MAX_NAME = 200


class Symbols:
    """Names of the symbols of one target, such as "aten::add" or "prim::If"."""

    def __init__(self, target):
        self._target = target
        self._known = {}
        address = target.mappings.address_of(_TABLE, TORCH)
        if address is None:
            raise LayoutMissing(
                "The table of interned names is not in the symbols of libtorch_cpu (a stripped library)."
            )
        self._info = target.layout.record("c10::InternedStrings::SymbolInfo")
        table = target.layout.record("c10::InternedStrings")
        self._first, self._count = target.cxx.vector(address + table["sym_to_info_"], self._info.size)

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
