"""What autograd knows of a tensor: requires_grad, grad_fn, grad, the base of a view."""

from __future__ import annotations

from ..errors import Implausible, LayoutMissing, Unreadable
from ..python.names import type_name_of

_OWNS = 1


def python_object(target, record, address):
    """The address of the Python object of the ``record`` at ``address``, 0 where Python has none.

    Raises LayoutMissing, Unreadable.
    """
    layout = target.layout.record(record)
    if "pyobj_slot_" not in layout:
        return target.memory.pointer(address + layout["pyobj_"])
    place = address + layout["pyobj_slot_"] + layout.sizes["pyobj_slot_"] - 8
    return target.memory.pointer(place) & ~_OWNS


PLAIN_META = "N5torch8autograd12AutogradMetaE"
VIEW_META = "N5torch8autograd22DifferentiableViewMetaE"
NODE = "N5torch8autograd4NodeE"


class AutogradInfo:
    """What a tensor's ``AutogradMeta`` says.

    ``grad_fn``, ``base``, ``grad`` and ``tangent`` (the forward mode gradient) are addresses, None where there
    is none; ``grad_fn_name`` is as Python shows it. ``stale`` is true when a view was changed in place after
    its ``grad_fn`` was made: Python's ``grad_fn`` would make a new one.
    """

    __slots__ = (
        "base",
        "grad",
        "grad_fn",
        "grad_fn_name",
        "is_view",
        "output_nr",
        "requires_grad",
        "stale",
        "tangent",
    )
    base: int | None
    grad: int | None
    grad_fn: int | None
    grad_fn_name: str | None
    is_view: bool
    output_nr: int
    requires_grad: bool
    stale: bool
    tangent: int | None


class Autograd:
    """Reads ``torch::autograd`` objects of one target."""

    def __init__(self, target):
        self._target = target
        self._meta = target.layout.record("torch::autograd::AutogradMeta")

    def read(self, address, version):
        """The :class:`AutogradInfo` of the ``AutogradMeta`` at ``address`` of a tensor of that ``version``.

        Raises :class:`Implausible`.
        """
        target, memory, record = self._target, self._target.memory, self._meta
        if not target.rtti.is_a(address, PLAIN_META):
            raise Implausible(f"no AutogradMeta at 0x{address:x}")
        found = AutogradInfo()
        found.grad_fn = memory.pointer(address + record["grad_fn_"]) or None
        found.grad_fn_name = self.node_name(found.grad_fn) if found.grad_fn else None
        found.requires_grad = bool(memory.u8(address + record["requires_grad_"])) or found.grad_fn is not None
        found.is_view = bool(memory.u8(address + record["is_view_"]))
        found.output_nr = memory.u32(address + record["output_nr_"])
        found.grad = self._defined(memory.pointer(address + record["grad_"]))
        found.tangent = self._tangent(memory.pointer(address + record["fw_grad_"]))
        found.base = None
        found.stale = False
        if found.is_view and target.rtti.is_a(address, VIEW_META):
            self._view(address, found, version)
        return found

    def _view(self, address, found, version):
        target, memory = self._target, self._target.memory
        record = target.layout.record("torch::autograd::DifferentiableViewMeta")
        info = target.layout.record("torch::autograd::ViewInfo")
        for field in ("backward_info_", "forward_info_"):
            if target.cxx.optional(address + record[field], info.size):
                found.base = self._defined(memory.pointer(address + record[field] + info["base_"]))
                if found.base:
                    break
        backward = target.cxx.optional(address + record["backward_info_"], info.size)
        found.stale = bool(backward) and memory.u32(address + record["attr_version_"]) != version

    def _tangent(self, forward):
        """The tensor that forward mode autograd keeps for the outermost level, or None."""
        if not forward:
            return None
        place = forward + self._target.layout.record("torch::autograd::ForwardGrad")["content_"]
        for entry in self._target.cxx.hash_nodes(place, 16):
            if self._target.memory.u64(entry) == 0:
                return self._defined(self._target.memory.pointer(entry + 8))
        return None

    def _defined(self, impl):
        """``impl``, or None for the address of the one undefined tensor."""
        if not impl or self._target.rtti.mangled(impl) == "N3c1019UndefinedTensorImplE":
            return None
        return impl

    def node_name(self, address):
        """The name of the ``torch::autograd::Node`` at ``address``, as ``type(grad_fn).__name__`` has it."""
        target = self._target
        if not target.rtti.is_a(address, NODE):
            raise Implausible(f"no autograd Node at 0x{address:x}")
        name = target.rtti.name(address)
        if name == "torch::autograd::PyNode":
            try:
                return type_name_of(target, self._function_object(address))
            except (Implausible, LayoutMissing, Unreadable):
                return "PyNode"
        return name.rsplit("::", 1)[-1]

    def _function_object(self, address):
        """The object of the ``torch.autograd.Function`` that the PyNode at ``address`` calls."""
        node = self._target.layout.record("torch::autograd::Node")
        if "pyobj_" in node:  # up to 2.12: PyNode keeps it, in the member behind its base
            return self._target.memory.pointer(address + node.size)
        return python_object(self._target, "torch::autograd::Node", address)

    def next_nodes(self, address, limit):
        """``(name, address, input number)`` of the nodes that the node at ``address`` passes gradients to."""
        target, memory = self._target, self._target.memory
        node, edge = (
            target.layout.record("torch::autograd::Node"),
            target.layout.record("torch::autograd::Edge"),
        )
        first, count = target.cxx.vector(address + node["next_edges_"], edge.size)
        found = []
        for i in range(min(count, limit)):
            place = first + i * edge.size
            function = memory.pointer(place + edge["function"])
            name = self.node_name(function) if function else None
            found.append((name, function or None, memory.u32(place + edge["input_nr"])))
        return found
