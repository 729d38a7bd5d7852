# cython: language_level=3
"""Functions of further kinds, compiled as C++: special methods, properties, fused types, what has no GIL, memoryviews."""

from cpython.ref cimport PyObject
from libc.stdlib cimport qsort
from libcpp.vector cimport vector

NAMES = (
    "total", "fsum", "scaled", "call_gil", "no_gil", "back", "compare", "ordered", "squares", "Shape.__cinit__",
    "Shape.__init__", "Shape.__add__", "Shape.__getitem__", "Shape.__len__", "Shape.__call__", "Shape.__iter__",
    "Shape.twice.__get__", "Shape.twice.__set__", "Shape.area", "Shape.made", "Square.area", "areas", "caught",
    "summed", "kept",
)

cdef long calls[25]

ctypedef fused number:
    int
    double


cdef number fsum(number[:] xs) except *:
    calls[1] += 1
    cdef number total = 0
    cdef Py_ssize_t i
    for i in range(xs.shape[0]):
        total += xs[i]
    if total == 77:
        raise ValueError("77")
    return total


def total(number[:] xs):
    calls[0] += 1
    cdef number got
    got = fsum(xs)
    return got


cpdef double scaled(double a, double b=2.0) except? -1:
    calls[2] += 1
    cdef double c = a * b
    if c > 100:
        raise OverflowError("large")
    return c


cdef int call_gil(object f, int value) except -1 with gil:
    calls[3] += 1
    got = f(value)
    return <int>got


cdef int no_gil(PyObject* f, int n) except -1 nogil:
    cdef int i
    cdef int total = 0
    calls[4] += 1
    for i in range(n):
        with gil:
            total += call_gil(<object>f, i)
    return total


def back(f, int n):
    calls[5] += 1
    cdef int got
    with nogil:
        got = no_gil(<PyObject*>f, n)
    return got


cdef int compare(const void* one, const void* other) noexcept nogil:
    calls[6] += 1
    return (<int*>one)[0] - (<int*>other)[0]


def ordered(list xs):
    calls[7] += 1
    cdef vector[int] values
    for x in xs:
        values.push_back(x)
    qsort(values.data(), values.size(), sizeof(int), compare)
    return list(values)


def squares(int n):
    calls[8] += 1
    cdef vector[int] values
    cdef int i
    for i in range(n):
        values.push_back(i * i)
    return values.size()


cdef class Shape:
    cdef public double width

    def __cinit__(self, *args):
        calls[9] += 1
        self.width = 0

    def __init__(self, width):
        calls[10] += 1
        self.width = width

    def __add__(self, other):
        calls[11] += 1
        return Shape(self.width + (<Shape>other).width)

    def __getitem__(self, i):
        calls[12] += 1
        if i > 2:
            raise IndexError(i)
        return self.width * i

    def __len__(self):
        calls[13] += 1
        return 3

    def __call__(self, x):
        calls[14] += 1
        return x + self.width

    def __iter__(self):
        calls[15] += 1
        for i in range(2):
            yield self.width + i

    @property
    def twice(self):
        calls[16] += 1
        return self.width * 2

    @twice.setter
    def twice(self, value):
        calls[17] += 1
        self.width = value / 2

    cdef double area(self):
        calls[18] += 1
        return self.width

    @staticmethod
    def made(width):
        calls[19] += 1
        return Shape(width)


cdef class Square(Shape):
    cdef double area(self):
        calls[20] += 1
        cdef double area = self.width * self.width
        return area


def areas(list shapes):
    calls[21] += 1
    cdef Shape shape
    cdef double total = 0
    for shape in shapes:
        total += shape.area()
    return total


def caught(n):
    calls[22] += 1
    try:
        scaled(n)
    except OverflowError as error:
        return str(error)
    finally:
        n = n + 1
    return n


def summed(double[:] xs):
    calls[23] += 1
    cdef Py_ssize_t i
    cdef double total = 0
    for i in range(xs.shape[0]):
        total += xs[i]
    return total


def kept(xs):
    calls[24] += 1
    some = [x * 2 for x in xs if x]
    at = {x: i for i, x in enumerate(xs)}
    return some, at


def run(int n):
    from array import array

    for i in range(n):
        total(array("d", [1.0, 2.0, i]))
        total(array("i", [1, 2, i]))
        total(array("i", []))
        try:
            total(array("i", [77]))
        except ValueError:
            pass
        try:
            total("text")
        except TypeError:
            pass
        scaled(i)
        back(abs, i)
        ordered([3, 1, 2])
        squares(i)
        one, other = Shape(2.0), Square(3.0)
        one + other, one[1], len(one), one(1), list(one)
        one.twice = one.twice + 1
        Shape.made(i)
        areas([one, other])
        caught(3)
        caught(300)
        summed(array("d", [1.0]))
        summed(array("d", []))
        kept([1, 0, 2])


def counts():
    return {"corpus_kinds." + name: calls[i] for i, name in enumerate(NAMES)}
