"""TorchScript's graphs, as ``str(graph)`` prints them (torch/csrc/jit/ir/ir.cpp).

One difference: a constant tensor of more than one element is printed by its summary.
"""

from ..errors import HelperError, Implausible, Unreadable
from .ivalue import IValues, format_double
from .schema import quoted
from .symbols import Symbols
from .tensor import Tensors
from .tensor_text import TensorText
from .tensor_values import TensorValues
from .type_text import GraphTypes

MAX_NODES = 100000
_SUBGRAPH = "Subgraph"


class Graphs:
    """Writes graphs, nodes and values of one target."""

    def __init__(self, target):
        self._target = target
        self._memory = target.memory
        layout = target.layout
        self._graph = layout.record("torch::jit::Graph")
        self._block = layout.record("torch::jit::Block")
        self._node = layout.record("torch::jit::Node")
        self._value = layout.record("torch::jit::Value")
        self._symbols = target.decoder(Symbols)
        self._types = target.decoder(GraphTypes)

    def text(self, graph):
        """The ``Graph`` at ``graph``, with its subgraphs behind it."""
        block = self._memory.pointer(graph + self._graph["block_"])
        if not self._target.rtti.is_a(block, "N5torch3jit5BlockE"):
            raise Implausible(f"no graph at 0x{graph:x}")
        inputs = ",\n      ".join(self._typed(value) for value in self._block_inputs(block))
        groups = []
        lines = [f"graph({inputs}):"]
        for node in self.nodes(block):
            lines.extend(self._node_lines(node, 1, groups))
        lines.append(f"  return ({self._names(self._block_outputs(block))})")
        text = "\n".join(lines) + "\n"
        for i, (kind, subgraph) in enumerate(groups):
            text += f"with {kind}_{i} = {self.text(subgraph)}"
        return text

    def node(self, node):
        """The ``Node`` at ``node`` in the form it has in a graph, on one line (blocks on more)."""
        if not self._target.rtti.is_a(node, "N5torch3jit4NodeE"):
            raise Implausible(f"no node at 0x{node:x}")
        return "\n".join(self._node_lines(node, 0, [])).strip("\n")

    def value(self, value):
        """``%x.1 : Tensor`` for the ``Value`` at ``value``."""
        if not self._target.rtti.is_a(value, "N5torch3jit5ValueE"):
            raise Implausible(f"no value at 0x{value:x}")
        return self._typed(value)

    def kind(self, node):
        """``aten::add`` for the ``Node`` at ``node``."""
        return self._symbols.qualified(self._memory.u32(node + self._node["kind_"]))

    def nodes(self, block):
        """Addresses of the nodes of a block, without those that stand for its inputs and outputs."""
        end = self._memory.pointer(block + self._block["output_"])
        node, found = self._memory.pointer(block + self._block["input_"]), []
        while len(found) < MAX_NODES:
            self._target.budget.tick()
            node = self._memory.pointer(node + self._node["next_in_graph"])
            if node == end or not node:
                return found
            found.append(node)
        raise Implausible(f"a block of more than {MAX_NODES} nodes")

    def _block_inputs(self, block):
        return self._pointers(self._memory.pointer(block + self._block["input_"]) + self._node["outputs_"])

    def _block_outputs(self, block):
        return self._pointers(self._memory.pointer(block + self._block["output_"]) + self._node["inputs_"])

    def _pointers(self, vector):
        return self._target.cxx.pointers(vector, MAX_NODES)

    def _name(self, value):
        name = self._target.cxx.text(value + self._value["unique_name_"], 200)
        return "%" + (name or str(self._memory.u64(value + self._value["unique_"])))

    def _names(self, values):
        return ", ".join(self._name(value) for value in values)

    def _typed(self, value):
        return f"{self._name(value)} : {self._types.text(self._memory.pointer(value + self._value['type_']))}"

    def _node_lines(self, node, level, groups):
        indent = "  " * level
        outputs = ", ".join(self._typed(v) for v in self._pointers(node + self._node["outputs_"]))
        inputs = self._names(self._pointers(node + self._node["inputs_"]))
        lines = [f"{indent}{outputs} = {self._kind_text(node, groups)}({inputs}){self._origin(node)}"]
        for i, block in enumerate(self._pointers(node + self._node["blocks_"])):
            block_inputs = ", ".join(self._typed(v) for v in self._block_inputs(block))
            lines.append(f"{indent}  block{i}({block_inputs}):")
            for inner in self.nodes(block):
                lines.extend(self._node_lines(inner, level + 2, groups))
            lines.append(f"{indent}    -> ({self._names(self._block_outputs(block))})")
        return lines

    def _kind_text(self, node, groups):
        kind, attributes = self.kind(node), self._attributes(node)
        subgraph = dict(attributes).get(_SUBGRAPH)
        if subgraph is None:
            shown = ", ".join(f"{name}={self._attribute(place)}" for name, place in attributes)
            return f"{kind}[{shown}]" if attributes else kind
        text = f"{kind}_{len(groups)}"
        rest = [f"{name}={self._attribute(place)}" for name, place in attributes if name != _SUBGRAPH]
        if rest and kind != "prim::DifferentiableGraph":
            text += f"[{', '.join(rest)}]"
        record = self._target.layout.record("torch::jit::GraphAttr")
        groups.append((kind, self._memory.pointer(subgraph + record["value_"])))
        return text

    def _attributes(self, node):
        """``(name, address of the AttributeValue)`` of a node's attributes."""
        record = self._target.layout.record("torch::jit::AttributeValue")
        found = []
        for place in self._pointers(node + self._node["values_"]):
            found.append((self._symbols.unqualified(self._memory.u32(place + record["name"])), place))
        return found

    def _attribute(self, place):
        """The text of one attribute, whose kind its class tells."""
        name = self._target.rtti.name(place)
        for suffix, (record, reader) in _READERS.items():
            if name.endswith(suffix):
                value = place + self._target.layout.record(record)["value_"]
                try:
                    return reader(self, value)
                except (Unreadable, HelperError, Implausible) as error:
                    return f"<{error}>"
        return f"<{name}>"

    def _list(self, value, size, read):
        first, count = self._target.cxx.vector(value, size)
        shown = self._target.budget.shown(count)
        parts = [read(first + i * size) for i in range(shown)]
        return "[{}{}]".format(", ".join(parts), f", ... {count - shown} more" if shown < count else "")

    def _float(self, value):
        return format_double(self._memory.f64(value))

    def _complex(self, value):
        real, imaginary = self._memory.f64(value), self._memory.f64(value + 8)
        sign = "+" if imaginary >= 0 else "-"
        return f"{format_double(real)}{sign}{format_double(abs(imaginary))}j"

    def _int(self, value):
        return str(self._memory.i64(value))

    def _string(self, value):
        return quoted(self._target.cxx.text(value, self._target.limits.max_string or 1 << 20))

    def _tensor(self, value):
        tensor = self._target.decoder(Tensors).read(self._memory.pointer(value))
        if tensor.defined and tensor.numel == 1 and isinstance(tensor.numel, int):
            number = TensorValues(self._target, tensor).flat(1)[0]
            return "{{{}}}".format(f"{number:g}" if isinstance(number, float) else int(number))
        return f"<Tensor {self._target.decoder(TensorText).summary(tensor)}>"

    def _type(self, value):
        return self._types.text(self._memory.pointer(value))

    def _ivalue(self, value):
        return self._target.decoder(IValues).read(value).text

    def _origin(self, node):
        """Scope and source line of a node, as a comment."""
        text, scope = "", self._scope(self._memory.pointer(node + self._node["scope_"]))
        if scope:
            text += ", scope: " + scope
        record = self._target.layout.record("torch::jit::SourceRange")
        place = self._target.cxx.optional(node + self._node["source_range_"], record.size)
        line = self._line(place, record) if place else None
        return text + (f" # {line}" if line else "")

    def _scope(self, scope):
        record, names = self._target.layout.record("torch::jit::Scope"), []
        while scope and len(names) < 100:
            parent = self._memory.pointer(scope + record["parent_"])
            if parent:  # the root has no name
                names.append(self._symbols.unqualified(self._memory.u32(scope + record["name_"])))
            scope = parent
        return "/".join(reversed(names))

    def _line(self, place, record):
        """``file.py:12:4`` of a SourceRange, or None without a file."""
        source = self._memory.pointer(place + record["source_view_"])
        if not source:
            return None
        layout = self._target.layout.record("torch::jit::Source")
        name = self._target.cxx.optional(source + layout["filename_"], self._target.cxx.string_size)
        if name is None:
            return None
        start = self._memory.u64(place + record["start_"])
        first, count = self._target.cxx.vector(source + layout["line_starting_offsets_"], 8)
        offsets = self._memory.words(first, count)
        line = max((i for i, offset in enumerate(offsets) if offset <= start), default=0)
        number = self._memory.u64(source + layout["starting_line_no_"]) + line
        column = start - offsets[line] if offsets else start
        return f"{self._target.cxx.text(name, 1000)}:{number}:{column}"


_READERS = {
    # end of the class name of an AttributeValue: (typedef with its layout, how its value is written)
    "ScalarAttributeValue<double, (torch::jit::AttributeKind)0>": ("torch::jit::FloatAttr", Graphs._float),
    "VectorAttributeValue<double, (torch::jit::AttributeKind)1>": (
        "torch::jit::FloatsAttr",
        lambda graphs, value: graphs._list(value, 8, graphs._float),
    ),
    "ScalarAttributeValue<c10::complex<double>, (torch::jit::AttributeKind)2>": (
        "torch::jit::ComplexAttr",
        Graphs._complex,
    ),
    "VectorAttributeValue<c10::complex<double>, (torch::jit::AttributeKind)3>": (
        "torch::jit::ComplexValsAttr",
        lambda graphs, value: graphs._list(value, 16, graphs._complex),
    ),
    "ScalarAttributeValue<long, (torch::jit::AttributeKind)4>": ("torch::jit::IntAttr", Graphs._int),
    "VectorAttributeValue<long, (torch::jit::AttributeKind)5>": (
        "torch::jit::IntsAttr",
        lambda graphs, value: graphs._list(value, 8, graphs._int),
    ),
    "(torch::jit::AttributeKind)6>": ("torch::jit::StringAttr", Graphs._string),
    "(torch::jit::AttributeKind)7>": (
        "torch::jit::StringsAttr",
        lambda graphs, value: graphs._list(value, graphs._target.cxx.string_size, graphs._string),
    ),
    "ScalarAttributeValue<at::Tensor, (torch::jit::AttributeKind)8>": (
        "torch::jit::TensorAttr",
        Graphs._tensor,
    ),
    "VectorAttributeValue<at::Tensor, (torch::jit::AttributeKind)9>": (
        "torch::jit::TensorsAttr",
        lambda graphs, value: graphs._list(value, 8, graphs._tensor),
    ),
    "torch::jit::GraphAttr": ("torch::jit::GraphAttr", lambda graphs, value: "<Graph>"),
    "torch::jit::GraphsAttr": ("torch::jit::GraphsAttr", lambda graphs, value: "[<Graph>]"),
    "(torch::jit::AttributeKind)12>": ("torch::jit::TypeAttr", Graphs._type),
    "(torch::jit::AttributeKind)13>": (
        "torch::jit::TypesAttr",
        lambda graphs, value: graphs._list(value, 16, graphs._type),
    ),
    "(torch::jit::AttributeKind)14>": ("torch::jit::IValueAttr", Graphs._ivalue),
}
