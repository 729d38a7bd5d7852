# cython: language_level=3
"""Functions and a class in Cython."""


def add(double a, double b):
    cdef double total = a + b
    return total


def call_back(callback, double value):
    answer = callback(value)
    return answer + 1


cdef class Counter:
    cdef int count

    def increase(self, int by):
        self.count += by
        return self.count

    def __len__(self):
        return self.count
