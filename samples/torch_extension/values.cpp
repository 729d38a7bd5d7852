// IValues of every tag that a process without a graphics card can make, to be read by a debugger.
//
// To add one: a line in sample_values(). Its printed form, what IValue::dump() says, comes by itself.
#include <complex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/blob.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_type.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <ATen/core/rref_interface.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/quantized/Quantizer.h>
#include <c10/core/SymNodeImpl.h>
#include <torch/custom_class.h>
#include <torch/library.h>

namespace sample {

struct NamedValue {
    std::string name;
    c10::IValue value;
};

// A size that is only known by its name, as tracing makes them.
class SymbolicNumber : public c10::SymNodeImpl {
public:
    explicit SymbolicNumber(std::string name) : name_(std::move(name)) {}
    bool is_int() override { return name_[0] == 'i'; }
    bool is_float() override { return name_[0] == 'f'; }
    bool is_bool() override { return name_[0] == 'b'; }
    std::string str() override { return name_; }

private:
    std::string name_;
};

c10::SymNode symbolic(const char* name) { return c10::make_intrusive<SymbolicNumber>(name); }

// Held by an IValue of tag Object, in a slot of tag Capsule.
struct Counter : torch::CustomClassHolder {
    explicit Counter(int64_t start) : count(start) {}
    int64_t next() { return ++count; }
    int64_t count;
};

// A reference to a value of another process, as torch.distributed.rpc makes them.
struct RemoteReference : c10::RRefInterface {
    c10::worker_id_t owner() const override { return 1; }
    std::string ownerName() const override { return "worker1"; }
    bool isOwner() const override { return false; }
    bool confirmedByOwner() const override { return true; }
    const c10::TypePtr type() const override { return c10::IntType::get(); }
};

c10::IValue remote_reference() {
    return c10::IValue(c10::intrusive_ptr<c10::RRefInterface>(c10::make_intrusive<RemoteReference>()));
}

c10::IValue enum_value() {
    c10::EnumTypePtr type = c10::EnumType::create(
        c10::QualifiedName("__torch__.sample.Color"), c10::IntType::get(), {{"RED", 1}, {"GREEN", 2}}, {});
    return c10::IValue(c10::make_intrusive<c10::ivalue::EnumHolder>(type, "GREEN", c10::IValue(2)));
}

c10::IValue future_value() {
    auto future = c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get());
    future->markCompleted(c10::IValue(7));
    return future;
}

std::vector<NamedValue> sample_values() {
    at::Tensor matrix = at::arange(6, at::kFloat).view({2, 3});
    c10::List<int64_t> numbers({1, 2, 3});
    c10::Dict<std::string, int64_t> ages;
    ages.insert("ada", 36);
    ages.insert("alan", 41);
    c10::impl::GenericList mixed(c10::AnyType::get());
    mixed.push_back(c10::IValue(1));
    mixed.push_back(c10::IValue("two"));

    return {
        {"none", c10::IValue()},
        {"tensor", matrix},
        {"undefined_tensor", at::Tensor()},
        {"storage", matrix.storage()},
        {"double", 2.5},
        {"complex_double", c10::complex<double>(1.0, -2.0)},
        {"int", int64_t{-3}},
        {"unsigned", c10::IValue(c10::Scalar(uint64_t{18446744073709551615u}))},
        {"sym_int", c10::SymInt(symbolic("int0"))},
        {"sym_float", c10::SymFloat(symbolic("float0"))},
        {"sym_bool", c10::SymBool(symbolic("bool0"))},
        {"true", true},
        {"false", false},
        {"tuple", c10::ivalue::Tuple::create({c10::IValue(1), c10::IValue("one"), c10::IValue()})},
        {"empty_tuple", c10::ivalue::Tuple::create(std::vector<c10::IValue>{})},
        {"string", "text with \"quotes\" and \xc3\xa9"},
        {"empty_string", ""},
        {"int_list", numbers},
        {"double_list", c10::List<double>({0.5, 1.5})},
        {"bool_list", c10::List<bool>({true, false})},
        {"tensor_list", c10::List<at::Tensor>({matrix, matrix[0]})},
        {"empty_list", c10::List<int64_t>()},
        {"mixed_list", mixed},
        {"dict", ages},
        {"future", future_value()},
        {"await", c10::make_intrusive<c10::ivalue::Await>(c10::IntType::get())},
        {"device", c10::Device(c10::kCUDA, 1)},
        {"stream", c10::Stream(c10::Stream::DEFAULT, c10::Device(c10::kCPU))},
        {"object", c10::make_intrusive<Counter>(5)},
        {"capsule", c10::IValue::make_capsule(c10::make_intrusive<Counter>(9))},
        {"generator", at::detail::createCPUGenerator(42)},
        {"enum", enum_value()},
        {"blob", c10::make_intrusive<caffe2::Blob>()},
        {"remote_reference", remote_reference()},
        {"quantizer", at::make_per_tensor_affine_quantizer(0.5, 3, at::kQInt8)},
        {"uninitialized", c10::IValue::uninitialized()},
    };
}

// The place for a breakpoint: everything is on the stack, in the order of value_names().
__attribute__((noinline)) std::size_t values_ready(torch::jit::Stack& stack) {
    std::size_t count = stack.size();
    return count;
}

int64_t stop_with_values() {
    torch::jit::Stack stack;
    for (NamedValue& named : sample_values()) {
        stack.push_back(std::move(named.value));
    }
    std::size_t count = values_ready(stack);
    return static_cast<int64_t>(count);
}

// Takes one of Python's futures, whose result is a Python object: the only tag that C++ alone does not make.
static void boxed_hold(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    TORCH_CHECK(op.schema().arguments().size() == stack->size());
    stack->clear();
}

std::vector<std::string> value_names() {
    std::vector<std::string> names;
    for (const NamedValue& named : sample_values()) {
        names.push_back(named.name);
    }
    return names;
}

std::vector<std::string> value_tags() {
    std::vector<std::string> tags;
    for (const NamedValue& named : sample_values()) {
        tags.push_back(named.value.tagKind());
    }
    return tags;
}

// What IValue::dump() writes; "error: ..." where PyTorch itself cannot print the value.
std::vector<std::string> value_texts() {
    std::vector<std::string> texts;
    for (const NamedValue& named : sample_values()) {
        std::ostringstream text;
        try {
            text << named.value;
            texts.push_back(text.str());
        } catch (const c10::Error& error) {
            texts.push_back("error: " + std::string(error.what_without_backtrace()));
        }
    }
    return texts;
}

}  // namespace sample

TORCH_LIBRARY_FRAGMENT(sample, m) {
    m.class_<sample::Counter>("Counter")
        .def(torch::init<int64_t>())
        .def("next", &sample::Counter::next);
    m.def("stop_with_values", &sample::stop_with_values);
    m.def("hold(Future(t) future) -> ()", torch::CppFunction::makeFromBoxedFunction<&sample::boxed_hold>());
    m.def("value_names", &sample::value_names);
    m.def("value_tags", &sample::value_tags);
    m.def("value_texts", &sample::value_texts);
}
