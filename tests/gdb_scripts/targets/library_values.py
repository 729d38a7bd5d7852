"""Objects of the standard library, with what ``repr`` says of them. Runs in Python 3.8 and later.

The first argument is a file with a line for each further object: an expression that makes it.
"""

import array
import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import ipaddress
import pathlib
import re
import sys
import time
import types
import typing
import uuid
import weakref
from math import inf, nan  # noqa: F401  # repr of a float, in what is evaluated

import odd_values
from publishing import publish, stop

UTC = datetime.timezone.utc


class Moment(datetime.datetime):
    pass


class Keys(collections.OrderedDict):
    pass


class Votes(collections.Counter):
    pass


class Part(functools.partial):
    pass


class Half(fractions.Fraction):
    pass


class range:  # the program's class may be called like the interpreter's
    def __init__(self):
        self.start = 1


class cell:
    pass


class Fraction:
    def __init__(self):
        self._numerator, self._denominator = 1, 2


class Colour(enum.Flag):
    RED = 1
    GREEN = 2
    BLUE = 4


class Bits(enum.IntFlag):
    LOW = 1
    HIGH = 4


class Word(str, enum.Enum):
    YES = "yes"


@dataclasses.dataclass(repr=False)
class Silent:
    x: int = 1


@dataclasses.dataclass
class Hiding:
    shown: int = 1
    hidden: int = dataclasses.field(default=2, repr=False)
    shared: typing.ClassVar[int] = 3


@dataclasses.dataclass
class DerivedFromSilent(Silent):
    y: int = 2


@dataclasses.dataclass(repr=False)
class SilentOfHiding(Hiding):
    more: int = 5


class PlainOfHiding(Hiding):
    pass


@dataclasses.dataclass
class Broken(Exception):
    reason: str = "why"


Pair = collections.namedtuple("Pair", "left right")


class NamedPair(Pair):
    pass


class Referent:
    def method(self):
        pass


def generator():
    yield 1


async def coroutine():
    pass


async def asynchronous():
    yield 1


class Holder:
    @staticmethod
    def static():
        pass

    @classmethod
    def of_class(cls):
        pass


def ordered(keys, moves):
    """An OrderedDict of these keys in which some were moved, removed and set again."""
    made = collections.OrderedDict((key, index) for index, key in enumerate(keys))
    for key, last in moves:
        made.move_to_end(key, last=last)
        if last and len(made) % 3 == 0:
            del made[key]
            made[key] = "again"
    return made


def moved():
    made = collections.OrderedDict((letter, at) for at, letter in enumerate("abcdef"))
    made.move_to_end("b")
    made.move_to_end("e", last=False)
    del made["c"]
    made["c"] = "again"
    made["a"] = "changed"
    return made


def cyclic_namespace():
    made = types.SimpleNamespace(a=1)
    made.me = made
    return made


referent = Referent()
dead = Referent()
dead_reference = weakref.ref(dead)
dead_proxy = weakref.proxy(dead)
del dead
ORDERED = moved()
PLAIN_DICT = {"a": 1, (2,): [3]}
UNICODE_ARRAY = array.array("u", "text \u0142")

EXACT = {
    "date": datetime.date(2024, 2, 29),
    "datetime": datetime.datetime(2024, 2, 29, 1, 2),
    "datetime_seconds": datetime.datetime(1, 1, 1, 0, 0, 5),
    "datetime_micro": datetime.datetime(9999, 12, 31, 23, 59, 59, 999999),
    "datetime_fold": datetime.datetime(2024, 1, 1, fold=1, tzinfo=UTC),
    "datetime_utc": datetime.datetime(2024, 1, 1, tzinfo=UTC),
    "datetime_zone": datetime.datetime(
        2024, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=-3), "X")
    ),
    "moment": Moment(2024, 1, 1, 3),
    "time": datetime.time(1, 2),
    "time_all": datetime.time(1, 2, 3, 4, tzinfo=UTC, fold=1),
    "timedelta": datetime.timedelta(-3, 5, 7),
    "timedelta_zero": datetime.timedelta(),
    "timezone": datetime.timezone(datetime.timedelta(minutes=330)),
    "utc": UTC,
    "decimal": decimal.Decimal("1.50"),
    "decimal_long": decimal.Decimal("-123456789012345678901234567890.12345678901234567890E+77"),
    "decimal_zero": decimal.Decimal("-0E-7"),
    "decimal_infinite": decimal.Decimal("-Infinity"),
    "decimal_nan": decimal.Decimal("NaN123"),
    "decimal_snan": decimal.Decimal("-sNaN"),
    "decimal_power": decimal.Decimal(10) ** 40,
    "fraction": fractions.Fraction(-3, 7),
    "half": Half(1, 2),
    "uuid": uuid.UUID(int=0x12345678123456781234567812345678),
    "ip4": ipaddress.ip_address("10.0.0.1"),
    "ip6": ipaddress.ip_address("fe80::1"),
    "ip6_of_ip4": ipaddress.ip_address("::ffff:10.0.0.1"),
    "path": pathlib.Path("/usr/lib/../x"),
    "path_relative": pathlib.Path("a/./b//c"),
    "path_empty": pathlib.Path(),
    "path_parent": pathlib.Path("/a/b/c").parent,
    "path_joined": pathlib.Path("a") / "b" / "/c" / "d",
    "path_name": pathlib.Path("/a/b.txt").with_suffix(".py"),
    "path_root": pathlib.PurePosixPath("//server/share"),
    "path_windows": pathlib.PureWindowsPath("c:\\Users\\x"),
    "path_windows_parent": pathlib.PureWindowsPath("c:/Users/x").parent,
    "path_known_text": pathlib.Path("/known"),
    "pattern": re.compile("a+", re.I | re.M),
    "pattern_bytes": re.compile(b"a'b"),
    "pattern_ascii": re.compile("x", re.A),
    "pattern_long": re.compile("(a|b)" * 100),
    "match": re.match("a(b)", "abc"),
    "ordered_moved": ORDERED,
    "ordered_empty": collections.OrderedDict(),
    "ordered_derived": Keys([(1, 2), (3, 4)]),
    "ordered_big": collections.OrderedDict((n * 7 % 199, n) for n in __builtins__.range(199)),
    "counter": collections.Counter("abracadabra"),
    "counter_negative": collections.Counter({"a": -1, "b": 2, "c": 2, "d": 1.5}),
    "counter_text": collections.Counter({"a": "x", "b": "y"}),
    "counter_derived": Votes("hello"),
    "counter_empty": collections.Counter(),
    "chain": collections.ChainMap({"a": 1}, {"b": [2]}),
    "user_dict": collections.UserDict(a=1),
    "user_list": collections.UserList([1, 2]),
    "user_string": collections.UserString("text"),
    "keys": PLAIN_DICT.keys(),
    "values": PLAIN_DICT.values(),
    "items": PLAIN_DICT.items(),
    "no_keys": {}.keys(),
    "ordered_keys": ORDERED.keys(),
    "ordered_items": ORDERED.items(),
    "ordered_values": ORDERED.values(),
    "array_int": array.array("i", [1, -2]),
    "array_unsigned": array.array("Q", [2**64 - 1]),
    "array_long": array.array("l", __builtins__.range(-3, 100)),
    "array_float": array.array("f", [0.1, 1e20]),
    "array_double": array.array("d", [0.1, float("nan")]),
    "array_empty": array.array("h"),
    "array_text": UNICODE_ARRAY,
    "memoryview": memoryview(b"bytes"),
    "partial": functools.partial(print, 1, "two", sep=", "),
    "partial_bare": functools.partial(generator),
    "partial_derived": Part(len, [1]),
    "weakref": weakref.ref(referent),
    "weakref_class": weakref.ref(Referent),
    "weakref_function": weakref.ref(generator),
    "weakref_dead": dead_reference,
    "namespace": types.SimpleNamespace(b=1, a=[2]),
    "namespace_cyclic": cyclic_namespace(),
    "generator": generator(),
    "coroutine": coroutine(),
    "asynchronous": asynchronous(),
    "generator_expression": (n for n in ()),
    "code": generator.__code__,
    "slot_wrapper": object.__repr__,
    "method_descriptor": str.join,
    "member_descriptor": functools.partial.func,
    "getset_descriptor": type.__dict__["__dict__"],
    "class_method_descriptor": dict.__dict__["fromkeys"],
    "method_wrapper": [].__len__,
    "static": Holder.__dict__["static"],
    "of_class": Holder.__dict__["of_class"],
    "list_iterator": iter([1]),
    "range_iterator": iter(__builtins__.range(3)),
    "struct_time": time.gmtime(0),
    "stat": pathlib.Path("/").stat(),
    "float_info": sys.float_info,
    "flag": Colour.RED,
    "flags": Colour.RED | Colour.BLUE,
    "no_flags": Colour(0),
    "bits": Bits.LOW | Bits.HIGH,
    "unknown_bits": Bits(9),
    "word": Word.YES,
    "named_pair": NamedPair(1, 2),
    "silent": Silent(),
    "hiding": Hiding(),
    "derived_from_silent": DerivedFromSilent(),
    "silent_of_hiding": SilentOfHiding(),
    "plain_of_hiding": PlainOfHiding(),
    "broken": Broken("so"),
    "own_range": range(),
    "own_cell": cell(),
    "own_fraction": Fraction(),
    "nested": [datetime.date(2024, 1, 1), {"p": pathlib.PurePosixPath("x")}, (decimal.Decimal(1),)],
}
str(EXACT["path_known_text"])
RELEASED = memoryview(b"x")
RELEASED.release()
EXACT["memoryview_released"] = RELEASED
try:
    import zoneinfo

    EXACT["zone"] = zoneinfo.ZoneInfo("UTC")
except (ImportError, KeyError):  # CPython 3.8; a system without time zones
    pass


EXACT.update(odd_values.EXACT)
EXACT.update(odd_values.CYCLIC)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        for index, line in enumerate(file):
            EXACT[f"made_{index}"] = eval(line)
    more = {"exact": {name: repr(value) for name, value in EXACT.items()}}
    addresses = {name: id(value) for name, value in EXACT.items()}
    for name, (value, text) in odd_values.NOT_REPR.items():
        more["exact"][name], addresses[name] = text, id(value)
    more["exact"]["weakproxy_dead"] = repr(dead_proxy)
    addresses["weakproxy_dead"] = id(dead_proxy)
    view = memoryview(bytearray(24)).cast("i", (2, 3))
    addresses["matrix_view"] = id(view)
    publish(more, **addresses)
    stop()


main()
