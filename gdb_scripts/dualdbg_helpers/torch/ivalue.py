"""IValues: the tagged values of TorchScript and of boxed kernels, written as ``IValue::dump()`` writes them.

Tensors inside are written as Python's ``repr`` writes them. Source of the texts: ``operator<<`` for
``IValue`` in aten/src/ATen/core/ivalue.cpp.
"""

import math

from ..errors import HelperError, Implausible, LayoutMissing, OutOfTime, Unreadable
from ..python.objects import Objects
from ..values import Value, join
from .symint import SymInts
from .tensor import Tensors
from .tensor_text import TensorText
from .types import TypeNames

SIZE = 16
_UNDEFINED = "N3c1019UndefinedTensorImplE"


def format_double(value):
    """A double as ``IValue`` prints it: ``1.``, ``0.10000000000000001``, ``nan``."""
    if value != value:
        return "-nan" if math.copysign(1.0, value) < 0 else "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    subnormal = value != 0 and abs(value) < 2.2250738585072014e-308
    if not subnormal and -(2.0**63) <= value < 2.0**63 and value == int(value):
        return f"{int(value)}."
    return f"{value:.17g}"


class IValues:
    """Reads IValues of one target."""

    def __init__(self, target):
        self._target = target
        self._memory = target.memory
        layout = target.layout
        record = layout.record("c10::IValue")
        if record.size != SIZE:
            raise LayoutMissing(f"An IValue of {record.size} bytes is not known here.")
        self._payload, self._tag = record["payload"], record["tag"]
        self._tags = layout.enum("c10::IValue::Tag")
        self._open = set()
        self._tuple = None
        self._readers = {
            "None": self._none,
            "Tensor": self._tensor,
            "Storage": self._storage,
            "Double": self._double,
            "ComplexDouble": self._complex,
            "Int": self._int,
            "UInt": self._uint,
            "SymInt": self._symbolic,
            "SymFloat": self._symbolic,
            "SymBool": self._symbolic,
            "Bool": self._bool,
            "Tuple": self._tuple_value,
            "String": self._string,
            "Blob": self._blob,
            "GenericList": self._list,
            "GenericDict": self._dict,
            "Future": self._future,
            "Await": self._await,
            "Device": self._device,
            "Stream": self._stream,
            "Object": self._object,
            "PyObject": self._py_object,
            "Uninitialized": self._uninitialized,
            "Capsule": self._opaque,
            "RRef": self._opaque,
            "Quantizer": self._opaque,
            "Generator": self._generator,
            "Enum": self._enum,
        }

    def tag_at(self, address):
        """The tag of the IValue at ``address``, or None when no IValue is there."""
        return self._tags.get(self._memory.u32(address + self._tag))

    def plausible(self, address):
        """Whether what is at ``address`` can be an IValue: a known tag, and a payload that fits it."""
        try:
            tag = self.tag_at(address)
            if tag is None:
                return False
            payload = self._memory.u64(address + self._payload)
            if tag == "Bool":
                return payload & 0xFF <= 1
            if tag == "Tensor":
                return self._target.decoder(Tensors).is_impl(payload)
            if tag in _POINTERS:
                self._target.rtti.mangled(payload)
            return True
        except (Implausible, Unreadable):
            return False

    def read(self, address, depth=0):
        """The IValue at ``address`` as a :class:`Value`; what cannot be read is marked as such."""
        self._target.budget.tick()
        try:
            tag = self.tag_at(address)
            if tag is None:
                number = self._memory.u32(address + self._tag)
                return Value.invalid(f"no IValue at 0x{address:x}: tag {number}", address)
            payload = address + self._payload
            reader = self._readers.get(tag)
            if reader is None:
                return Value(tag, f"<{tag}: not known here>", address=address)
            value = self._nested(reader, tag, payload, depth)
        except Unreadable as error:
            value = Value.unreadable(error.address)
        except OutOfTime:
            raise
        except (Implausible, HelperError) as error:
            value = Value.invalid(str(error))
        value.address = address
        return value

    def payload(self, tag, address, depth=0):
        """The value that an IValue with this ``tag`` and the payload at ``address`` would have; raises."""
        return self._nested(self._readers[tag], tag, address, depth)

    def _nested(self, reader, tag, payload, depth):
        if tag not in _CONTAINERS:
            return reader(tag, payload, depth)
        pointer = self._memory.pointer(payload)
        if pointer in self._open:
            return Value(tag, "...", data={"cycle": True})
        if depth >= self._target.limits.max_depth:
            return Value(tag, "...", data={"cut": "depth"})
        self._open.add(pointer)
        try:
            return reader(tag, payload, depth)
        finally:
            self._open.discard(pointer)

    def elements(self, first, count, depth):
        """Values of up to ``max-length`` of the ``count`` IValues from ``first`` on."""
        shown = self._target.budget.shown(count)
        if shown:
            # Read at once, so that a long list costs few reads.
            for start in range(0, shown * SIZE, 1 << 16):
                self._memory.read(first + start, 1)
        return [self.read(first + SIZE * i, depth) for i in range(shown)]

    def many(self, kind, first, count, depth, opening="[", closing="]", single=""):
        """The value of a container of ``count`` IValues that lie one behind the other from ``first`` on."""
        values = self.elements(first, count, depth + 1)
        text = join([v.text for v in values], len(values), count, opening, closing, single)
        children = [(f"[{i}]", v) for i, v in enumerate(values)]
        return Value(kind, text, children=children, total=count)

    # One reader a tag. ``payload`` is the address of the payload.

    def _none(self, tag, payload, depth):
        return Value(tag, "None")

    def _tensor(self, tag, payload, depth):
        impl = self._memory.pointer(payload)
        tensor = self._target.decoder(Tensors).read(impl)
        text = self._target.decoder(TensorText)
        data = {
            "summary": text.summary(tensor),
            "impl": f"0x{impl:x}",
            "dtype": tensor.dtype.name if tensor.dtype else None,
            "sizes": tensor.sizes,
            "device": text.device(tensor),
        }
        return Value(tag, text.repr(tensor), data=data)

    def _storage(self, tag, payload, depth):
        pointer = self._memory.pointer(payload)
        storage = self._target.decoder(Tensors).read_storage(pointer)
        data = {"data": f"0x{storage.data:x}", "nbytes": storage.nbytes, "device": storage.device}
        return Value(tag, f"0x{pointer:x}", data=data)

    def _double(self, tag, payload, depth):
        value = self._memory.f64(payload)
        return Value(tag, format_double(value), data=_json_number(value))

    def _complex(self, tag, payload, depth):
        place = self._pointer(payload) + self._target.layout.record("c10::ivalue::ComplexHolder")["val"]
        real, imaginary = self._memory.f64(place), self._memory.f64(place + 8)
        text = format_double(real) + ("+" if imaginary >= 0 else "-") + format_double(abs(imaginary)) + "j"
        return Value(tag, text, data=[_json_number(real), _json_number(imaginary)])

    def _int(self, tag, payload, depth):
        value = self._memory.i64(payload)
        return Value(tag, str(value), data=value)

    def _uint(self, tag, payload, depth):
        value = self._memory.u64(payload)
        return Value(tag, str(value), data=value)

    def _symbolic(self, tag, payload, depth):
        value = self._target.decoder(SymInts).node(self._pointer(payload))
        return Value(tag, str(value), data=value)

    def _bool(self, tag, payload, depth):
        value = self._memory.u8(payload)
        if value > 1:
            raise Implausible(f"no Bool: {value}")
        return Value(tag, "True" if value else "False", data=bool(value))

    def _tuple_value(self, tag, payload, depth):
        layout = self._target.layout
        if self._tuple is None:
            record, elements = (
                layout.record("c10::ivalue::Tuple"),
                layout.record("c10::ivalue::TupleElements"),
            )
            self._tuple = (
                record["elements_"],
                elements["inlineSize_"],
                elements["elementsInline_"],
                elements["elementsVector_"],
            )
        members, size, inline, vector = self._tuple
        place = self._pointer(payload) + members
        count = self._memory.u64(place + size)
        if count == 0:
            first, count = self._target.cxx.vector(place + vector, SIZE)
        elif count <= 3:
            first = place + inline
        else:
            raise Implausible(f"no tuple at 0x{place:x}: {count} inline elements")
        value = self.many(tag, first, count, depth, "(", ")", ",")
        value.type = self._tuple_name(payload)
        return value

    def _tuple_name(self, payload):
        """The name of a named tuple's class, or None."""
        record = self._target.layout.record("c10::ivalue::Tuple")
        kind = self._memory.pointer(self._memory.pointer(payload) + record["type_"])
        return self._target.decoder(TypeNames).class_name(kind) if kind else None

    def _string(self, tag, payload, depth):
        place = self._pointer(payload) + self._target.layout.record("c10::ivalue::ConstantString")["str_"]
        _, length = self._target.cxx.string_place(place)
        limit = self._target.limits.max_string or length
        raw = self._target.cxx.string(place, limit)
        text = raw.decode("utf-8", "backslashreplace")
        if len(raw) < length:
            text += f"... {length - len(raw)} more bytes"
        return Value(tag, text, data=text, total=length)

    def _blob(self, tag, payload, depth):
        return Value(tag, "Blob", data={"pointer": f"0x{self._pointer(payload):x}"})

    def _list(self, tag, payload, depth):
        pointer, record = self._pointer(payload), self._target.layout.record("c10::detail::ListImpl")
        first, count = self._target.cxx.vector(pointer + record["list"], SIZE)
        value = self.many(tag, first, count, depth)
        value.type = "List[{}]".format(self._type(pointer + record["elementType"]))
        return value

    def _dict(self, tag, payload, depth):
        target, memory, pointer = self._target, self._memory, self._pointer(payload)
        record = target.layout.record("c10::detail::DictImpl")
        table, entry = target.layout.record("dualdbg::DictTable"), target.layout.record("dualdbg::DictEntry")
        types = target.layout.record("c10::detail::DictImpl::DictElementTypes")
        place = pointer + record["dict"]
        count = memory.u64(place + table["num_elements"])
        sentinel = memory.pointer(place + table["sentinel"])
        node, pairs = memory.pointer(sentinel + entry["next"]), []
        while node != sentinel and len(pairs) < target.budget.shown(count):
            key = node + entry["value"]
            pairs.append((self.read(key, depth + 1), self.read(key + SIZE, depth + 1)))
            node = memory.pointer(node + entry["next"])
        if len(pairs) < count and node == sentinel:
            raise Implausible(f"no dict at 0x{pointer:x}")
        text = join([f"{k.text}: {v.text}" for k, v in pairs], len(pairs), count, "{", "}")
        value = Value(tag, text, children=[(k.text, v) for k, v in pairs], total=count)
        elements = pointer + record["elementTypes"]
        value.type = "Dict[{}, {}]".format(
            self._type(elements + types["keyType"]), self._type(elements + types["valueType"])
        )
        return value

    def _future(self, tag, payload, depth):
        pointer, record = self._pointer(payload), self._target.layout.record("c10::ivalue::Future")
        completed = bool(self._memory.u8(pointer + record["completed_"]))
        failed = bool(self._memory.pointer(pointer + record["eptr_"]))
        state = "failed" if failed else "completed" if completed else "pending"
        children = []
        if completed and not failed:
            children.append(("value", self.read(pointer + record["value_"], depth + 1)))
        kind = "Future[{}]".format(self._type(pointer + record["type_"]))
        return Value(tag, "Future", data={"state": state}, children=children, type=kind)

    def _await(self, tag, payload, depth):
        pointer, record = self._pointer(payload), self._target.layout.record("c10::ivalue::Await")
        completed = bool(self._memory.u8(pointer + record["completed_"]))
        first, count = self._target.cxx.vector(pointer + record["args_"], SIZE)
        children = [("args", self.many("Tuple", first, count, depth))]
        if completed:
            children.append(("value", self.read(pointer + record["value_"], depth + 1)))
        kind = "Await[{}]".format(self._type(pointer + record["elType_"]))
        return Value(
            tag,
            "Await",
            data={"state": "completed" if completed else "pending"},
            children=children,
            type=kind,
        )

    def _device(self, tag, payload, depth):
        text = self._target.decoder(Tensors).device_name(payload)
        return Value(tag, text, data=text)

    def _stream(self, tag, payload, depth):
        pointer = self._pointer(payload) + self._target.layout.record("c10::ivalue::StreamData3Holder")["val"]
        record = self._target.layout.record("c10::StreamData3")
        number = self._memory.i64(pointer + record["stream_id"])
        index, kind = (
            self._memory.i8(pointer + record["device_index"]),
            self._memory.i8(pointer + record["device_type"]),
        )
        device = self._target.decoder(Tensors).format_device(kind, index)
        return Value(tag, f"stream {number} on device {device}", data={"id": number, "device": device})

    def _object(self, tag, payload, depth):
        target, pointer = self._target, self._pointer(payload)
        record, names = target.layout.record("c10::ivalue::Object"), target.decoder(TypeNames)
        holder = pointer + record["type_"]
        kind = self._memory.pointer(holder + target.layout.record("c10::WeakOrStrongTypePtr")["type_"])
        first, count = target.cxx.vector(pointer + record["slots_"], SIZE)
        attributes = names.attribute_names(kind, target.budget.shown(count))
        values = self.elements(first, count, depth + 1)
        children = [(attributes[i] if i < len(attributes) else f"[{i}]", v) for i, v in enumerate(values)]
        name = names.class_name(kind) or "?"
        return Value(tag, f"<{name} object at 0x{pointer:x}>", children=children, total=count, type=name)

    def _py_object(self, tag, payload, depth):
        pointer = self._pointer(payload)
        holder = self._target.rtti.name(pointer)
        if not holder.endswith("::ConcretePyObjectHolder"):
            return Value(tag, f"<PyObject in a {holder}>")
        obj = self._memory.pointer(
            pointer + self._target.layout.record("dualdbg::ConcretePyObjectHolder")["py_obj_"]
        )
        found = self._target.decoder(Objects).leaf(obj)
        return Value(tag, f"<PyObject at 0x{obj:x}>", children=[("object", found)], type=found.type)

    def _uninitialized(self, tag, payload, depth):
        return Value(tag, "Uninitialized")

    def _opaque(self, tag, payload, depth):
        pointer = self._memory.pointer(payload)
        if not pointer or self._is_null(pointer):
            return Value(tag, tag, data={"null": True})
        return Value(tag, tag, data={"pointer": f"0x{pointer:x}"}, type=self._class(pointer))

    def _class(self, pointer):
        try:
            return self._target.rtti.name(pointer)
        except Implausible:
            return None

    def _generator(self, tag, payload, depth):
        pointer = self._pointer(payload)
        place = pointer + self._target.layout.record("c10::GeneratorImpl")["device_"]
        device = self._target.decoder(Tensors).device_name(place)
        return Value(tag, "Generator", data={"device": device}, type=self._class(pointer))

    def _enum(self, tag, payload, depth):
        pointer, record = self._pointer(payload), self._target.layout.record("c10::ivalue::EnumHolder")
        name = self._target.cxx.text(pointer + record["name_"])
        kind = (
            self._target.decoder(TypeNames).class_name(self._memory.pointer(pointer + record["type_"])) or "?"
        )
        value = self.read(pointer + record["value_"], depth + 1)
        return Value(
            tag, "Enum<{}.{}>".format(kind.rsplit(".", 1)[-1], name), children=[("value", value)], type=kind
        )

    def _pointer(self, payload):
        """The object that an intrusive pointer in the payload points to; raises :class:`Implausible` when null."""
        pointer = self._memory.pointer(payload)
        self._target.rtti.mangled(pointer)
        if self._is_null(pointer):
            raise Implausible("a null pointer")
        return pointer

    def _is_null(self, pointer):
        """An IValue's null is the address of the one undefined tensor (ATen/core/ivalue.h)."""
        try:
            return self._target.rtti.mangled(pointer) == _UNDEFINED
        except (Implausible, Unreadable):
            return False

    def _type(self, place):
        return self._target.decoder(TypeNames).text(self._memory.pointer(place))


class BriefIValues(IValues):
    """The same in one line: of a tensor its type, shape and device, without its numbers."""

    def _tensor(self, tag, payload, depth):
        value = super()._tensor(tag, payload, depth)
        summary = value.data["summary"]
        value.text = summary if summary.startswith("undefined") else f"Tensor {summary}"
        return value


_CONTAINERS = {"Tuple", "GenericList", "GenericDict", "Object", "Future", "Await", "Enum", "PyObject"}
_POINTERS = _CONTAINERS | {
    "ComplexDouble",
    "SymInt",
    "SymFloat",
    "SymBool",
    "String",
    "Blob",
    "Stream",
    "Storage",
    "Generator",
}


def _json_number(value):
    """A float for JSON, which has no NaN and no infinities: those as text."""
    return value if math.isfinite(value) else str(value)
