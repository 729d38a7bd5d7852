"""A tensor described in full: every property that its memory tells, as text and as structure."""

import math

from ..errors import HelperError, Implausible, LayoutMissing, OutOfTime, Unreadable
from .dispatch import DispatchKeys
from .ragged import NESTED, Ragged
from .tensor_text import BATCHED, FUNCTIONAL, WRAPPED, TensorText
from .tensor_values import TensorValues

MAX_LISTED = 10000
"""Elements that are listed in the structure at most."""


def describe(target, tensor, data=None, stats=False):
    """``(text, structure)``. ``data`` asks for the values (True, or how many before the middle is left out)."""
    writer = target.decoder(TensorText)
    found = _structure(target, tensor, writer)
    lines = [f"Tensor at 0x{tensor.address:x}: {writer.summary(tensor)}"]
    lines.extend(f"  {name:<14}{text}" for name, text in _rows(tensor, found) if text is not None)
    if data is not None:
        if data is not True:
            writer.threshold = data
        _try(lambda: _add_data(target, tensor, writer, found, lines, data), lines, found, "values")
    if stats:
        _try(lambda: _add_statistics(target, tensor, writer, found, lines), lines, found, "stats")
    return "\n".join(lines), found


def _try(add, lines, found, key):
    try:
        add()
    except (HelperError, Implausible, Unreadable, OutOfTime) as error:
        why = error.message if isinstance(error, HelperError) else str(error)
        lines.append(f"  {key:<14}{why}")
        found[key + "_unavailable"] = why


def _structure(target, tensor, writer):
    keys = target.decoder(DispatchKeys)
    found = {
        "summary": writer.summary(tensor),
        "impl": f"0x{tensor.address:x}",
        "class": tensor.class_name,
        "defined": tensor.defined,
        "dtype": tensor.dtype.name if tensor.dtype else None,
        "sizes": target.decoder(Ragged).shape(tensor)[0],
        "strides": tensor.strides if tensor.mangled != NESTED else None,
        "offset": tensor.offset,
        "numel": target.decoder(Ragged).shape(tensor)[1],
        "device": writer.device(tensor),
        "tensor_layout": tensor.layout,
        "version": tensor.version,
        "refcount": tensor.refcount,
        "dispatch_keys": keys.names(tensor.key_set),
        "conjugate": tensor.conjugate,
        "negative": tensor.negative,
        "symbolic": tensor.symbolic,
        "requires_grad": bool(tensor.autograd and tensor.autograd.requires_grad),
        "is_view": bool(tensor.autograd and tensor.autograd.is_view),
        "python_object": f"0x{tensor.python:x}" if tensor.python else None,
        "python_type": writer.python_type(tensor),
    }
    if tensor.autograd:
        info = tensor.autograd
        found["grad_fn"] = info.grad_fn_name
        found["grad_fn_address"] = f"0x{info.grad_fn:x}" if info.grad_fn else None
        found["grad_fn_stale"] = info.stale
        found["output_nr"] = info.output_nr
        found["grad"] = f"0x{info.grad:x}" if info.grad else None
        found["base"] = f"0x{info.base:x}" if info.base else None
    if tensor.storage:
        storage = tensor.storage
        found["storage"] = {
            "address": f"0x{storage.address:x}",
            "data": f"0x{storage.data:x}",
            "nbytes": storage.nbytes,
            "device": storage.device,
            "refcount": storage.refcount,
        }
    kind = _KINDS.get(tensor.mangled)
    if kind:
        found["wraps"] = kind + (", which has ended" if writer.has_ended(tensor) else "")
    return found


_KINDS = {
    BATCHED: "a tensor inside vmap",
    WRAPPED: "a tensor inside functorch's grad",
    FUNCTIONAL: "a functionalised tensor",
    NESTED: "a nested tensor",
}


def _rows(tensor, found):
    if not tensor.defined:
        return
    yield "class", "{}{}".format(tensor.class_name, ", " + found["wraps"] if "wraps" in found else "")
    if found["python_object"]:
        yield "python", "{} object at {}".format(found["python_type"] or "unreadable", found["python_object"])
    yield "dtype", found["dtype"]
    yield "sizes", "{}{}".format(_list(found["sizes"]), "  (symbolic)" if tensor.symbolic else "")
    strides = "of each part its own" if found["strides"] is None else _list(tensor.strides)
    count = "number of elements not known" if found["numel"] is None else f"{found['numel']} elements"
    yield "strides", f"{strides}, offset {tensor.offset}, {count}"
    yield "device", "{}, layout {}".format(found["device"], tensor.layout)
    bits = [word for word in ("conjugate", "negative") if found[word]]
    yield "bits", ", ".join(bits) or None
    yield "autograd", _autograd(found)
    yield "version", "unknown (inference tensor)" if tensor.version is None else str(tensor.version)
    yield "view", "of the tensor at {}".format(found["base"]) if found.get("base") else None
    yield "storage", _storage(found)
    yield "refcount", str(tensor.refcount) if tensor.refcount else "0: freed, or being destroyed"
    yield "dispatch keys", ", ".join(found["dispatch_keys"])


def _list(values):
    return "[{}]".format(", ".join(map(str, values)))


def _autograd(found):
    if found.get("grad_fn"):
        stale = " (of an older version: Python makes a new one when asked)" if found["grad_fn_stale"] else ""
        return "grad_fn=<{}> at {}, output {}{}".format(
            found["grad_fn"], found["grad_fn_address"], found["output_nr"], stale
        )
    text = "requires_grad={}".format(found["requires_grad"])
    return text + (", grad at {}".format(found["grad"]) if found.get("grad") else "")


def _storage(found):
    storage = found.get("storage")
    if storage is None:
        return "none"
    size = "{} bytes".format(storage["nbytes"]) if storage["nbytes"] is not None else "symbolic size"
    return "{}, {} at {} on {}, shared by {}".format(
        storage["address"], size, storage["data"], storage["device"], storage["refcount"]
    )


def _add_data(target, tensor, writer, found, lines, data):
    lines.append(writer.repr(tensor))
    found["repr"] = lines[-1]
    limit = MAX_LISTED if data is True else min(data, MAX_LISTED)
    try:
        dequantize = (
            writer.quantizer(tensor)[1] if tensor.dtype and tensor.dtype.kind == "quantized" else None
        )
        values = TensorValues(target, tensor, dequantize).flat(min(limit, target.limits.max_length or limit))
    except HelperError as error:
        found["values_unavailable"] = error.message
        return
    found["values"] = [_json(value) for value in values]


def _json(value):
    if isinstance(value, tuple):
        return [_json(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _add_statistics(target, tensor, writer, found, lines):
    if "NestedTensor" in (tensor.class_name or ""):
        raise HelperError("not of nested tensors; --data shows the values of their parts")
    if tensor.dtype and tensor.dtype.name.startswith("float4"):
        raise HelperError("not of values that are packed two to a byte")
    dequantize = None
    if tensor.dtype and tensor.dtype.kind == "quantized":
        dequantize = writer.quantizer(tensor)[1]
    try:
        result = TensorValues(target, tensor, dequantize).statistics()
    except LayoutMissing as error:
        raise HelperError(error.message) from None
    shown = [f"{key} {_number(result[key])}" for key in ("min", "max", "mean") if result[key] is not None]
    if shown and result["nan"] + result["inf"]:
        shown[-1] += " of the finite ones"
    shown.extend(f"{key} {result[key]}" for key in ("nan", "inf"))
    lines.append("  {:<14}{}".format("stats", ", ".join(shown)))
    found["stats"] = {key: _json(tuple(v) if isinstance(v, list) else v) for key, v in result.items()}


def _number(value):
    if isinstance(value, list):
        return "{:.6g}{:+.6g}j".format(*value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
