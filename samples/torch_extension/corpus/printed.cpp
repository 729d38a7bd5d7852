// Local variables of PyTorch's own types, to be printed by a debugger; truth() says how PyTorch prints them.
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/mul.h>
#include <c10/util/OptionalArrayRef.h>
#include <c10/util/SmallVector.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/ir/irparser.h>
#include <torch/csrc/jit/runtime/instruction.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/library.h>

namespace printed {

std::map<std::string, std::string> texts;

template <class T>
void say(const char* name, const T& value) {
    std::ostringstream text;
    text << value;
    texts[name] = text.str();
}

// PyTorch prints an instruction so, but does not export the function that does.
std::string written(const torch::jit::Instruction& instruction) {
    static const std::vector<std::pair<std::string, std::size_t>> operations = {
#define OPERATION(name, operands) {#name, sizeof(operands) - 1},
        FORALL_OPCODES(OPERATION)
#undef OPERATION
    };
    const auto& [name, operands] = operations[instruction.op];
    std::string text = name;
    if (operands > 0) text += " " + std::to_string(instruction.X);
    if (operands > 1) text += " " + std::to_string(instruction.N);
    return text;
}

// The place for a breakpoint: go up one frame.
static __attribute__((noinline)) void locals_ready(const void* any) {
    asm volatile("" : : "r"(any) : "memory");
}

std::vector<std::string> look() {
    at::Tensor tensor = at::arange(3);
    at::TensorBase base = tensor;
    at::Tensor leaf = at::ones({2}).requires_grad_();
    at::Tensor product = at::mul(leaf, leaf);
    c10::TensorImpl* impl = tensor.unsafeGetTensorImpl();
    c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
    c10::intrusive_ptr<c10::TensorImpl> strong = c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(impl);
    c10::weak_intrusive_ptr<c10::TensorImpl> weak(strong);
    std::vector<int64_t> numbers{4, 5, 6};
    c10::ArrayRef<int64_t> array(numbers);
    c10::OptionalArrayRef<int64_t> some(array);
    c10::OptionalArrayRef<int64_t> nothing;
    c10::SmallVector<int64_t, 4> small{7, 8};
    c10::SymInt plain_size(12);
    c10::SymInt negative_size(INT64_MIN);
    c10::Scalar double_scalar(2.5);
    c10::Scalar int_scalar(3);
    c10::Scalar bool_scalar(true);
    c10::Scalar complex_scalar(c10::complex<double>(1, 2));
    c10::ScalarType scalar_type = c10::kHalf;
    c10::Device device(c10::kCUDA, 1);
    c10::Layout layout = c10::Layout::SparseCsr;
    c10::MemoryFormat memory_format = c10::MemoryFormat::ChannelsLast;
    c10::DispatchKey key = c10::DispatchKey::AutogradCPU;
    c10::DispatchKeySet keys = tensor.key_set();
    c10::List<int64_t> list({1, 2});
    c10::Dict<std::string, double> dict;
    dict.insert("half", 0.5);
    c10::QualifiedName qualified("__torch__.package.Name");
    c10::Symbol symbol = c10::Symbol::fromQualString("aten::add");
    c10::Symbol own_symbol = c10::Symbol::fromQualString("mine::never_seen_before");
    c10::TypePtr type = c10::DictType::create(c10::StringType::get(), c10::ListType::ofTensors());
    c10::TypePtr tensor_type = c10::TensorType::create(tensor);
    c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");
    const c10::FunctionSchema& schema = op.schema();
    const c10::Argument& argument = schema.arguments()[2];
    auto graph = std::make_shared<torch::jit::Graph>();
    torch::jit::parseIR("graph(%a : Tensor, %b : int):\n  %c : Tensor = aten::neg(%a)\n  return (%c)", graph.get());
    torch::jit::Graph* graph_pointer = graph.get();
    torch::jit::Node* node = *graph->nodes().begin();
    torch::jit::Value* value = graph->inputs()[1];
    torch::jit::Code code(graph, "sample");
    torch::jit::Instruction instruction(torch::jit::LOADC, 3, 0);
    torch::autograd::Node* grad_fn = torch::autograd::impl::get_autograd_meta(product)->grad_fn_.get();
    torch::autograd::AutogradMeta* meta = torch::autograd::impl::get_autograd_meta(product);
    c10::IValue ivalue(c10::ivalue::Tuple::create({1, "two"}));
    torch::jit::Stack stack{1, 2.5, "three"};

    say("plain_size", plain_size);
    say("negative_size", INT64_MIN);
    say("device", device);
    say("keys", keys);
    say("symbol", symbol.toQualString());
    say("own_symbol", own_symbol.toQualString());
    say("qualified", qualified.qualifiedName());
    say("type", *type);
    say("tensor_type", *tensor_type);
    say("op", schema);
    say("schema", schema);
    say("argument", argument);
    say("graph", *graph);
    say("node", *node);
    say("value", value->debugName());
    say("ivalue", ivalue);
    say("instruction", written(instruction));
    std::string lines;
    for (const torch::jit::Instruction& each : code.instructions()) lines += written(each) + "\n";
    texts["code"] = lines;
    locals_ready(&stack);
    std::vector<std::string> rows;
    for (const auto& [name, text] : texts) {
        rows.push_back(name);
        rows.push_back(text);
    }
    // Everything is still used, so that the debugger finds it alive.
    locals_ready(impl), locals_ready(storage), locals_ready(graph_pointer), locals_ready(grad_fn), locals_ready(meta);
    locals_ready(&base), locals_ready(&some), locals_ready(&nothing), locals_ready(&small), locals_ready(&list);
    locals_ready(&double_scalar), locals_ready(&int_scalar), locals_ready(&bool_scalar), locals_ready(&complex_scalar);
    locals_ready(&scalar_type), locals_ready(&layout), locals_ready(&memory_format), locals_ready(&key);
    return rows;
}

}  // namespace printed

TORCH_LIBRARY(printed, m) {
    m.def("look", &printed::look);
}
