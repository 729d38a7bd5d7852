# cython: language_level=3
"""Functions with loops, branches and handlers. CPython can run this source too: its trace is what steps are compared with."""
import cython


@cython.cclass
class Counter:
    count: cython.int

    def __init__(self):
        self.count = 0

    @cython.ccall
    def inc(self, by: cython.int):
        self.count += by
        return self.count


@cython.cfunc
def scaled(x: cython.double, by: cython.double) -> cython.double:
    y: cython.double = x * by
    if y > 3:
        y = y - 1
    return y


def counted(n: cython.int, f):
    c = Counter()
    for i in range(n):
        c.inc(i)
        f(i)
    return c.count


def branches(n: cython.int, f):
    odd = []
    even = []
    i: cython.int
    for i in range(n):
        if i % 2:
            odd.append(i)
        elif i == 2:
            f(i)
            continue
        else:
            even.append(f(i))
    f(odd)
    return odd, even


def leaves(xs, f):
    found = None
    at = 0
    while at < len(xs):
        x = xs[at]
        at += 1
        if x is None:
            break
        if x < 0:
            continue
        found = f(x)
    else:
        f("else")
    return found


def caught(xs, f):
    kept = []
    for x in xs:
        try:
            f(x)
            kept.append(10 // x)
        except ZeroDivisionError as error:
            kept.append(str(error))
        except TypeError:
            f("type")
        finally:
            f("finally")
    return kept


def nested(n: cython.int, m: cython.int, f):
    total: cython.double = 0
    i: cython.int
    j: cython.int
    for i in range(n):
        for j in range(m):
            total += scaled(i, j)
            if total > 4:
                f(total)
        f(i)
    total = total + 1
    return f(total)


def numbers(xs, f):
    for x in xs:
        f(x)
        yield x
        f(-x)


def summed(xs: list, f):
    total: cython.long = 0
    x: cython.long
    for x in xs:
        total += x * x
    total = total + 1
    f(total)
    names = {}
    for key, value in {"a": 1, "b": 2}.items():
        names[key] = value
        f(key)
    text = "%s %s" % (total, len(names))
    f(text)
    return text


def around(f):
    with f.open() as value:
        f(value)
        if value:
            f("true")
    try:
        f.fail("no")
    except ValueError:
        f("caught")
    else:
        f("no error")
    return value


def picked(n: cython.long, f):
    x: cython.long = n
    y: cython.long = 7
    if x > 4:
        x = x * 3
    if n > 10:
        y = x + 5
    else:
        y = x - 1
    f(x)
    if n % 3 == 1:
        x = x ^ y
    elif n % 3 == 2:
        x = y + 11
    f(x)
    i: cython.long
    for i in range(n):
        if i > y:
            y = i
        if i * i > x:
            x = i * 2 + 1
    f(y)
    return x


def late(n: cython.double, f):
    best: cython.double = 0
    i: cython.int
    for i in range(5):
        n = n * 1.5
        if n > 100:
            best = n + 2
            break
        if n < 0:
            n = -n
    f(best)
    if best > 0:
        f("best")
    return n


def run(f):
    counted(3, f)
    branches(5, f)
    leaves([1, -1, 2, None], f)
    leaves([1, 2], f)
    caught([5, 0, "x", 2], f)
    nested(2, 3, f)
    list(numbers([1, 2], f))
    summed([1, 2, 3], f)
    around(f)
    picked(3, f)
    picked(7, f)
    picked(14, f)
    late(1.0, f)
    late(90.0, f)
