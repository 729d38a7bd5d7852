"""Python objects of every built-in kind, with what ``repr`` says of them. Runs in Python 3.8 and later."""

import collections
import dataclasses
import enum
import os
import sys
import types

from publishing import publish, stop


class Color(enum.Enum):
    RED = 1
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@dataclasses.dataclass
class Point:
    x: int
    y: float = 2.5


@dataclasses.dataclass
class Deeper(Point):
    inner: object = None


Pair = collections.namedtuple("Pair", "left right")


class Slotted:
    __slots__ = ("_hidden", "a", "b", "unset")

    def __init__(self):
        self.a, self.b, self._hidden = 1, "two", [3]


class Plain:
    def __init__(self):
        self.name = "plain"
        self.items = [1, 2]


class ManyAttributes:
    pass


class IntWithFields(int):
    pass


class TupleWithFields(tuple):
    pass


class ListWithFields(list):
    pass


class DictWithFields(dict):
    pass


class StrWithFields(str):
    pass


class Failure(ValueError):
    pass


class Outer:
    class Inner:
        pass

    def method(self):
        pass


def with_fields(value):
    value.extra = "field"
    return value


many = ManyAttributes()
for number in range(60):
    setattr(many, f"attribute_{number}", number)
deleted = Plain()
del deleted.name
deleted.late = True
through_dict = Plain()
through_dict.__dict__["odd key"] = 1

cyclic_list = [1]
cyclic_list.append(cyclic_list)
cyclic_dict = {"self": None}
cyclic_dict["self"] = cyclic_dict
cyclic_tuple = ([],)
cyclic_tuple[0].append(cyclic_tuple)
shrunk = {n: str(n) for n in range(100)}
for n in range(95):
    del shrunk[n]
small_set = {1, "two", 3.5}
holes = set(range(50))
for n in range(45):
    holes.discard(n)

EXACT = {
    # name: object whose text is to be what repr says
    "none": None,
    "true": True,
    "false": False,
    "zero": 0,
    "small": 7,
    "negative": -123456,
    "digit": 2**30 - 1,
    "two_digits": 2**30,
    "long": 2**200 + 12345,
    "long_negative": -(3**150),
    "float": 0.1,
    "float_inf": float("-inf"),
    "float_nan": float("nan"),
    "negative_zero": -0.0,
    "complex": 1.5 - 2j,
    "empty": "",
    "ascii": "plain 'quoted' text\n",
    "latin": "caf\u00e9",
    "two_bytes": "\u0142\u00f3d\u017a \u4e2d\u6587",
    "four_bytes": "smile \U0001f600",
    "surrogate": "lone \ud800 surrogate",
    "bytes": b"raw \x00\xff",
    "bytearray": bytearray(b"mutable"),
    "empty_bytearray": bytearray(),
    "list": [1, "two", None, [3.0]],
    "empty_list": [],
    "tuple": (1, (2, 3)),
    "single": (1,),
    "empty_tuple": (),
    "dict": {"a": 1, 2: "b", (3,): None},
    "empty_dict": {},
    "unicode_dict": {"only": 1, "strings": 2},
    "shrunk": shrunk,
    "big_dict": {n: n * n for n in range(150)},
    "empty_set": set(),
    "set": {5},
    "frozenset": frozenset([5]),
    "cyclic_list": cyclic_list,
    "cyclic_dict": cyclic_dict,
    "pair": Pair(1, [2]),
    "ordered": collections.OrderedDict([("z", 1), ("a", 2)]),
    "defaulted": collections.defaultdict(list, {"k": [1]}),
    "counter": collections.Counter({"x": 3, "y": 1}),
    "deque": collections.deque([1, 2, 3]),
    "bounded_deque": collections.deque(range(200), maxlen=150),
    "empty_deque": collections.deque(),
    "range": range(2, 10),
    "stepped_range": range(10, 0, -3),
    "slice": slice(1, None, 2),
    "ellipsis": ...,
    "not_implemented": NotImplemented,
    "enum": Color.RED,
    "text_enum": Color.GREEN,
    "int_enum": Level.HIGH,
    "flag": Access.WRITE,
    "dataclass": Point(1),
    "derived_dataclass": Deeper(1, 2.0, Point(3)),
    "exception": Failure("went wrong", 3),
    "plain_exception": KeyError("missing"),
    "class": Plain,
    "inner_class": Outer.Inner,
    "builtin_class": int,
    "library_class": collections.OrderedDict,
    "metaclass": type,
    "function": with_fields,
    "lambda": lambda value: value,
    "builtin": len,
    "module": dataclasses,
    "builtin_module": sys,
    "frozen_module": os,  # from 3.11 on
    "made_module": types.ModuleType("made"),
    "proxy": types.MappingProxyType({"a": 1}),
    "int_subclass": with_fields(IntWithFields(5)),
    "long_int_subclass": with_fields(IntWithFields(2**100)),
    "tuple_subclass": with_fields(TupleWithFields((1, 2))),
    "empty_tuple_subclass": with_fields(TupleWithFields()),
    "list_subclass": with_fields(ListWithFields([1])),
    "dict_subclass": with_fields(DictWithFields(a=1)),
    "str_subclass": with_fields(StrWithFields("subclass \u0142")),
    "plain": Plain(),
    "slotted": Slotted(),
}
FIELDS = {
    # name: (object, {attribute: repr}) in the order of vars() or of the slots
    "plain": EXACT["plain"],
    "many": many,
    "deleted": deleted,
    "through_dict": through_dict,
    "int_subclass": EXACT["int_subclass"],
    "long_int_subclass": EXACT["long_int_subclass"],
    "tuple_subclass": EXACT["tuple_subclass"],
    "empty_tuple_subclass": EXACT["empty_tuple_subclass"],
    "list_subclass": EXACT["list_subclass"],
    "dict_subclass": EXACT["dict_subclass"],
    "str_subclass": EXACT["str_subclass"],
    "exception": with_fields(EXACT["exception"]),
}
OTHERS = {
    "small_set": small_set,
    "holes": holes,
    "big_list": list(range(100000)),
    "slotted": EXACT["slotted"],
    "bound": EXACT["list"].append,
    "method": Outer().method,
    "cyclic_tuple": cyclic_tuple,
    "long_text": "x" * 10_000_000,
}


def main():
    # Instances of a class share their keys: the first ones were made above, and these have more attributes.
    others = [Plain() for _ in range(5)]
    for i, other in enumerate(others):
        setattr(other, f"own_{i}", i)
    more = {
        "exact": {name: repr(value) for name, value in EXACT.items()},
        "types": {name: type_name(value) for name, value in EXACT.items()},
        "fields": {
            name: [[key, repr(v)] for key, v in vars(value).items()] for name, value in FIELDS.items()
        },
        "others": [[key, repr(v)] for other in others for key, v in vars(other).items()],
        "sets": {"small_set": sorted(map(repr, small_set)), "holes": sorted(map(repr, holes))},
    }
    everything = dict(EXACT)
    everything.update(FIELDS)
    everything.update(OTHERS)
    everything.update({f"other_{i}": value for i, value in enumerate(others)})
    more["references"] = {"slotted": sys.getrefcount(OTHERS["slotted"]) - 1}
    publish(more, **{name: id(value) for name, value in everything.items()})
    stop()


def type_name(value):
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else kind.__module__ + "." + kind.__qualname__


main()
