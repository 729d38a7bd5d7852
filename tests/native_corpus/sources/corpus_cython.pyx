# cython: language_level=3
"""Functions of every kind that Cython makes. Each counts its calls: what a breakpoint on it has to count too."""

NAMES = (
    "poly", "term", "is_prime", "twice", "call_back", "numbers", "outer", "outer.inner", "Counter.increase",
    "Counter.hidden", "fail", "try_it", "Plain.method", "no_gil", "first_of",
)

cdef long calls[15]


def poly(xs, double scale):
    calls[0] += 1
    cdef double total = 0
    cdef double x
    for x in xs:
        total += term(x, scale)
    return total


cdef double term(double x, double scale):
    calls[1] += 1
    cdef double square = x * x
    return square * scale


def is_prime(int n):
    calls[2] += 1
    cdef int i
    for i in range(2, n):
        if n % i == 0:
            return False
    return True


cpdef int twice(int n):
    calls[3] += 1
    return n * 2


def call_back(callback, double value):
    calls[4] += 1
    answer = callback(value)
    return answer + 1


def numbers(int n):
    calls[5] += 1
    cdef int i
    for i in range(n):
        yield i * 2


def outer(int a):
    calls[6] += 1

    def inner(int b):
        calls[7] += 1
        c = a + b
        return c

    return inner


cdef class Counter:
    cdef int count

    def increase(self, int by):
        calls[8] += 1
        self.count += by
        return self.hidden()

    cdef int hidden(self):
        calls[9] += 1
        return self.count * 2


def fail(text):
    calls[10] += 1
    raise ValueError(text)


def try_it(text):
    calls[11] += 1
    try:
        fail(text)
    except ValueError as error:
        return str(error)


class Plain:
    def method(self, value):
        calls[12] += 1
        return value


cdef int no_gil(int value) noexcept nogil:
    calls[13] += 1
    return value + 1


def first_of(values, *rest, key=None):
    calls[14] += 1
    for value in values:
        return value
    return key


def run(int n):
    counter = Counter()
    cdef int i
    for i in range(n):
        poly([1.0, 2.0], i)
        is_prime(i + 3)
        twice(i)
        call_back(lambda value: value * 2, i)
        list(numbers(i))
        outer(i)(i)
        counter.increase(i)
        try_it("text")
        Plain().method(i)
        no_gil(i)
        first_of([i], 1, key=2)


def counts():
    return {"corpus_cython." + name: calls[i] for i, name in enumerate(NAMES)}
