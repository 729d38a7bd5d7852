// The corpus by pybind11.
#include <pybind11/pybind11.h>

#include "corpus.hpp"

namespace py = pybind11;

PYBIND11_MODULE(corpus_pybind, m) {
    py::class_<corpus::Dog>(m, "Dog")
        .def(py::init<const std::string &>())
        .def("bark", &corpus::Dog::bark)
        .def("age", &corpus::Dog::age);
    m.def("bark", &corpus::bark);
    m.def("run", &corpus::run);
    m.def("counts", [] {
        py::dict counts;
        for (const corpus::Counter &one : corpus::counters)
            counts[one.name] = static_cast<long>(one.calls);
        return counts;
    });
}
