"""A program whose classes end it when their code is run. They note in a file first which code it was.

``own_code.py FILE``. Python 3.8 and later.
"""

import collections
import dataclasses
import enum
import os
import sys
import time

MARKS = sys.argv[1]
METHODS = [
    *(
        "__repr__",
        "__str__",
        "__len__",
        "__iter__",
        "__next__",
        "__getattr__",
        "__getattribute__",
        "__dir__",
        "__hash__",
    ),
    *(
        "__eq__",
        "__ne__",
        "__lt__",
        "__le__",
        "__gt__",
        "__ge__",
        "__format__",
        "__bool__",
        "__contains__",
        "__getitem__",
    ),
    *(
        "__missing__",
        "__reversed__",
        "__call__",
        "__int__",
        "__index__",
        "__float__",
        "__complex__",
        "__abs__",
        "__bytes__",
    ),
    *(
        "__fspath__",
        "__sizeof__",
        "__reduce_ex__",
        "__reduce__",
        "__getstate__",
        "__enter__",
        "__instancecheck__",
    ),
    *("__subclasscheck__", "__get__", "__length_hint__", "keys", "items", "values"),
]
PROPERTIES = [
    *(
        "__class__",
        "__name__",
        "__wrapped__",
        "__traceback__",
        "__cause__",
        "__context__",
        "args",
        "shape",
        "dtype",
    ),
    *("is_cpu", "value"),
]


def note(what):
    with open(MARKS, "a") as file:
        file.write(what + "\n")


def hostile(name):
    def method(self, *arguments, **named):
        note(name)
        os._exit(66)

    return method


def body():
    methods = {name: hostile(name) for name in METHODS}
    methods.update((name, property(hostile(name))) for name in PROPERTIES)
    return methods


class Meta(type):
    """A class of classes that end the program as well."""

    vars().update(
        (name, hostile("class's " + name)) for name in METHODS if name not in ("__call__", "__get__")
    )
    __name__ = property(hostile("class's __name__"))
    __mro__ = property(hostile("class's __mro__"))
    __dict__ = property(hostile("class's __dict__"))


type.__setattr__(Meta, "__module__", property(hostile("class's __module__")))


def make(name, *bases, meta=Meta, **more):
    return meta.__new__(meta, name, bases, {**body(), **more})


def of(kind, base=object, **fields):
    """An object made past its class."""
    made = base.__new__(kind)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def work(self):
    return self


Plain = make("Plain", work=work)
Slots = make("Slots", __slots__=("one", "two"))
HidesItsFields = make("HidesItsFields", __dict__=property(hostile("__dict__")))
Tensor = make("Tensor")  # a name that is known of a library
Failure = make("Failure", ValueError, meta=type)
if sys.version_info >= (3, 12):  # pydevd asks each exception that is raised for its traceback: docs/values.md
    del Failure.__getattribute__, Failure.__traceback__
BASES = (list, dict, tuple, set, frozenset, str, bytes, bytearray, int, float, complex, collections.deque)
BASES += (collections.OrderedDict, collections.defaultdict)


class Name(str):
    """A string that may not be compared."""

    is_quiet = True

    def __hash__(self):
        if not Name.is_quiet:
            hostile("name's __hash__")(self)
        return str.__hash__(self)

    __eq__ = hostile("name's __eq__")
    __repr__ = __str__ = startswith = hostile("name's __repr__")


class Color(enum.Enum):
    RED = 1

    __repr__ = __str__ = hostile("Color's __repr__")


@dataclasses.dataclass
class Point:
    x: object
    y: object


class Descriptor:
    __get__ = hostile("descriptor's __get__")


class Polite:
    descriptor = Descriptor()

    def __init__(self):
        self.inner = 5

    def __repr__(self):
        note("Polite's __repr__")
        return "polite says hello"

    @property
    def computed(self):
        note("computed")
        return [77]


class Raises:
    def __repr__(self):
        raise FAILURE


class Spins:
    def __repr__(self):
        while True:
            time.sleep(0.01)


class Sleeps:
    def __repr__(self):
        time.sleep(600)


class Ends:
    def __repr__(self):
        os._exit(66)


plain = of(Plain, inner=1, other="text")
slots = of(Slots)
type.__dict__["__dict__"].__get__(Slots)["one"].__set__(slots, 11)
hidden = of(HidesItsFields)
tensor = of(Tensor, data=2)
derived = [of(make("My" + base.__name__, base), base) for base in BASES]
derived.append(str.__new__(make("Letters", str), "letters"))
dict.__setitem__(derived[1], "key", plain)
list.append(derived[0], plain)
polite = Polite()
FAILURE, OTHER_FAILURE = (ValueError.__new__(Failure, "the text", plain) for _ in range(2))
odd_names = {Name("inner"): 1, "other": plain}
strange = Polite.__new__(Polite)
strange.__dict__ = {Name("inner"): 3}  # in the dict that 3.14 has made it would be compared with "inner"
Name.is_quiet = False


def stop(plain, slots, hidden, tensor, derived, polite, odd_names, strange):
    color, point, kind, failure = Color.RED, Point(plain, polite), Plain, OTHER_FAILURE  # noqa: F841  # they are looked at
    nested = {"list": [plain, (slots, {"deeper": plain})], "set": {1.5, "text"}, 3: Color}  # noqa: F841
    raises, spins, sleeps, ends = Raises(), Spins(), Sleeps(), Ends()  # noqa: F841
    print("stopped")
    return plain


def step():
    returned = METHOD(plain)
    print("stepped")
    return returned


METHOD = work


def fail():
    raise FAILURE


stop(plain, slots, hidden, tensor, derived, polite, odd_names, strange)
step()
try:
    fail()
except ValueError:
    pass
print("done")
