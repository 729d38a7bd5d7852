// IValues by the hundred, extreme and random ones, handed to a boxed kernel; with what PyTorch prints for each.
//
// make(seed, count) fills the stack, truth() says what it holds, stop() hands it to the boxed kernel.
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

namespace corpus {

torch::jit::Stack values;

// Tensors are printed by Python, so the numbers of a random one only need to differ.
at::Tensor random_tensor(std::mt19937& random) {
    static const at::ScalarType types[] = {at::kFloat, at::kDouble, at::kLong, at::kInt, at::kBool, at::kHalf,
                                           at::kBFloat16, at::kComplexFloat, at::kByte};
    std::vector<int64_t> sizes;
    for (unsigned i = random() % 4; i > 0; --i) {
        sizes.push_back(random() % 4);
    }
    int64_t count = 1;
    for (int64_t size : sizes) {
        count *= size;
    }
    at::Tensor result = at::arange(count, at::kDouble).mul(static_cast<int>(random() % 7) - 3).view(sizes);
    result = result.to(types[random() % 9]);
    return sizes.size() > 1 && random() % 2 ? result.transpose(0, 1) : result;
}

std::string random_string(std::mt19937& random) {
    static const char* pieces[] = {"a", "Z", "0", " ", "\"", "'", "\\", "\n", "\xc3\xa9", "\xe4\xb8\xad", ",", "]"};
    std::string text;
    for (unsigned i = random() % 40; i > 0; --i) {
        text += pieces[random() % 12];
    }
    return text;
}

double random_double(std::mt19937& random) {
    double value = static_cast<double>(static_cast<int32_t>(random()));
    switch (random() % 4) {
        case 0: return value;
        case 1: return value / 3.0;
        case 2: return value * 1e300;
        default: return value * 1e-310;
    }
}

c10::IValue random_value(std::mt19937& random, int depth) {
    unsigned kind = random() % (depth > 0 ? 14 : 9);
    switch (kind) {
        case 0: return c10::IValue();
        case 1: return random() % 2 == 0;
        case 2: return static_cast<int64_t>((static_cast<uint64_t>(random()) << 32) | random());
        case 3: return static_cast<int64_t>(random() % 100);
        case 4: return random_double(random);
        case 5: return c10::complex<double>(random_double(random), random_double(random));
        case 6: return random_string(random);
        case 7: return random_tensor(random);
        case 8: return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(random() % 8));
        case 9: {
            c10::List<int64_t> list;
            for (unsigned i = random() % 6; i > 0; --i) {
                list.push_back(static_cast<int32_t>(random()));
            }
            return list;
        }
        case 10: {
            c10::impl::GenericList list(c10::AnyType::get());
            for (unsigned i = random() % 5; i > 0; --i) {
                list.push_back(random_value(random, depth - 1));
            }
            return list;
        }
        case 11: {
            std::vector<c10::IValue> elements;
            for (unsigned i = random() % 6; i > 0; --i) {
                elements.push_back(random_value(random, depth - 1));
            }
            return c10::ivalue::Tuple::create(std::move(elements));
        }
        case 12: {
            c10::impl::GenericDict dict(c10::StringType::get(), c10::AnyType::get());
            for (unsigned i = random() % 12; i > 0; --i) {
                dict.insert_or_assign(random_string(random), random_value(random, depth - 1));
            }
            return dict;
        }
        default: {
            c10::impl::GenericDict dict(c10::IntType::get(), c10::AnyType::get());
            for (unsigned i = random() % 40; i > 0; --i) {
                dict.insert_or_assign(static_cast<int64_t>(random() % 50), random_value(random, 0));
            }
            // What was erased leaves a hole in the table.
            dict.erase(static_cast<int64_t>(random() % 50));
            return dict;
        }
    }
}

c10::IValue nested(int depth) {
    c10::IValue value = int64_t{depth};
    for (int i = 0; i < depth; ++i) {
        value = c10::ivalue::Tuple::create({value});
    }
    return value;
}

void add_extremes() {
    using doubles = std::numeric_limits<double>;
    for (double value : {0.0, -0.0, 0.1, 1.0, -1.0, 1e15, 1e16, 1e18, 9.2e18, -9.2e18, 1e19, 1e300, 1e-300, 5e-324,
                         2.2250738585072014e-308, doubles::max(), doubles::infinity(), -doubles::infinity(),
                         doubles::quiet_NaN(), -doubles::quiet_NaN(), 9007199254740993.0, -9223372036854775808.0}) {
        values.push_back(value);
    }
    for (int64_t value : {INT64_MIN, INT64_MIN + 1, int64_t{-1}, int64_t{0}, INT64_MAX}) {
        values.push_back(value);
    }
    for (c10::complex<double> value : {c10::complex<double>(0, -0.0), c10::complex<double>(-1.5, doubles::infinity()),
                                       c10::complex<double>(doubles::quiet_NaN(), 1e-320)}) {
        values.push_back(value);
    }
    values.push_back(c10::IValue(std::string("nul\0inside", 10)));
    values.push_back(c10::IValue(std::string("\xff\xfe not UTF-8")));
    values.push_back(c10::IValue(std::string(1500, 'x')));
    values.push_back(nested(15));
    values.push_back(c10::ivalue::Tuple::create({1, 2, 3, 4, 5}));
    values.push_back(c10::ivalue::Tuple::create({1}));
    values.push_back(c10::List<c10::List<int64_t>>({c10::List<int64_t>(), c10::List<int64_t>({1})}));
    values.push_back(c10::Dict<std::string, at::Tensor>());
    values.push_back(c10::List<std::optional<at::Tensor>>({std::nullopt, at::zeros({2})}));
    c10::List<int64_t> shared({1, 2});
    values.push_back(c10::ivalue::Tuple::create({shared, shared}));
    values.push_back(at::empty({0, 3}));
    values.push_back(at::arange(3)[1]);
}

std::vector<at::Tensor> tensors_in(const c10::IValue& value) {
    std::vector<at::Tensor> found;
    if (value.isTensor()) {
        found.push_back(value.toTensor());
    } else if (value.isTuple()) {
        for (const c10::IValue& element : value.toTupleRef().elements()) {
            for (const at::Tensor& tensor : tensors_in(element)) found.push_back(tensor);
        }
    } else if (value.isList()) {
        for (const c10::IValue& element : value.toListRef()) {
            for (const at::Tensor& tensor : tensors_in(element)) found.push_back(tensor);
        }
    } else if (value.isGenericDict()) {
        for (const auto& entry : value.toGenericDict()) {
            for (const at::Tensor& tensor : tensors_in(entry.value())) found.push_back(tensor);
        }
    }
    return found;
}

std::vector<at::Tensor> make(int64_t seed, int64_t count) {
    values.clear();
    add_extremes();
    std::mt19937 random(static_cast<uint32_t>(seed));
    for (int64_t i = 0; i < count; ++i) {
        values.push_back(random_value(random, 4));
    }
    std::vector<at::Tensor> tensors;
    for (const c10::IValue& value : values) {
        for (const at::Tensor& tensor : tensors_in(value)) tensors.push_back(tensor);
    }
    return tensors;
}

// Values of a few kinds, many times over, to measure with.
void make_many(int64_t count) {
    values.clear();
    at::Tensor tensor = at::zeros({2, 3});
    for (int64_t i = 0; i < count; ++i) {
        switch (i % 5) {
            case 0: values.push_back(i); break;
            case 1: values.push_back(static_cast<double>(i) / 7); break;
            case 2: values.push_back("string " + std::to_string(i)); break;
            case 3: values.push_back(c10::List<int64_t>({i, i + 1})); break;
            default: values.push_back(tensor); break;
        }
    }
}

// A list that holds itself, and one of ten million numbers.
void make_awkward() {
    values.clear();
    c10::impl::GenericList cycle(c10::AnyType::get());
    cycle.push_back(c10::IValue(1));
    cycle.push_back(c10::IValue(cycle));
    values.push_back(cycle);
    c10::List<int64_t> longest;
    longest.resize(10000000, 7);
    values.push_back(longest);
    values.push_back(std::string(1000000, 'y'));
    values.push_back(nested(60));
    values.push_back(at::zeros({3}));
}

// A node of the truth: the tag, what dump() says (in hexadecimal, for any bytes), and the nodes inside.
void write_node(std::ostream& out, const c10::IValue& value) {
    std::ostringstream text;
    text << value;
    out << "{\"tag\":\"" << value.tagKind() << "\",\"tensors\":" << tensors_in(value).size() << ",\"dump\":\"";
    for (unsigned char byte : text.str()) {
        out << "0123456789abcdef"[byte >> 4] << "0123456789abcdef"[byte & 15];
    }
    out << "\",\"children\":[";
    const char* separator = "";
    auto child = [&](const c10::IValue& element) {
        out << separator;
        write_node(out, element);
        separator = ",";
    };
    if (value.isTuple()) {
        for (const c10::IValue& element : value.toTupleRef().elements()) child(element);
    } else if (value.isList()) {
        for (const c10::IValue& element : value.toListRef()) child(element);
    } else if (value.isGenericDict()) {
        for (const auto& entry : value.toGenericDict()) child(entry.value());
    }
    out << "]}";
}

std::vector<std::string> truth() {
    std::vector<std::string> lines;
    for (const c10::IValue& value : values) {
        std::ostringstream line;
        write_node(line, value);
        lines.push_back(line.str());
    }
    return lines;
}

// The reference counts of everything on the stack, to see that a look at it changes none.
std::vector<int64_t> use_counts() {
    std::vector<int64_t> counts;
    for (const c10::IValue& value : values) {
        counts.push_back(value.isPtrType() ? static_cast<int64_t>(value.use_count()) : 0);
    }
    return counts;
}

static void boxed_sink(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    TORCH_CHECK(op.schema().is_vararg() && stack != nullptr);
}

int64_t stop() {
    c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow("corpus::sink", "");
    op.callBoxed(&values);
    return static_cast<int64_t>(values.size());
}

}  // namespace corpus

TORCH_LIBRARY(corpus, m) {
    m.def("sink(...) -> ...");
    m.def("make", &corpus::make);
    m.def("make_many", &corpus::make_many);
    m.def("make_awkward", &corpus::make_awkward);
    m.def("truth", &corpus::truth);
    m.def("use_counts", &corpus::use_counts);
    m.def("stop", &corpus::stop);
}

TORCH_LIBRARY_IMPL(corpus, CompositeExplicitAutograd, m) {
    m.impl("sink", torch::CppFunction::makeFromBoxedFunction<&corpus::boxed_sink>());
}
