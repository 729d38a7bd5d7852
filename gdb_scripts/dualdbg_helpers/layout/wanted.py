"""Which types of PyTorch the decoders need, and the C++ source that makes a compiler describe them.

Records and enums are read by name from the process's own debug info, or from an object that is
compiled from :func:`source`; the tables under ``tables/`` are made from that object too.
"""

from collections import namedtuple

Part = namedtuple("Part", "headers mirrors records enums stand_ins", defaults=({},))
"""``stand_ins``: headers, by the path they are included by, that are found in place of those that are not installed."""

CORE = Part(
    headers=(
        "ATen/core/ivalue.h",
        "ATen/core/jit_type.h",
        "ATen/core/class_type.h",
        "ATen/core/enum_type.h",
        "ATen/core/function_schema.h",
        "ATen/core/dispatch/Dispatcher.h",
        "ATen/core/interned_strings_class.h",
        "ATen/SparseTensorImpl.h",
        "ATen/SparseCsrTensorImpl.h",
        "ATen/NestedTensorImpl.h",
        "ATen/FunctionalTensorWrapper.h",
        "ATen/functorch/BatchedTensorImpl.h",
        "ATen/quantized/Quantizer.h",
        "ATen/quantized/QTensorImpl.h",
        "ATen/core/NestedIntSymNodeImpl.h",
        "c10/core/ConstantSymNodeImpl.h",
        "torch/csrc/autograd/variable.h",
        "torch/csrc/autograd/function.h",
        "torch/csrc/autograd/forward_grad.h",
    ),
    # Types that no installed header declares, or whose names differ between compilers.
    mirrors="""
namespace dualdbg {
// torch/csrc/jit/python/python_ivalue.h
struct ConcretePyObjectHolder : c10::ivalue::PyObjectHolder { PyObject* py_obj_; };
// torch/csrc/utils/python_symnode.h
struct PythonSymNodeImpl : c10::SymNodeImpl { std::shared_ptr<c10::SafePyObject> pyobj_; };
// ATen/functorch/TensorWrapper.h
struct TensorWrapper : c10::TensorImpl {
    at::Tensor value_; int64_t level_; bool is_immutable_; std::shared_ptr<bool> is_alive_;
};
// c10/util/order_preserving_flat_hash_map.h
struct DictTable : decltype(c10::detail::DictImpl::dict) {};
struct ConstantSymInt : c10::ConstantSymNodeImpl<int64_t> { using ConstantSymNodeImpl::ConstantSymNodeImpl; };
struct DictEntry : ska_ordered::detailv3::sherwood_v3_entry<std::pair<c10::IValue, c10::IValue>> {};
}
""",
    records=(
        "c10::IValue",
        "c10::intrusive_ptr_target",
        "c10::TensorImpl",
        "c10::StorageImpl",
        "c10::VariableVersion::VersionCounter",
        "c10::impl::SizesAndStrides",
        "c10::ExtraMeta",
        "c10::SymbolicShapeMeta",
        "c10::DataPtr",
        "c10::Device",
        "c10::Scalar",
        "c10::SymInt",
        "c10::ivalue::Tuple",
        "c10::ivalue::TupleElements",
        "c10::detail::ListImpl",
        "c10::detail::DictImpl",
        "c10::detail::DictImpl::DictElementTypes",
        "dualdbg::DictTable",
        "dualdbg::DictEntry",
        "c10::ivalue::ConstantString",
        "c10::ivalue::ComplexHolder",
        "c10::ivalue::StreamData3Holder",
        "c10::StreamData3",
        "c10::ivalue::Future",
        "c10::ivalue::Await",
        "c10::ivalue::Object",
        "c10::WeakOrStrongTypePtr",
        "c10::ivalue::EnumHolder",
        "dualdbg::ConcretePyObjectHolder",
        "dualdbg::PythonSymNodeImpl",
        "dualdbg::ConstantSymInt",
        "c10::NestedIntSymNodeImpl",
        "c10::SafePyObject",
        "caffe2::Blob",
        "c10::GeneratorImpl",
        "at::Quantizer",
        "at::QTensorImpl",
        "at::PerTensorAffineQuantizer",
        "at::PerChannelAffineQuantizer",
        "at::SparseTensorImpl",
        "at::SparseCsrTensorImpl",
        "at::native::NestedTensorImpl",
        "at::functorch::BatchedTensorImpl",
        "at::FunctionalTensorWrapper",
        "dualdbg::TensorWrapper",
        "torch::autograd::AutogradMeta",
        "torch::autograd::DifferentiableViewMeta",
        "torch::autograd::ViewInfo",
        "torch::autograd::Node",
        "torch::autograd::Edge",
        "torch::autograd::ForwardGrad",
        "c10::Type",
        "c10::NamedType",
        "c10::QualifiedName",
        "c10::TensorType",
        "c10::SymbolicShape",
        "c10::Stride",
        "c10::ListType",
        "c10::DictType",
        "c10::TupleType",
        "c10::UnionType",
        "c10::OptionalType",
        "c10::FutureType",
        "c10::AwaitType",
        "c10::RRefType",
        "c10::ClassType",
        "c10::ClassAttribute",
        "c10::EnumType",
        "c10::InterfaceType",
        "c10::DynamicType",
        "c10::VarType",
        "c10::FunctionType",
        "c10::FunctionSchema",
        "c10::OperatorName",
        "c10::Argument",
        "c10::AliasInfo",
        "c10::OperatorHandle",
        "c10::Dispatcher",
        "c10::Dispatcher::OperatorDef",
        "c10::impl::OperatorEntry",
        "c10::impl::AnnotatedSchema",
        "c10::KernelFunction",
        "c10::BoxedKernel",
        "c10::InternedStrings",
        "c10::InternedStrings::SymbolInfo",
        "caffe2::detail::TypeMetaData",
    ),
    enums=(
        "c10::IValue::Tag",
        "c10::Scalar::Tag",
        "c10::ScalarType",
        "c10::DeviceType",
        "c10::Layout",
        "c10::MemoryFormat",
        "c10::QScheme",
        "c10::DispatchKey",
        "c10::BackendComponent",
        "c10::TypeKind",
        "c10::AttributeKind",
        "torch::autograd::CreationMeta",
    ),
)

JIT = Part(
    headers=("torch/csrc/jit/ir/ir.h", "torch/csrc/jit/runtime/interpreter/frame.h"),
    mirrors="""
namespace torch::jit::interpreter { struct Frame; struct CodeImpl; }  // of frame.h, which releases before 2.8 lack
namespace dualdbg {
// torch/csrc/jit/runtime/interpreter.cpp
struct InterpreterStateImpl : c10::intrusive_ptr_target {
  struct { std::mutex mutex_; std::unordered_set<int32_t> warned_nodes_; } warned_nodes_;
  int64_t stack_start_;
  c10::intrusive_ptr<c10::ivalue::Future> future_;
  std::function<void(std::function<void()>)> taskLauncher_;
  std::vector<c10::IValue> registers;
  std::vector<c10::IValue> entered_objects;
  std::vector<torch::jit::interpreter::Frame> frames;
};
}
""",
    records=(
        "dualdbg::InterpreterStateImpl",
        "torch::jit::interpreter::Frame",
        "torch::jit::interpreter::CodeImpl",
        "torch::jit::Instruction",
        "torch::jit::Graph",
        "torch::jit::Block",
        "torch::jit::Node",
        "torch::jit::Value",
        "torch::jit::Use",
        "torch::jit::GraphFunction",
        "torch::jit::Scope",
        "torch::jit::AttributeValue",
        "torch::jit::FloatAttr",
        "torch::jit::FloatsAttr",
        "torch::jit::ComplexAttr",
        "torch::jit::ComplexValsAttr",
        "torch::jit::IntAttr",
        "torch::jit::IntsAttr",
        "torch::jit::StringAttr",
        "torch::jit::StringsAttr",
        "torch::jit::TensorAttr",
        "torch::jit::TensorsAttr",
        "torch::jit::TypeAttr",
        "torch::jit::TypesAttr",
        "torch::jit::IValueAttr",
        "torch::jit::GraphAttr",
        "torch::jit::GraphsAttr",
        "torch::jit::SourceRange",
        "torch::jit::Source",
        "torch::jit::StringCordView",
    ),
    enums=("torch::jit::OpCode", "torch::jit::AttributeKind"),
)

C10D = Part(
    headers=(
        "ATen/ops/cat.h",  # c10d/Utils.hpp calls these
        "ATen/ops/empty.h",
        "ATen/ops/empty_strided.h",
        "torch/csrc/distributed/c10d/ProcessGroup.hpp",
        "c10/core/Event.h",
        "torch/csrc/distributed/c10d/FlightRecorder.hpp",
        "torch/csrc/profiler/combined_traceback.h",
    ),
    mirrors="""
#define USE_C10D_GLOO
#if __has_include(<torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>)
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#endif
namespace dualdbg {
#if __has_include(<torch/csrc/distributed/c10d/FlightRecorderDetail.hpp>)
// That of NCCL has another type of event in it, of which it keeps pointers only.
struct FlightRecorder : c10d::FlightRecorder<c10::Event> {};
struct FlightEntry : c10d::FlightRecorder<c10::Event>::Entry {};
#endif
}
""",
    records=(
        "c10d::ProcessGroup",
        "c10d::Backend",
        "c10d::Work",
        "c10d::ProcessGroupGloo",
        "c10d::ProcessGroupGloo::AsyncWork",
        "dualdbg::FlightRecorder",
        "dualdbg::FlightEntry",
        "torch::CapturedTraceback",
        "torch::CapturedTraceback::PyFrame",
    ),
    enums=("c10d::OpType", "c10d::ProcessGroup::BackendType"),
    # No wheel has gloo's own headers. c10d keeps only pointers to its classes, which are as large whatever they point
    # to; the functions are those that c10d's header overrides or calls.
    stand_ins={
        "gloo/algorithm.h": "",
        "gloo/common/error.h": "",
        "gloo/context.h": """
#include <chrono>
namespace gloo { struct Context { void setTimeout(std::chrono::milliseconds); }; }
""",
        "gloo/rendezvous/store.h": """
#include <chrono>
#include <string>
#include <vector>
namespace gloo::rendezvous {
struct Store {
    virtual ~Store() = default;
    virtual void set(const std::string&, const std::vector<char>&) = 0;
    virtual std::vector<char> get(const std::string&) = 0;
    virtual void wait(const std::vector<std::string>&) = 0;
    virtual void wait(const std::vector<std::string>&, const std::chrono::milliseconds&) = 0;
};
}
""",
        "gloo/transport/device.h": "namespace gloo::transport { struct Device {}; struct UnboundBuffer {}; }\n",
    },
)

PARTS = {"core": CORE, "jit": JIT, "c10d": C10D}

Lacking = namedtuple("Lacking", "first last names reason")
"""Types that the tables of the minor versions ``first`` to ``last`` do not have, and why."""

LACKING = (
    Lacking(
        (2, 6),
        (2, 7),
        (
            "torch::jit::interpreter::Frame",
            "torch::jit::interpreter::CodeImpl",
            "torch::jit::Instruction",
            "torch::jit::GraphFunction",
            "torch::jit::OpCode",
        ),
        "their wheels do not have the header of the interpreter's frames, and the rest is of no use without these",
    ),
    Lacking(
        (2, 6),
        (2, 7),
        ("dualdbg::FlightRecorder", "dualdbg::FlightEntry"),
        "their recorder is compiled for NCCL alone, and has another class",
    ),
)


def names():
    """The names of all types that are wanted."""
    return {name for part in PARTS.values() for name in part.records + part.enums}


def lacking(version):
    """The types that the table of PyTorch ``version`` does not have, each with the reason."""
    minor = tuple(int(number) for number in version.split(".")[:2])
    return {name: row.reason for row in LACKING if row.first <= minor <= row.last for name in row.names}


def part_of(name):
    """Which part describes the type ``name``: "core", "jit", "c10d", or None for a type that is not wanted."""
    for key, part in PARTS.items():
        if name in part.records or name in part.enums:
            return key
    return None


def source(part, leave_out=()):
    """C++ source of which every wanted type is a part; ``leave_out`` names types this PyTorch does not have."""
    # A release may lack a header; the types that it declares are left out then.
    lines = [f"#if __has_include(<{header}>)\n#include <{header}>\n#endif" for header in part.headers]
    lines.append(part.mirrors)
    for i, name in enumerate(part.records + part.enums):
        if name not in leave_out:
            lines.append(f"struct dualdbg_use_{i} {{ {name}* p; }}; dualdbg_use_{i} dualdbg_var_{i};")
    return "\n".join(lines) + "\n"
