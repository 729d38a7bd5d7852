"""TorchScript's types as text, as TorchScript writes them (``Type::annotation_str``)."""

from ..errors import HelperError, Implausible, Unreadable

_SIMPLE = {
    # TypeKind: annotation (aten/src/ATen/core/type.cpp, jit_type.h)
    "AnyType": "Any",
    "AnyEnumType": "AnyEnumType",
    "TensorType": "Tensor",
    "StorageType": "Storage",
    "NumberType": "number",
    "FloatType": "float",
    "ComplexType": "complex",
    "IntType": "int",
    "NoneType": "NoneType",
    "StringType": "str",
    "GeneratorType": "Generator",
    "QuantizerType": "Quantizer",
    "BoolType": "bool",
    "DeviceObjType": "Device",
    "StreamObjType": "Stream",
    "PyObjectType": "PyObject",
    "CapsuleType": "Capsule",
    "QSchemeType": "QScheme",
    "ScalarTypeType": "int",
    "LayoutType": "int",
    "MemoryFormatType": "int",
    "AnyListType": "list",
    "AnyTupleType": "tuple",
    "AnyClassType": "AnyClassType",
    "SymIntType": "int",
    "SymFloatType": "float",
    "SymBoolType": "bool",
}
_WRAPPERS = {
    # TypeKind: (record, member with the element type, format)
    "ListType": ("c10::ListType", "elem", "List[{}]"),
    "OptionalType": ("c10::OptionalType", "contained_", "Optional[{}]"),
    "FutureType": ("c10::FutureType", "elem", "Future[{}]"),
    "AwaitType": ("c10::AwaitType", "elem", "Await[{}]"),
    "RRefType": ("c10::RRefType", "elem", "RRef[{}]"),
}
_NAMED = ("ClassType", "InterfaceType", "EnumType", "FunctionType")
MAX_DEPTH = 20
MAX_PARTS = 100


class TypeNames:
    """Writes ``c10::Type`` objects of one target. ``simple`` gives other words for some kinds (see schemas)."""

    def __init__(self, target):
        self._target = target
        self._memory = target.memory
        self._kinds = target.layout.enum("c10::TypeKind")
        self._kind = target.layout.record("c10::Type")["kind_"]
        self._known = {}

    def kind(self, address):
        """The ``TypeKind`` of the type at ``address``; raises :class:`Implausible` when there is none."""
        if not address:
            raise Implausible("a null type")
        if not self._target.rtti.is_a(address, "N3c104TypeE"):
            raise Implausible(f"no type at 0x{address:x}")
        number = self._memory.u32(address + self._kind)
        name = self._kinds.get(number)
        if name is None:
            raise Implausible(f"no type at 0x{address:x}: kind {number}")
        return name

    def text(self, address, words=None):
        """The type at ``address``; what cannot be read is marked. ``words`` replaces texts of simple kinds."""
        key = (address, id(words))
        if key not in self._known:
            try:
                self._known[key] = self._text(address, words or {}, 0)
            except (Implausible, Unreadable, HelperError) as error:
                return f"<{error}>" if not isinstance(error, Unreadable) else str(error)
        return self._known[key]

    def _text(self, address, words, depth):
        kind, memory, layout = self.kind(address), self._memory, self._target.layout
        if depth > MAX_DEPTH:
            return "..."
        if kind in words:
            return words[kind]
        if kind in _WRAPPERS:
            record, member, form = _WRAPPERS[kind]
            form = words.get(form, form)
            return form.format(
                self._text(memory.pointer(address + layout.record(record)[member]), words, depth + 1)
            )
        if kind == "DictType":
            parts = self._parts(address + layout.record("c10::DictType")["types"], words, depth)
            return (
                "Dict[{}]".format(", ".join(parts)) if "Dict" not in words else words["Dict"].format(*parts)
            )
        if kind == "TupleType":
            return self._tuple(address, words, depth)
        if kind == "UnionType":
            parts = self._parts(address + layout.record("c10::UnionType")["types_"], words, depth)
            return "Union[{}]".format(", ".join(sorted(parts)))
        if kind == "VarType":
            return self._target.cxx.text(address + layout.record("c10::VarType")["name_"], 200)
        if kind in _NAMED:
            return self._qualified(address) or kind
        return _SIMPLE.get(kind, kind)

    def _parts(self, place, words, depth):
        first, count = self._target.cxx.vector(place, 16)
        return [
            self._text(self._memory.pointer(first + 16 * i), words, depth + 1)
            for i in range(min(count, MAX_PARTS))
        ]

    def _tuple(self, address, words, depth):
        record = self._target.layout.record("c10::TupleType")
        if self._memory.pointer(address + record["schema_"]):
            name = self._qualified(address)
            if name:
                return name
        parts = self._parts(address + record["elements_"], words, depth)
        if "Tuple" in words:
            return words["Tuple"].format(", ".join(parts))
        return "Tuple[{}]".format(", ".join(parts) if parts else "()")

    def _qualified(self, address):
        """The qualified name of a named type, or None."""
        layout = self._target.layout
        named, name = layout.record("c10::NamedType"), layout.record("c10::QualifiedName")
        place = self._target.cxx.optional(address + named["name_"], name.size)
        return self._target.cxx.text(place + name["qualifiedName_"], 1000) if place else None

    def class_name(self, address):
        """The qualified name of the named type at ``address``; None when it has none or is of another kind."""
        try:
            if self.kind(address) in (*_NAMED, "TupleType"):
                return self._qualified(address)
        except (Implausible, Unreadable):
            return None
        return None

    def attribute_names(self, address, limit):
        """Names of up to ``limit`` attributes of the class type at ``address``, in the order of an object's slots."""
        if self.kind(address) != "ClassType":
            return []
        layout = self._target.layout
        record, attribute = layout.record("c10::ClassType"), layout.record("c10::ClassAttribute")
        first, count = self._target.cxx.vector(address + record["attributes_"], attribute.size)
        place = attribute["attributeName_"]
        return [
            self._target.cxx.text(first + i * attribute.size + place, 200) for i in range(min(count, limit))
        ]
