// sample_pybind: the sample functions and Vec2, bound with pybind11.
#include <pybind11/operators.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <thread>

#include <pthread.h>

#include "helper.hpp"

namespace py = pybind11;

namespace {

double add(double a, double b) {
    double sum = a + b;
    return sum;
}

double scale(double value, double factor) {
    double scaled = value * factor;
    return scaled;
}

void raise_error(const std::string& message) { throw py::value_error(message); }

double call_back(const py::function& callback, double value) {
    py::object answer = callback(value);
    double result = answer.cast<double>();
    return result + 1;
}

double call_back_from_thread(const py::function& callback, double value) {
    double result = 0;
    std::unique_ptr<py::error_already_set> failure;
    auto work = [&] {
        pthread_setname_np(pthread_self(), "sample-thread");
        py::gil_scoped_acquire gil;
        try {
            result = callback(value).cast<double>();
        } catch (py::error_already_set& error) {
            failure = std::make_unique<py::error_already_set>(error);
        }
    };
    {
        py::gil_scoped_release no_gil;
        std::thread thread(work);
        thread.join();
    }
    if (failure) {
        throw py::error_already_set(*failure);
    }
    return result;
}

int wait_for_byte(int descriptor) {
    py::gil_scoped_release no_gil;
    return sample::read_byte(descriptor);
}

// Iterates over the two coordinates.
py::iterator iterate(const sample::Vec2& v) {
    py::tuple coordinates = py::make_tuple(v.x, v.y);
    return py::iter(coordinates);
}

}  // namespace

PYBIND11_MODULE(sample_pybind, m) {
    m.doc() = "Sample functions bound with pybind11";

    py::register_exception<sample::SensorError>(m, "SensorError");

    m.def("add", &add, py::arg("a"), py::arg("b"));
    m.def("scale", &scale, py::arg("value"), py::arg("factor"));
    m.def("outer", &sample::outer, py::arg("start"), py::arg("steps"));
    m.def("raise_error", &raise_error, py::arg("message"));
    m.def("check_positive", &sample::check_positive, py::arg("value"));
    m.def("check_reading", &sample::check_reading, py::arg("reading"));
    m.def("call_back", &call_back, py::arg("callback"), py::arg("value"));
    m.def("call_back_from_thread", &call_back_from_thread, py::arg("callback"), py::arg("value"));
    m.def("wait_for_byte", &wait_for_byte, py::arg("descriptor"), "Blocks without the GIL");
    m.def("wait_for_byte_with_gil", &sample::read_byte, py::arg("descriptor"), "Blocks with the GIL held");
    m.def("crash", &sample::crash, py::arg("value") = 1);

    py::class_<sample::Vec2>(m, "Vec2")
        .def(py::init([](double x, double y) { return sample::Vec2{x, y}; }), py::arg("x"), py::arg("y"))
        .def_readwrite("x", &sample::Vec2::x)
        .def_readwrite("y", &sample::Vec2::y)
        .def_property_readonly("norm", &sample::Vec2::length)
        .def("length", &sample::Vec2::length)
        .def(py::self + py::self)
        .def(py::self * double())
        .def(py::self == py::self)
        .def("__iter__", &iterate)
        .def("__enter__", [](py::object self) { return self; })
        .def("__exit__", [](const sample::Vec2&, const py::args&) { return false; })
        .def("__repr__", [](const sample::Vec2& v) {
            return py::str("Vec2({}, {})").format(v.x, v.y);
        });
}
