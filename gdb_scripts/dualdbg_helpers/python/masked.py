"""numpy's masked arrays as numpy prints them: what is masked is ``--`` (numpy/ma/core.py, ``MaskedArray.__repr__``)."""

from ..errors import Implausible, Unreadable
from .numpy import CUT, OBJECT, STRING, THRESHOLD, UNICODE, Arrays, dtype_text, laid_out, tuple_text

_IMPLIED = ("bool", "int64", "float64", "complex128")
_DEFAULT_FILL = {"b": "True", "f": "1e+20", "c": "(1e+20+0j)"}
_MOST = 1 << 20  # elements of a mask that are read to learn whether all are masked


class _Masked:
    def __repr__(self):
        return "--"


_MASKED = _Masked()


def text(objects, kind, address, depth):
    """The text of the masked array at ``address``."""
    if kind.name == "MaskedConstant":
        return "masked"
    arrays = objects.target.decoder(Arrays)
    found = arrays.read(address)
    name = dtype_text(found)
    if depth > 0 or not found.count:
        return f"masked_array(shape={tuple_text(found.shape)}, dtype={name})"
    fields = dict(objects.attributes(kind, address))
    mask = _mask(objects, arrays, fields, found)
    cut = found.count > THRESHOLD
    try:
        rows = {
            "data": _data(objects, arrays, found, mask, cut),
            "mask": _mask_text(objects, arrays, mask, cut),
        }
    except Unreadable as error:
        return f"masked_array({error})"
    fill = _fill(objects, arrays, fields, found)
    keys = {"data": None, "mask": None}
    if fill is not None:
        keys["fill_value"] = fill
    if name not in _IMPLIED or _all_masked(arrays, mask):
        keys["dtype"] = name
    return _arranged(found, keys, rows)


def _arranged(found, keys, rows):
    """The parts one below the other: behind the name where there is one row, else each on its own lines."""
    name = "masked_array("
    one_row = all(length == 1 for length in found.shape[:-1])
    lines = []
    for key, value in keys.items():
        indent = "  "
        if one_row:
            indent = name if key == "data" else " " * max(2, len(name + "data") - len(key))
        if value is None:
            value = rows[key](len(indent) + len(key) + 1)
        lines.append(f"{indent}{key}={value}")
    return ("" if one_row else name + "\n") + ",\n".join(lines) + ")"


def _mask(objects, arrays, fields, found):
    """The array that says what is masked; None where nothing is."""
    place = fields.get("_mask")
    if not isinstance(place, int):
        raise Implausible(f"no masked array at 0x{found.address:x}")
    if objects.types.of(place).tp_name != "numpy.ndarray":
        return None
    mask = arrays.read(place)
    if mask.shape != found.shape or mask.dtype != "bool":
        raise Implausible(f"no masked array at 0x{found.address:x}: its mask has another shape")
    return mask


def _data(objects, arrays, found, mask, cut):
    values = arrays.nested(found, cut)
    if mask is None:
        return lambda indent: laid_out(arrays, objects, found, values, indent)
    hidden = arrays.nested(mask, cut)
    mixed = _mixed(values, hidden, len(found.shape))

    def form(value):
        return objects.text(value.address, 1) if hasattr(value, "address") else repr(value)

    return lambda indent: laid_out(arrays, objects, found, mixed, indent, form)


def _mixed(values, hidden, dimensions):
    if dimensions == 0:
        return _MASKED if hidden else values
    return [
        value if value is CUT else _mixed(value, masked, dimensions - 1)
        for value, masked in zip(values, hidden)
    ]


def _mask_text(objects, arrays, mask, cut):
    if mask is None:
        return lambda indent: "False"
    hidden = arrays.nested(mask, cut)
    return lambda indent: laid_out(arrays, objects, mask, hidden, indent)


def _all_masked(arrays, mask):
    if mask is None or mask.count > _MOST:
        return False
    return all(arrays.leaves(arrays.nested(mask, False), len(mask.shape)))


def _fill(objects, arrays, fields, found):
    """The text of the value that stands for masked ones; None where it is not known."""
    place = fields.get("_fill_value")
    if isinstance(place, int) and objects.types.of(place).is_exactly("numpy.ndarray"):
        fill = arrays.read(place)
        value = arrays.nested(fill, False) if not fill.shape else None
        if value is None:
            return None
        if fill.kind == OBJECT:
            return objects.text(value.address, 1)
        if fill.kind in (STRING, UNICODE):
            name = "bytes_" if fill.kind == STRING else "str_"
            return repr(value) if fill.kind == found.kind else f"np.{name}({value!r})"
        shown = arrays.scalar_text(value, fill.dtype)
        return shown if dtype_text(fill) == dtype_text(found) else f"np.{fill.dtype}({shown})"
    if found.code in "iu" and found.size >= 4:
        return "999999"
    if found.code == "f" and found.size < 4:
        return None
    return _DEFAULT_FILL.get(found.code)
