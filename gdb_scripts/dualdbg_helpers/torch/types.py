"""TorchScript's types as text: as annotations (``Type::annotation_str``) and as schemas have them (``Type::str``)."""

from ..errors import HelperError, Implausible, Unreadable

_SIMPLE = {
    # TypeKind: (annotation, in a schema); aten/src/ATen/core/type.cpp, jit_type.h
    "AnyType": ("Any", "Any"),
    "AnyEnumType": ("AnyEnumType", "AnyEnumType"),
    "TensorType": ("Tensor", "Tensor"),
    "StorageType": ("Storage", "Storage"),
    "NumberType": ("number", "Scalar"),
    "FloatType": ("float", "float"),
    "ComplexType": ("complex", "complex"),
    "IntType": ("int", "int"),
    "NoneType": ("NoneType", "NoneType"),
    "StringType": ("str", "str"),
    "GeneratorType": ("Generator", "Generator"),
    "QuantizerType": ("Quantizer", "Quantizer"),
    "BoolType": ("bool", "bool"),
    "DeviceObjType": ("Device", "Device"),
    "StreamObjType": ("Stream", "Stream"),
    "PyObjectType": ("PyObject", "PyObject"),
    "CapsuleType": ("Capsule", "Capsule"),
    "QSchemeType": ("QScheme", "QScheme"),
    "ScalarTypeType": ("int", "ScalarType"),
    "LayoutType": ("int", "Layout"),
    "MemoryFormatType": ("int", "MemoryFormat"),
    "AnyListType": ("list", "list"),
    "AnyTupleType": ("tuple", "tuple"),
    "AnyClassType": ("AnyClassType", "AnyClassType"),
    "SymIntType": ("int", "SymInt"),
    "SymFloatType": ("float", "SymFloat"),
    "SymBoolType": ("bool", "SymBool"),
    "FunctionType": ("Function", "Function"),
}
_WRAPPERS = {
    # TypeKind: (record, member with the element type, annotation, in a schema)
    "ListType": ("c10::ListType", "elem", "List[{}]", "{}[]"),
    "OptionalType": ("c10::OptionalType", "contained_", "Optional[{}]", "{}?"),
    "FutureType": ("c10::FutureType", "elem", "Future[{}]", "Future({})"),
    "AwaitType": ("c10::AwaitType", "elem", "Await[{}]", "Await({})"),
    "RRefType": ("c10::RRefType", "elem", "RRef[{}]", "RRef({})"),
}
_SEVERAL = {
    # TypeKind: (record, member with the vector of types, annotation, in a schema)
    "DictType": ("c10::DictType", "types", "Dict[{}]", "Dict({})"),
    "TupleType": ("c10::TupleType", "elements_", "Tuple[{}]", "({})"),
    "UnionType": ("c10::UnionType", "types_", "Union[{}]", "Union({})"),
}
_NAMED = ("ClassType", "InterfaceType", "EnumType")
ANNOTATION, SCHEMA = 0, 1
"""The two ways to write a type."""
MAX_DEPTH = 20
MAX_PARTS = 100


class TypeNames:
    """Writes ``c10::Type`` objects of one target."""

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

    def text(self, address, style=ANNOTATION):
        """The type at ``address``; what cannot be read is marked."""
        key = (address, style)
        if key not in self._known:
            try:
                self._known[key] = self._text(address, style, 0)
            except Unreadable as error:
                return str(error)
            except (Implausible, HelperError) as error:
                return f"<{error}>"
        return self._known[key]

    def _text(self, address, style, depth):
        kind = self.kind(address)
        if depth > MAX_DEPTH:
            return "..."
        if kind in _SIMPLE:
            return _SIMPLE[kind][style]
        if kind in _WRAPPERS:
            return _WRAPPERS[kind][2 + style].format(
                self._text(self.element(address, kind), style, depth + 1)
            )
        if kind in _SEVERAL:
            return self._several(address, kind, style, depth)
        if kind == "VarType":
            return self._target.cxx.text(address + self._target.layout.record("c10::VarType")["name_"], 200)
        if kind in _NAMED:
            name = self._qualified(address) or kind
            return f"{kind}<{name}>" if style == SCHEMA and kind != "ClassType" else name
        return kind

    def element(self, address, kind):
        """The address of the one type inside a list, an optional, a future..."""
        record, member = _WRAPPERS[kind][:2]
        return self._memory.pointer(address + self._target.layout.record(record)[member])

    def elements(self, address, kind):
        """Addresses of the types inside a tuple, a dict or a union."""
        record, member = _SEVERAL[kind][:2]
        first, count = self._target.cxx.vector(address + self._target.layout.record(record)[member], 16)
        return [self._memory.pointer(first + 16 * i) for i in range(min(count, MAX_PARTS))]

    def _several(self, address, kind, style, depth):
        if kind == "TupleType" and self._memory.pointer(
            address + self._target.layout.record("c10::TupleType")["schema_"]
        ):
            name = self._qualified(address)
            if name:
                return name
        parts = [self._text(part, style, depth + 1) for part in self.elements(address, kind)]
        if kind == "UnionType":
            parts.sort()
        if kind == "TupleType" and not parts and style == ANNOTATION:
            parts = ["()"]
        return _SEVERAL[kind][2 + style].format(", ".join(parts))

    def _qualified(self, address):
        """The qualified name of a named type, or None."""
        layout = self._target.layout
        named, name = layout.record("c10::NamedType"), layout.record("c10::QualifiedName")
        place = self._target.cxx.optional(address + named["name_"], name.size)
        return self._target.cxx.text(place + name["qualifiedName_"], 1000) if place else None

    def class_name(self, address):
        """The qualified name of the named type at ``address``; None when it has none or is of another kind."""
        try:
            if self.kind(address) in (*_NAMED, "TupleType", "FunctionType"):
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
