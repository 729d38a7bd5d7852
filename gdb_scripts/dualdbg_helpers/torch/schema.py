"""Operators: their schemas, as PyTorch prints them, and their dispatch tables.

Source of the texts: ``operator<<`` for ``Argument`` (ATen/core/function_schema.h) and for ``FunctionSchema``
(aten/src/ATen/core/function_schema.cpp).
"""

from dualdbg_shared.dispatcher import REFERENCE, SINGLETON
from dualdbg_shared.libraries import TORCH

from ..errors import Implausible
from .ivalue import IValues
from .symbols import Symbols
from .types import SCHEMA, TypeNames

OPERATOR_LIMIT = 100000
MAX_ARGUMENTS = 200

_ESCAPES = {
    "\\": "\\\\",
    "'": "\\'",
    '"': '\\"',
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def quoted(text):
    """``text`` in double quotes, escaped as ``c10::printQuotedString`` does (c10/util/StringUtil.h)."""
    shown = "".join(_ESCAPES.get(c) or (c if " " <= c != "\x7f" else f"\\{ord(c):03o}") for c in text)
    return f'"{shown}"'


class Schemas:
    """Writes ``FunctionSchema`` objects and operators of one target."""

    def __init__(self, target):
        self._target = target
        self._types = target.decoder(TypeNames)
        self._schema = target.layout.record("c10::FunctionSchema")
        self._argument = target.layout.record("c10::Argument")
        self._name = target.layout.record("c10::OperatorName")
        self._alias = target.layout.record("c10::AliasInfo")

    def name(self, address):
        """``aten::add.Tensor`` for the ``OperatorName`` at ``address``."""
        name = self._target.cxx.text(address + self._name["name"], 500)
        overload = self._target.cxx.text(address + self._name["overload_name"], 500)
        return name + ("." + overload if overload else "")

    def text(self, address):
        """The ``FunctionSchema`` at ``address``; raises :class:`Implausible` when there is none."""
        memory, schema = self._target.memory, self._schema
        parts, keyword_only = [], False
        for place in self._arguments(address + schema["arguments_"]):
            if memory.u8(place + self._argument["kwarg_only_"]) and not keyword_only:
                keyword_only = True
                parts.append("*")
            parts.append(self.argument(place))
        if memory.u8(address + schema["is_vararg_"]):
            parts.append("...")
        returns = [self.argument(place) for place in self._arguments(address + schema["returns_"])]
        variable = memory.u8(address + schema["is_varret_"])
        shown = ", ".join(returns + (["..."] if variable else []))
        single = (len(returns) == 1 and not variable) or (not returns and variable)
        if not single or shown.startswith("("):
            shown = f"({shown})"
        return f"{self.name(address + schema['name_'])}({', '.join(parts)}) -> {shown}"

    def _arguments(self, vector):
        first, count = self._target.cxx.vector(vector, self._argument.size)
        if count > MAX_ARGUMENTS:
            raise Implausible(f"no schema: {count} arguments")
        return [first + i * self._argument.size for i in range(count)]

    def argument(self, address):
        """The ``c10::Argument`` at ``address``: ``Tensor(a!)? self=None``."""
        memory, record, types = self._target.memory, self._argument, self._types
        kind_address = memory.pointer(address + record["real_type_"])
        kind = types.kind(kind_address)
        optional = kind == "OptionalType"
        inner = types.element(kind_address, kind) if optional else kind_address
        alias = memory.pointer(address + record["alias_info_"])
        text = self._argument_type(address, inner, alias)
        if alias and self._symbols(alias + self._alias["beforeSets_"]):
            text += self._alias_text(alias)
        text += "?" if optional else ""
        name = self._target.cxx.text(address + record["name_"], 200)
        text += " " + name if name else ""
        default = self._target.cxx.optional(address + record["default_value_"], 16)
        return f"{text}={self._default(default, kind_address, kind, inner)}" if default else text

    def _argument_type(self, address, inner, alias):
        if self._types.kind(inner) != "ListType":
            return self._types.text(inner, SCHEMA)
        text = self._types.text(self._types.element(inner, "ListType"), SCHEMA)
        if alias:
            first, count = self._target.cxx.vector(alias + self._alias["containedTypes_"], self._alias.size)
            if count:
                text += self._alias_text(first)
        size = self._target.cxx.optional(address + self._argument["N_"], 4)
        return f"{text}[{self._target.memory.i32(size) if size else ''}]"

    def _default(self, place, kind_address, kind, inner):
        value = self._target.decoder(IValues).read(place)
        if value.kind == "String" and "StringType" in (kind, self._types.kind(inner)):
            return quoted(value.text)
        integers = (
            kind == "ListType" and self._types.kind(self._types.element(kind_address, kind)) == "IntType"
        )
        if integers and value.children and len({child.text for _, child in value.children}) == 1:
            return value.children[0][1].text if len(value.children) > 1 else value.text
        return value.text

    def _symbols(self, place):
        nodes = self._target.cxx.hash_nodes(place, 20)
        symbols = self._target.decoder(Symbols)
        return [symbols.unqualified(self._target.memory.u32(node)) for node in nodes]

    def _alias_text(self, address):
        before = self._symbols(address + self._alias["beforeSets_"])
        after = self._symbols(address + self._alias["afterSets_"])
        text = "|".join(before) + ("!" if self._target.memory.u8(address + self._alias["isWrite_"]) else "")
        if sorted(before) != sorted(after):
            text += " -> " + "|".join(after)
        return f"({text})"


def dispatcher_of(target):
    """The address of the c10::Dispatcher; None where the libraries were stripped and no operator was registered yet."""
    address = target.mappings.address_of(SINGLETON, TORCH)
    if address is not None:
        return address
    return next(filter(None, map(target.memory.pointer, target.mappings.addresses_of(REFERENCE))), None)


class Operators:
    """Reads operators of the dispatcher of one target."""

    def __init__(self, target):
        self._target = target
        self._definition = target.layout.record("c10::Dispatcher::OperatorDef")
        self._entry = target.layout.record("c10::impl::OperatorEntry")
        self._annotated = target.layout.record("c10::impl::AnnotatedSchema")
        self._schemas = target.decoder(Schemas)

    def all(self):
        """Addresses of all ``OperatorDef`` objects."""
        address = dispatcher_of(self._target)
        if address is None:
            return []
        operators = address + self._target.layout.record("c10::Dispatcher")["operators_"]
        return self._target.cxx.list_nodes(operators, OPERATOR_LIMIT)

    def of_handle(self, address):
        """The ``OperatorDef`` of the ``OperatorHandle`` at ``address``; raises :class:`Implausible`."""
        definition = self._target.memory.pointer(
            address + self._target.layout.record("c10::OperatorHandle")["operatorDef_"]
        )
        name = self.name(definition)
        if "::" not in name or not name.isprintable():
            raise Implausible(f"no operator at 0x{address:x}")
        return definition

    def name(self, definition):
        """``aten::add.Tensor``"""
        return self._schemas.name(definition + self._definition["op"] + self._entry["name_"])

    def schema(self, definition):
        """The schema as text, or None for an operator that has implementations but no schema yet."""
        place = definition + self._definition["op"] + self._entry["schema_"]
        if self._target.cxx.optional(place, self._annotated.size) is None:
            return None
        return self._schemas.text(place + self._annotated["schema"])

    def registered_at(self, definition):
        """Where the schema was registered: "registered at /.../RegisterCPU.cpp:12", or None."""
        place = definition + self._definition["op"] + self._entry["schema_"]
        if self._target.cxx.optional(place, self._annotated.size) is None:
            return None
        return self._target.cxx.text(place + self._annotated["debug"], 1000) or None
