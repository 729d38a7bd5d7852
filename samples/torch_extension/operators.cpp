// Custom operators: one with a boxed kernel, one unboxed, and one that reads where it must not.
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/mul.h>
#include <torch/library.h>

namespace sample {

// Boxed: the arguments lie on the stack, the results take their place. Here they are the same.
void boxed_echo(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const c10::FunctionSchema& schema = op.schema();
    std::size_t count = schema.arguments().size();
    TORCH_CHECK(stack->size() >= count, schema.name(), " has too few arguments");
}

at::Tensor scale(const at::Tensor& input, double factor) {
    at::Tensor result = at::mul(input, factor);
    return result;
}

// Reads an element without a look at the size: an index out of range ends in a segmentation fault.
float read_element(const float* data, int64_t index) {
    float element = data[index];
    return element;
}

double read_unchecked(const at::Tensor& values, int64_t index) {
    const float* data = values.const_data_ptr<float>();
    float element = read_element(data, index);
    return element;
}

}  // namespace sample

TORCH_LIBRARY(sample, m) {
    m.def(
        "boxed_echo(Tensor x, int n, float f, bool flag, str label, int[] sizes, Tensor? maybe=None)"
        " -> (Tensor, int, float, bool, str, int[], Tensor?)");
    m.def("scale(Tensor input, float factor) -> Tensor");
    m.def("read_unchecked(Tensor values, int index) -> float");
}

TORCH_LIBRARY_IMPL(sample, CPU, m) {
    m.impl("boxed_echo", torch::CppFunction::makeFromBoxedFunction<&sample::boxed_echo>());
    m.impl("scale", &sample::scale);
    m.impl("read_unchecked", &sample::read_unchecked);
}
