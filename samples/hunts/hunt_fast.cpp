// A crash in optimised code, in a function that the compiler has inlined: the hunt `optimised`.

#include "hunt_module.hpp"

struct Layer {
    const double *weights;
    Py_ssize_t size;
};

static const double dense[] = {1, 2, 3, 4};
static Layer layers[] = {{dense, 4}, {nullptr, 4}};

static inline double weight_at(const Layer *layer, Py_ssize_t at) { return layer->weights[at]; }

static __attribute__((noinline)) double norm(const Layer *layer) {
    double sum = 0;
    for (Py_ssize_t at = 0; at < layer->size; at++) {
        double weight = weight_at(layer, at);
        sum += weight * weight;
    }
    return sum;
}

static PyObject *norm_of(PyObject *, PyObject *argument) {
    return PyFloat_FromDouble(norm(&layers[PyLong_AsLong(argument) % 2]));
}

static PyMethodDef functions[] = {{"norm_of", norm_of, METH_O, nullptr}, {}};
HUNT_MODULE(hunt_fast, functions)
