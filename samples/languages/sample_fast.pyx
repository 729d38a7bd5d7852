# cython: language_level=3
"""Functions, a class, a callback and a generator."""


def poly_sum(xs, double scale):
    cdef double total = 0
    cdef double x
    for x in xs:
        total += term(x, scale)
    return total


cdef double term(double x, double scale):
    cdef double square = x * x
    return square * scale


def is_prime(int n):
    cdef int i
    for i in range(2, n):
        if n % i == 0:
            return False
    return True


cpdef int twice(int n):
    cdef int m = n * 2
    return m


def call_back(callback, double value):
    answer = callback(value)
    return answer + 1


def numbers(int n):
    cdef int i
    for i in range(n):
        yield i * 2


def outer(int a):
    def inner(int b):
        c = a + b
        return c
    return inner


cdef class Counter:
    cdef int count

    def increase(self, int by):
        self.count += by
        return self.count

    cdef int hidden(self):
        return self.count * 2

    @property
    def value(self):
        return self.hidden()


def fail(text):
    raise ValueError(text)


cdef class Named:
    cdef object name

    def __init__(self, name):
        self.name = name
