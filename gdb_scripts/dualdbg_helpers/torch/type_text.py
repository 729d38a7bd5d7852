"""Types as graphs print them (``operator<<`` for ``Type``, aten/src/ATen/core/type.cpp): tensors with their shapes."""

from ..errors import HelperError, Implausible, Unreadable
from .tensor import Tensors
from .types import SCHEMA, TypeNames

MAX_DEPTH = 20
_BRACKETS = {
    "ListType": "{}[]",
    "OptionalType": "{}?",
    "FutureType": "Future[{}]",
    "RRefType": "RRef[{}]",
    "AwaitType": "Await[{}]",
}


class GraphTypes:
    """Writes the types of a graph's values."""

    def __init__(self, target):
        self._target = target
        self._memory = target.memory
        self._names = target.decoder(TypeNames)
        self._known = {}

    def text(self, address):
        """The type at ``address``; what cannot be read is marked."""
        if address not in self._known:
            try:
                self._known[address] = self._text(address, 0)
            except Unreadable as error:
                return str(error)
            except (Implausible, HelperError) as error:
                return f"<{error}>"
        return self._known[address]

    def _text(self, address, depth):
        kind, names = self._names.kind(address), self._names
        if depth > MAX_DEPTH:
            return "..."
        if kind == "TensorType":
            return self._tensor(address)
        if kind in _BRACKETS:
            return _BRACKETS[kind].format(self._text(names.element(address, kind), depth + 1))
        if kind == "TupleType":
            return self._tuple(address, kind, depth)
        return names.text(address, SCHEMA)

    def _tuple(self, address, kind, depth):
        parts = [self._text(part, depth + 1) for part in self._names.elements(address, kind)]
        layout = self._target.layout
        schema = self._memory.pointer(address + layout.record("c10::TupleType")["schema_"])
        if not schema:
            return f"({', '.join(parts)})"
        argument = layout.record("c10::Argument")
        first, count = self._target.cxx.vector(
            schema + layout.record("c10::FunctionSchema")["arguments_"], argument.size
        )
        places = [first + i * argument.size + argument["name_"] for i in range(min(count, len(parts)))]
        named = [f"{self._target.cxx.text(p, 200)} : {part}" for p, part in zip(places, parts)]
        return f"NamedTuple({', '.join(named)})"

    def _tensor(self, address):
        record, scalar_types = (
            self._target.layout.record("c10::TensorType"),
            self._target.layout.enum("c10::ScalarType"),
        )
        place = self._optional(address, record, "scalar_type_")
        name = scalar_types.get(self._memory.u8(place), "?") if place else "Tensor"
        shape = self._shape(address + record["sizes_"])
        extra = self._extra(address, record)
        if shape is None:
            text = name + ("Tensor" if place else "") + (f"({', '.join(extra)})" if extra else "")
        else:
            parts = ["*" if size is None else str(size) for size in shape]
            strides = self._strides(address + record["strides_"], len(shape))
            parts += [f"strides=[{', '.join(map(str, strides))}]"] if strides else []
            text = f"{name}({', '.join(parts + extra)})"
        undefined = self._optional(address, record, "undefined_")
        return text + ("[Undefined]" if undefined and self._memory.u8(undefined) else "")

    def _optional(self, address, record, field):
        return self._target.cxx.optional(
            address + record[field], record.sizes[field] // 2 if field != "device_" else 2
        )

    def _extra(self, address, record):
        found = []
        place = self._optional(address, record, "requires_grad_")
        if place:
            found.append(f"requires_grad={self._memory.u8(place)}")
        place = self._optional(address, record, "device_")
        if place:
            found.append(f"device={self._target.decoder(Tensors).device_name(place)}")
        return found

    def _shape(self, place):
        """Sizes of a ``SymbolicShape``, with None for an unknown size; None when even their number is unknown."""
        found = self._target.cxx.optional(place, 24)
        if found is None:
            return None
        first, count = self._target.cxx.vector(found, 8)
        # A ShapeSymbol is a size when it is not negative, else the name of an unknown one.
        return [size if size >= 0 else None for size in self._memory.signed_words(first, count)]

    def _strides(self, place, dimensions):
        """The strides, or nothing when one of them is not known."""
        found = self._target.cxx.optional(place, 24)
        if found is None or not dimensions:
            return []
        stride = self._target.layout.record("c10::Stride")
        size = stride.size + 8  # std::optional<Stride>
        first, count = self._target.cxx.vector(found, size)
        strides = [None] * count
        for i in range(count):
            entry = self._target.cxx.optional(first + i * size, stride.size)
            index = self._target.cxx.optional(entry + stride["stride_index_"], 8) if entry else None
            value = self._target.cxx.optional(entry + stride["stride_"], 8) if entry else None
            if index is None or value is None or self._memory.u64(index) >= count:
                return []
            strides[self._memory.u64(index)] = self._memory.u64(value)
        return strides if count == dimensions and None not in strides else []
