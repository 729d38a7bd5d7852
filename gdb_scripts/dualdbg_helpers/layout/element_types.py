"""The numbers of the element types, by the names that the running library has for them.

``caffe2::TypeMeta::typeMetaDatas()`` (c10/util/typeid.h) keeps a record of each, in the order of ``c10::ScalarType``: a
new PyTorch has more of them, so that what comes behind has other numbers than in a table of another version.
"""

from __future__ import annotations

from dualdbg_shared.libraries import C10

from ..errors import HelperError

_RECORDS = "_ZZN6caffe28TypeMeta13typeMetaDatasEvE9instances"
_MOST = 128  # numbers that are looked at; 2.15 has 48, and types without a number follow
_LONGEST = 200  # bytes of a name
# Enumerators by the C++ type, as GCC writes it. Of others the type is c10:: and the enumerator, in whatever case.
_ENUMERATORS = {
    "unsigned char": "Byte",
    "signed char": "Char",
    "short int": "Short",
    "int": "Int",
    "long int": "Long",
    "float": "Float",
    "double": "Double",
    "bool": "Bool",
    "c10::complex<c10::Half>": "ComplexHalf",
    "c10::complex<float>": "ComplexFloat",
    "c10::complex<double>": "ComplexDouble",
    "short unsigned int": "UInt16",
    "unsigned int": "UInt32",
    "long unsigned int": "UInt64",
    **{f"c10::dummy_uint1_7_t<{width}>": f"UInt{width}" for width in range(1, 8)},
    **{f"c10::dummy_int1_7_t<{width}>": f"Int{width}" for width in range(1, 8)},
    "nullptr (uninitialized)": "Undefined",
}


def numbers(target, known):
    """``{enumerator: number}`` as the library of ``target`` has them, of the enumerators ``known`` to the caller.

    None where it does not say: it has no symbol for the records, or the layout of ``target`` does not fit them.
    """
    address = target.mappings.address_of(_RECORDS, C10)
    record = target.layout.get("caffe2::detail::TypeMetaData")
    if address is None or record is None:
        return None
    enumerators = {**{f"c10::{name}".lower(): name for name in known}, **_ENUMERATORS}
    found = {}
    for number in range(_MOST):
        try:
            name = _name(target.memory, address + number * record.size + record["name_"])
        except HelperError:
            return None
        enumerator = enumerators.get(name) or enumerators.get(name.lower())
        if enumerator is not None:
            found[enumerator] = number
        if enumerator == "Undefined":
            found["NumOptions"] = number + 1
            return found
    return None


def _name(memory, place):
    """The text of the string view at ``place``: a length and a pointer, in the one order or the other."""
    length, pointer = sorted(memory.words(place, 2))
    return memory.read(pointer, length).decode("ascii", "replace") if length <= _LONGEST else ""
