// The corpus by nanobind.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "corpus.hpp"

namespace nb = nanobind;

NB_MODULE(corpus_nanobind, m) {
    nb::class_<corpus::Dog>(m, "Dog")
        .def(nb::init<const std::string &>())
        .def("bark", &corpus::Dog::bark)
        .def("age", &corpus::Dog::age);
    m.def("bark", &corpus::bark);
    m.def("run", &corpus::run);
    m.def("counts", [] {
        nb::dict counts;
        for (const corpus::Counter &one : corpus::counters)
            counts[one.name] = static_cast<long>(one.calls);
        return counts;
    });
}
