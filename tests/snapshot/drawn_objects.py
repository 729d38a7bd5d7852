"""A program with objects drawn by a seed: writes the text of each as read from inside, and its address, and waits.

Clean for Python 3.8. Arguments: the folder of the bootstrap, the seed, how many.
"""

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import importlib.util
import ipaddress
import json
import os
import pathlib
import random
import re
import sys
import time
import types
import uuid
import weakref


class Number(int):
    def __repr__(self):
        raise AssertionError("the program's code has run")


class Ratio(float):
    pass


class Word(str):
    pass


class Row(list):
    def __len__(self):
        raise AssertionError("the program's code has run")


class Table(dict):
    pass


class Triple(tuple):
    pass


class Group(set):
    pass


class Plain:
    def __init__(self, one):
        self.one = one

    def method(self):
        return self.one

    @classmethod
    def of_class(cls):
        return cls

    @property
    def computed(self):
        raise AssertionError("the program's code has run")


class Slotted:
    __slots__ = ("__weakref__", "first", "second")


class Colour(enum.Enum):
    RED = 1
    BLUE = "b"


class Way(enum.IntFlag):
    UP = 1
    DOWN = 2
    LEFT = 4


class Mode(enum.Flag):
    READ = 1
    WRITE = 2


class Level(enum.IntEnum):
    LOW = 1


class Trouble(Exception):
    pass


class Tally(collections.Counter):
    pass


class Late(collections.defaultdict):
    pass


@dataclasses.dataclass
class Mixed:
    length: int


class Mixture(Mixed, enum.Enum):
    SHORT = 3


class Call:
    def __call__(self):
        raise AssertionError("the program's code has run")


class Meta(type):
    def __repr__(cls):
        raise AssertionError("the program's code has run")


class Made(metaclass=Meta):
    pass


Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Point:
    x: object
    y: object = None
    hidden: int = dataclasses.field(default=3, repr=False)


@dataclasses.dataclass(repr=False)
class Silent:
    x: int = 1


def function(argument=None):
    def inner():
        return argument

    return inner


def generator():
    yield 1


def named(names, some):
    """Names for some of the objects."""
    return [(names[at], one) for at, one in enumerate(some()) if at < len(names)]


KEPT = [Plain(1), Slotted(), Point(1), Group((1,)), function, Colour, array.array("b")]
LEAVES = [
    lambda r: r.choice([None, True, False, Ellipsis, NotImplemented, object(), object]),
    lambda r: r.randint(-(1 << r.choice([1, 8, 31, 64, 200])), 1 << r.choice([1, 8, 31, 64, 200])),
    lambda r: r.choice([0.0, -0.0, float("inf"), float("nan"), 1e300, r.random(), r.gauss(0, 1e9)]),
    lambda r: complex(r.random(), r.choice([0.0, -0.0, r.random()])),
    lambda r: "".join(r.choice("ab'\"\\\n\x00\x7fäß€\U0001f600\ud800") for _ in range(r.randint(0, 20))),
    lambda r: bytes(r.randrange(256) for _ in range(r.randint(0, 12))),
    lambda r: bytearray(r.randrange(256) for _ in range(r.randint(0, 12))),
    lambda r: r.choice([Number, Ratio])(r.randint(-99, 99)),
    lambda r: Word(r.choice(["", "a'b", "ä"])),
    lambda r: r.choice([*Colour, *Way, *Mode, *Level, Way(3), Way(0), Way(7), Mode(3), Mode(0)]),
    lambda r: datetime.date(r.randint(1, 9999), r.randint(1, 12), r.randint(1, 28)),
    lambda r: datetime.datetime(2026, 1, 2, 3, r.randint(0, 59), r.choice([0, 5]), r.choice([0, 7])),
    lambda r: datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc, fold=r.randint(0, 1)),
    lambda r: datetime.time(r.randint(0, 23), 0, r.randint(0, 1), fold=r.randint(0, 1)),
    lambda r: datetime.timedelta(r.randint(-5, 5), r.randint(0, 9), r.randint(0, 9)),
    lambda r: datetime.timezone(datetime.timedelta(hours=r.randint(-9, 9))),
    lambda r: decimal.Decimal(
        r.choice(["0", "-0", "NaN", "sNaN12", "-Infinity", "1E+9", "0.00012", "-12.50"])
    ),
    lambda r: fractions.Fraction(r.randint(-9, 9), r.randint(1, 9)),
    lambda r: uuid.UUID(int=r.getrandbits(128)),
    lambda r: pathlib.PurePosixPath(r.choice(["", "/", "a/b", "/a/../b", "//a"])),
    lambda r: pathlib.Path(r.choice([".", "a'b", "/tmp"])),
    lambda r: ipaddress.ip_address(r.choice([r.getrandbits(32), r.getrandbits(128), "::ffff:1.2.3.4"])),
    lambda r: ipaddress.ip_network(r.choice(["10.0.0.0/8", "fe80::/10"])),
    lambda r: ipaddress.ip_interface("10.0.0.1/8"),
    lambda r: re.compile(
        r.choice(["a+", b"b", "x'y"]), r.choice([0, re.IGNORECASE, re.DOTALL | re.MULTILINE])
    ),
    lambda r: re.match("a.", r.choice(["ab", "acd'"])),
    lambda r: array.array(r.choice("bBhHiIlLqQ"), range(r.randint(0, 9))),
    lambda r: array.array("d", [r.random()]),
    lambda r: r.choice(
        [Plain, Plain(1), Slotted(), Silent(), int, Colour, Way, Pair, type, Trouble, KeyError]
    ),
    lambda r: r.choice([function, function(), len, [].append, "a".join, KEPT[0].method, Plain.of_class]),
    lambda r: r.choice([str.join, object.__repr__, dict.__dict__["fromkeys"], (1).__add__, Slotted.first]),
    lambda r: r.choice([sys, json, collections, pathlib, importlib.util, types.ModuleType("made")]),
    lambda r: range(r.randint(-9, 9), r.randint(-9, 9), r.choice([1, 2, -1])),
    lambda r: r.choice([generator(), function.__code__, memoryview(b"a"), Plain.__dict__["computed"]]),
    lambda r: weakref.ref(r.choice(KEPT)),
    lambda r: r.choice([time.gmtime(0), os.stat_result(range(10)), sys.version_info]),
    lambda r: types.MethodType(r.choice([len, function, Plain, [].append, Call()]), r.choice([1, Plain])),
    lambda r: r.choice([Mixture.SHORT, Mixture, Meta, Made, Made(), Call(), weakref.ref]),
    lambda r: r.choice([zip(), map(len, ()), iter([]), enumerate([]), reversed([]), filter(None, [])]),
    lambda r: r.choice(
        [dict.__dict__["get"], type.__dict__["__mro__"], property(len), NotImplementedError()]
    ),
]
NESTS = [
    lambda r, some: some(),
    lambda r, some: tuple(some()),
    lambda r, some: Row(some()),
    lambda r, some: Triple(some()),
    lambda r, some: collections.deque(some(), r.choice([None, 30])),
    lambda r, some: dict(named("abcdefghij", some)),
    lambda r, some: Table(named("abcdefghij", some)),
    lambda r, some: collections.OrderedDict(named("abcdefghij", some)),
    lambda r, some: collections.defaultdict(r.choice([None, list, int]), named("abcdefghij", some)),
    lambda r, some: collections.Counter(r.choice("abc") for _ in range(r.randint(0, 9))),
    lambda r, some: collections.ChainMap({"a": some()}, {}),
    lambda r, some: collections.UserList(some()),
    lambda r, some: collections.UserDict(named("ab", some)),
    lambda r, some: types.MappingProxyType(dict(named("ab", some))),
    lambda r, some: types.SimpleNamespace(**dict(named("ab", some))),
    lambda r, some: dict(named("abc", some)).keys(),
    lambda r, some: dict(named("abc", some)).values(),
    lambda r, some: dict(named("abc", some)).items(),
    lambda r, some: Tally(r.choice("abc") for _ in range(r.randint(0, 9))),
    lambda r, some: collections.Counter(dict(named("abc", some))),
    lambda r, some: Late(None, named("abc", some)),
    lambda r, some: collections.OrderedDict(named("ab", some)).items(),
    lambda r, some: {(1, frozenset((2,))): some(), None: 1, 2.5: (), b"k": {}},
    lambda r, some: [Silent(some()), Plain(some())],
    lambda r, some: {r.randint(-9, 9) for _ in range(r.randint(0, 6))},
    lambda r, some: frozenset(r.choice("abcde") for _ in range(r.randint(0, 6))),
    lambda r, some: Group(range(r.randint(0, 3))),
    lambda r, some: Pair(some(), r.randint(0, 9)),
    lambda r, some: Point(some(), r.choice([None, Point(1)])),
    lambda r, some: r.choice([Trouble, KeyError, OSError])(*some()[:2]),
    lambda r, some: slice(*(*some(), 1, None)[:3]),
    lambda r, some: functools.partial(function, *some()[:2], argument=r.randint(0, 9)),
    lambda r, some: function(some()).__closure__[0],
    lambda r, some: r.choice([staticmethod, classmethod])(function),
]


def drawn(draw, depth=0):
    """An object: a container of others as deep as both readers go, else a leaf."""
    if depth == 2 or draw.random() < 0.4:
        return draw.choice(LEAVES)(draw)
    return draw.choice(NESTS)(draw, lambda: [drawn(draw, depth + 1) for _ in range(draw.randint(0, 6))])


def loaded_probe():
    """The bootstrap's own, which has its other modules."""
    spec = importlib.util.spec_from_file_location("dualdbg_probe", sys.argv[1] + "/dualdbg_probe.py")
    probe = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(probe)
    return probe


def main():
    draw = random.Random(int(sys.argv[2]))
    found = [drawn(draw) for _ in range(int(sys.argv[3]))]
    probe = loaded_probe()
    values = probe.beside("dualdbg_values")
    values.ELEMENTS, values.DEEPEST = (60,) * 20, 20  # as deep as memory is read
    reader = values.Reader(probe.beside("dualdbg_arrays"))
    rows = [(type(one).__name__, id(one), reader.text(one)) for one in found]
    print(json.dumps(rows), flush=True)
    sys.stdin.read()


main()
