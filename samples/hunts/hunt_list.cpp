// A search in a linked list that goes past its end: the hunt `segfault`.

#include "hunt_module.hpp"

struct Node {
    int key;
    int value;
    Node *next;
};

static Node third = {3, 30, nullptr};
static Node second = {2, 20, &third};
static Node first = {1, 10, &second};

static int find(const Node *node, int key) {
    while (node->key != key) {
        node = node->next;
    }
    return node->value;
}

static PyObject *value_of(PyObject *, PyObject *argument) {
    return PyLong_FromLong(find(&first, static_cast<int>(PyLong_AsLong(argument))));
}

static PyMethodDef functions[] = {{"value_of", value_of, METH_O, nullptr}, {}};
HUNT_MODULE(hunt_list, functions)
