"""Whether a layout fits the running library: objects that every PyTorch process has, with known contents.

``c10::UndefinedTensorImpl::_singleton`` is a tensor of which every member is known; the names of the
element types in ``caffe2::TypeMeta`` check the numbers of ``c10::ScalarType``; the dispatcher's list of operators
checks schemas, strings and types.
"""

from __future__ import annotations

from dualdbg_shared.libraries import C10

from ..errors import HelperError, Implausible, LayoutMissing, Unreadable
from ..torch.dispatch import DispatchKeys
from ..torch.schema import dispatcher_of
from . import element_types
from .model import Chain

_UNDEFINED = "_ZN3c1019UndefinedTensorImpl10_singletonE"
_UNDEFINED_RTTI = "N3c1019UndefinedTensorImplE"


class _Misfit(Exception):
    """A check failed; ``str`` says which."""


def problem_of(layout, before, make_target):
    """Why ``layout`` is not to be believed, or None. Only what ``layout`` itself describes is checked."""
    target = make_target(Chain([layout, *before]))
    for check, needs in _CHECKS:
        if any(layout.find(name) for name in needs):
            try:
                check(target)
            except _Misfit as error:
                return str(error)
            except (Implausible, Unreadable, LayoutMissing) as error:
                return "{} does not fit: {}".format((check.__doc__ or "").strip().rstrip("."), error)
            except HelperError as error:
                return error.message
    return None


def _expect(condition, what):
    if not condition:
        raise _Misfit(f"it does not fit this process ({what})")


def _undefined_tensor(target):
    """The undefined tensor."""
    address = target.mappings.address_of(_UNDEFINED, C10)
    if address is None:
        return
    layout, memory = target.layout, target.memory
    impl, sizes = layout.get("c10::TensorImpl"), layout.get("c10::impl::SizesAndStrides")
    if impl is None or sizes is None:
        return
    _expect(target.rtti.mangled(address) == _UNDEFINED_RTTI, "the undefined tensor has another class")
    numbers = layout.enum("c10::ScalarType")
    _expect(
        numbers.get(memory.u16(address + impl["data_type_"])) == "Undefined", "dtype of the undefined tensor"
    )
    functions, backends = DispatchKeys(target).functionality(memory.u64(address + impl["key_set_"]))
    _expect(
        functions <= {"ADInplaceOrView", "AutogradOther"} and not backends,
        "dispatch keys of the undefined tensor",
    )
    _expect(memory.u64(address + impl["storage_"]) == 0, "storage of the undefined tensor")
    _expect(memory.i64(address + impl["storage_offset_"]) == 0, "offset of the undefined tensor")
    place = address + impl["sizes_and_strides_"]
    dimensions = memory.u64(place + sizes["size_"])
    _expect(dimensions == 1, "number of dimensions of the undefined tensor")
    inline = memory.words(place + sizes["inlineStorage_"], sizes.sizes["inlineStorage_"] // 8)
    _expect(inline[0] == 0 and inline[len(inline) // 2] == 1, "sizes and strides of the undefined tensor")
    _expect(memory.i64(address + impl["numel_"]) == 0, "number of elements of the undefined tensor")
    _expect(impl.bit(memory, address, "is_contiguous_") in (0, 1), "flags of the undefined tensor")


def _element_types(target):
    """The numbers of the element types."""
    try:
        names = target.layout.enum("c10::ScalarType")
    except LayoutMissing:  # debug info of an extension may not have it: the next source tells
        return
    for name, number in (element_types.numbers(target, set(names.values())) or {}).items():
        _expect(names.get(number, name) == name, f"number of the element type {name}")


def _operators(target):
    """The list of operators."""
    address = dispatcher_of(target)
    names = ("c10::Dispatcher", "c10::Dispatcher::OperatorDef", "c10::impl::OperatorEntry")
    if address is None or any(target.layout.get(name) is None for name in names):
        return
    if not target.memory.pointer(address):  # the library is mapped, but its initialisers have not run yet
        return
    dispatcher, definition, entry = (target.layout.record(name) for name in names)
    operators = address + dispatcher["operators_"]
    nodes = target.cxx.list_nodes(operators, 50)
    for place in nodes:
        name = target.cxx.text(place + definition["op"] + entry["name_"], 200)
        _expect("::" in name and name.isprintable(), "names of operators")
        _expect(
            0 < target.memory.u64(place + definition["def_and_impl_count"]) < 10000, "counts of operators"
        )
    schema = target.layout.get("c10::FunctionSchema")
    if nodes and schema is not None and target.layout.get("c10::Argument") is not None:
        _schemas(target, nodes, definition["op"] + entry["schema_"], schema)


def _schemas(target, nodes, offset, schema):
    argument = target.layout.record("c10::Argument")
    annotated = target.layout.record("c10::impl::AnnotatedSchema")
    for place in nodes:
        found = target.cxx.optional(place + offset, annotated.size)
        if found is None:
            continue
        first, count = target.cxx.vector(found + annotated["schema"] + schema["arguments_"], argument.size)
        for i in range(min(count, 20)):
            name = target.cxx.text(first + i * argument.size + argument["name_"], 200)
            _expect(name.isidentifier() or not name, "names of arguments")
            default = target.cxx.optional(first + i * argument.size + argument["default_value_"], 16)
            if default and target.layout.get("c10::IValue") is not None:
                tag = memory_tag(target, default)
                _expect(tag in _DEFAULT_TAGS, "default values of arguments")


# What the default value of an operator's argument can be.
_DEFAULT_TAGS = {
    "None",
    "Int",
    "Double",
    "ComplexDouble",
    "Bool",
    "String",
    "GenericList",
    "Device",
    "Tuple",
    "Tensor",
}


def memory_tag(target, address):
    """The name of the tag of the IValue at ``address``, or None."""
    number = target.memory.u32(address + target.layout.record("c10::IValue")["tag"])
    return target.layout.enum("c10::IValue::Tag").get(number)


_CHECKS = (
    # (check, the types of which at least one must come from the layout that is checked)
    (_undefined_tensor, ("c10::TensorImpl", "c10::impl::SizesAndStrides", "c10::ScalarType")),
    (_element_types, ("caffe2::detail::TypeMetaData",)),
    (
        _operators,
        ("c10::Dispatcher", "c10::FunctionSchema", "c10::Argument", "c10::IValue", "c10::IValue::Tag"),
    ),
)
