"""Objects that are easily shown wrong: named like other types, with nothing in them, inside themselves, incomplete.

``EXACT`` has those whose text is what ``repr`` says at stops of either language. Of ``CYCLIC`` it is that at native
stops, which write deeper. Runs in Python 3.8 and later.
"""

import array
import collections
import dataclasses
import email.mime.text
import enum
import functools
import ipaddress
import math
import re
import socket
import sys
import types
import typing
import weakref


def named(name, base, *arguments):
    """An object of a class that is called ``name`` and derived from ``base``."""
    return type(name, (base,), {})(*arguments)


def renamed(value, name):
    type(value).__name__ = name
    return value


class Sized(enum.Enum):
    SMALL = 1


class Ways(enum.Flag):
    UP = 1


@dataclasses.dataclass
class Started:
    given: int
    parameter: dataclasses.InitVar[int]
    shared: typing.ClassVar[int] = 1
    by_class: int = dataclasses.field(init=False, default=4)

    def __post_init__(self, parameter):
        self.more = parameter


@dataclasses.dataclass
class Node:
    next: object = None


@dataclasses.dataclass
class Incomplete:
    there: int = dataclasses.field(init=False)
    second: int = 2


class FieldsOfItsOwn(tuple):
    _fields = ("a", "b")


class NameOfItsClass:
    __name__ = "the class's"


class NameOfItsOwn:
    def __init__(self):
        self.__name__ = "its own"


class Values(collections.defaultdict):
    pass


class Members(set):
    def __hash__(self):
        return 1


class Names(types.SimpleNamespace):
    pass


class Callable_:
    def __call__(self):
        pass


def generator():
    yield 1


def by_hand(**attributes):
    made = types.ModuleType("made by hand")
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


_named, _owner, _generator = NameOfItsClass(), NameOfItsOwn(), generator()
EXACT = {
    "called_bool": named("bool", int, 7),
    "called_frozenset": named("frozenset", set, [1]),
    "called_set": named("set", frozenset, [1]),
    "called_tuple": named("tuple", tuple, (1, 2)),
    "called_size": named("torch.Size", tuple, (1, 2)),
    "called_list": named("list", dict, [(1, 2)]),
    "called_date": named("datetime.date", list, [1]),
    "called_deque": named("collections.deque", object),
    "called_array": named("numpy.ndarray", object),
    "called_none": named("NoneType", object),
    "called_generator": named("generator", object),
    "called_nothing": named("", object),
    "called_sentence": named("what is this?", object),
    "called_lines": named("two\nlines", object),
    "renamed": renamed(named("before", set, [1]), "after"),
    "tuple_called_tuple": collections.namedtuple("tuple", "a b")(1, 2),
    "no_fields": collections.namedtuple("Empty", "")(),
    "fields_of_its_own": FieldsOfItsOwn((1, 2)),
    "enum_class": Sized,
    "flag_class": Ways,
    "enum_of_the_library": socket.AF_INET,
    "started": Started(1, 2),
    "interface": ipaddress.ip_interface("10.0.0.1/8"),
    "interface6": ipaddress.ip_interface("fe80::1/64"),
    "network": ipaddress.ip_network("10.0.0.0/8"),
    "network6": ipaddress.ip_network("fe80::/64"),
    "match_empty": re.match("", "abc"),
    "match_empty_bytes": re.match(b"", b"abc"),
    "match_within": re.search("é+", "aéé"),
    "weakref_builtin": weakref.ref(len),
    "weakref_generator": weakref.ref(_generator),
    "weakref_module": weakref.ref(math),
    "weakref_named_by_class": weakref.ref(_named),
    "weakref_named": weakref.ref(_owner),
    "bound_builtin": types.MethodType(len, [1]),
    "bound_partial": types.MethodType(functools.partial(len), 5),
    "bound_object": types.MethodType(Callable_(), 5),
    "module_builtin": sys,
    "module_extension": math,
    "module_frozen": sys.modules["_frozen_importlib"],
    "module_file": email.mime.text,
    "module_by_hand": by_hand(),
    "module_with_file": by_hand(__file__="/some/where"),
    "module_with_number": by_hand(__name__=5),
    "array_shrunk": array.array("h", [1, 2, 3])[:0],
    "deque_without_room": collections.deque([1, 2], 0),
    "ordered_by_hand": collections.OrderedDict([(1.0, "x"), (True, "y")]),
    "chain_of_nothing": collections.ChainMap(),
}
incomplete = Incomplete.__new__(Incomplete)
NOT_REPR = {
    # what repr raises for, or runs code for: the text
    "incomplete": (incomplete, "Incomplete(there=<not set>, second=2)"),
}

_values = Values(list)
_values["me"] = [_values]
_members = Members()
_members.add(_members)
_names = Names()
_names.me = _names
_node = Node()
_node.next = [_node]
_part = functools.partial(len)
_part.__setstate__((_part, (_part, _part), {"key": _part}, {}))
_deque = collections.deque([1])
_deque.append(_deque)
_chain = collections.ChainMap({})
_chain["me"] = _chain
_user = collections.UserDict()
_user["me"] = _user
_view = {}
_view["me"] = _view.values()
CYCLIC = {
    "cyclic_values": _values,
    "cyclic_members": _members,
    "cyclic_names": _names,
    "cyclic_node": _node,
    "cyclic_partial": _part,
    "cyclic_deque": _deque,
    "cyclic_chain": _chain,
    "cyclic_user_dict": _user,
    "cyclic_view": _view,
}


def endless():
    """Objects that lead to themselves in other ways; what is looked for is that a look at them ends."""
    cell = types.CellType()
    cell.cell_contents = cell
    factory = collections.defaultdict(None, {1: 2})
    factory.default_factory = factory
    wrapper = staticmethod(None)
    wrapper.__init__(wrapper)
    error = ValueError()
    error.args = (error, error)
    deep = functools.reduce(lambda inner, _: [inner], range(3000), [])
    wide = functools.reduce(lambda inner, _: functools.partial(len, inner, inner, inner), range(40), 1)
    slices = functools.reduce(lambda inner, _: slice(inner, inner, inner), range(40), 1)
    methods = functools.reduce(lambda inner, _: types.MethodType(len, inner), range(2000), 1)
    return [cell, factory, wrapper, error, deep, wide, slices, methods, *CYCLIC.values()]
