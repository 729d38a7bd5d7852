// sample_nanobind: a function, a callback and a class, bound with nanobind.
#include <nanobind/nanobind.h>
#include <nanobind/operators.h>

namespace nb = nanobind;

namespace {

double add(double a, double b) {
    double sum = a + b;
    return sum;
}

double call_back(nb::callable callback, double value) {
    nb::object answer = callback(value);
    double result = nb::cast<double>(answer);
    return result + 1;
}

struct Counter {
    int count = 0;

    int increase(int by) {
        count += by;
        return count;
    }

    Counter operator+(const Counter& other) const {
        Counter sum{count + other.count};
        return sum;
    }
};

}  // namespace

NB_MODULE(sample_nanobind, m) {
    m.def("add", &add, nb::arg("a"), nb::arg("b"));
    m.def("call_back", &call_back, nb::arg("callback"), nb::arg("value"));
    nb::class_<Counter>(m, "Counter")
        .def(nb::init<>())
        .def("increase", &Counter::increase, nb::arg("by"))
        .def(nb::self + nb::self);
}
