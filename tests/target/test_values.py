"""The text of values at a Python stop is what repr says, for every type that docs/values.md promises it for."""

from __future__ import annotations

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
import pathlib
import re
import sys
import time
import types
import uuid
import weakref
from typing import Any, NamedTuple

import pytest

from dualdbg.target.launcher import BOOTSTRAP
from tests.gdb_scripts.targets import odd_values

_SPEC = importlib.util.spec_from_file_location("dualdbg_probe", f"{BOOTSTRAP}/dualdbg_probe.py")
assert _SPEC is not None and _SPEC.loader is not None
PROBE: Any = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(PROBE)
VALUES, ARRAYS = PROBE.beside("dualdbg_values"), PROBE.beside("dualdbg_arrays")


def text(value: Any) -> str:
    return str(VALUES.Reader(ARRAYS).text(value))


class Pair(NamedTuple):
    first: int
    second: str


class Colour(enum.Enum):
    RED = 1


class Way(enum.IntFlag):
    UP = 1
    DOWN = 2


@dataclasses.dataclass
class Point:
    x: int
    y: object = None
    hidden: int = dataclasses.field(default=3, repr=False)


@dataclasses.dataclass(repr=False)
class Silent:
    x: int = 1


@dataclasses.dataclass
class Loud(Silent):
    y: int = 2


@dataclasses.dataclass(repr=False)
class SilentOfLoud(Loud):
    z: int = 3


@dataclasses.dataclass
class Failed(Exception):
    reason: str


NESTED: list[Any] = [1, (2.5,), {"key": 3}]
BUILT_IN = [
    *(
        None,
        True,
        5,
        -(10**40),
        1.5,
        float("nan"),
        1 + 2j,
        "it's",
        b"\0raw",
        bytearray(b"ab"),
        ...,
        NotImplemented,
    ),
    *(
        [],
        (),
        {},
        set(),
        frozenset({1}),
        (1,),
        [1, 2],
        {1: "a"},
        NESTED,
        range(3),
        range(1, 9, 2),
        slice(1, None),
    ),
    *(len, str.join, [].append, sys, int, Point, text, types.SimpleNamespace(a=1), {}.keys(), {1: 2}.items()),
    *(collections.deque([1], 3), collections.OrderedDict(a=1), collections.Counter("abb"), Pair(1, "x")),
    *(
        collections.defaultdict(list, {1: [2]}),
        Colour.RED,
        Way.UP,
        Point(1, Point(2)),
        ValueError("x", 1),
        KeyError(),
    ),
    *(
        datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone.utc),
        datetime.timedelta(1),
        decimal.Decimal("1.50"),
    ),
    *(
        fractions.Fraction(1, 3),
        uuid.UUID(int=5),
        pathlib.PurePosixPath("/a//b"),
        ipaddress.ip_address("::1"),
    ),
    *(re.compile("a+"), array.array("i", [1, 2]), memoryview(b"x"), object.__repr__, type),
    *(Silent(), Loud(), SilentOfLoud(), Failed("so"), Way(0), Way.UP | Way.DOWN, Way(8)),
    *(functools.partial(len, 1, key="x"), weakref.ref(Point), weakref.ref(text), re.match("a", "ab")),
    *(collections.ChainMap({}, {1: 2}), collections.UserDict(a=1), collections.UserList([1]), time.gmtime(0)),
    *(collections.Counter(a=-1, b=2.5), collections.Counter({"x": "b", "y": "c"}), staticmethod(len)),
    *(
        [].__len__,
        dict.__dict__["fromkeys"],
        pathlib.Path("/").stat(),
        pathlib.Path("a/b"),
        collections.UserString("s"),
    ),
]


@pytest.mark.parametrize("value", BUILT_IN, ids=lambda value: type(value).__name__)
def test_it_is_what_repr_says(value: Any) -> None:
    assert text(value) == repr(value)
    assert not VALUES.Reader(ARRAYS).own_repr(value)


def test_what_is_called_or_made_oddly_is_what_repr_says_too() -> None:
    shown = {name: (text(value), repr(value)) for name, value in odd_values.EXACT.items()}
    assert {name: both for name, both in shown.items() if both[0] != both[1]} == {}
    for value, expected in odd_values.NOT_REPR.values():
        assert text(value) == expected


@pytest.mark.parametrize("value", odd_values.endless(), ids=lambda value: type(value).__name__)
def test_a_look_at_what_leads_to_itself_ends(value: Any) -> None:
    assert len(text(value)) < 10_000


def test_what_lies_deep_is_not_written() -> None:
    assert text([{"key": [1]}]) == "[{'key': [...]}]"


def test_arrays() -> None:
    numpy = pytest.importorskip("numpy")
    some = [
        numpy.arange(3),
        numpy.zeros((2, 0)),
        numpy.ones((2, 2), "float32"),
        numpy.float64(1.5),
        numpy.dtype("i4"),
    ]
    some += [numpy.array(["a", "bc"]), numpy.arange(5000), numpy.array(True), numpy.array([1 + 2j])]
    for value in some:
        assert text(value) == repr(value)
    formatter = {"int": lambda value: "the program's"}
    with numpy.printoptions(formatter=formatter):
        assert text(numpy.arange(3)) == "array([0, 1, 2])"
    assert "object at 0x" in text(numpy.array([object()], dtype=object))


@pytest.mark.torch
def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    some = [
        torch.arange(3),
        torch.ones(2, 3, requires_grad=True),
        torch.nn.Parameter(torch.zeros(2)),
        torch.Size([1]),
    ]
    some += [
        torch.float32,
        torch.device("cpu"),
        torch.ones(2, requires_grad=True) * 2,
        torch.ones(3).to_sparse(),
    ]
    for value in some:
        assert text(value) == repr(value)

    class Sees(TorchFunctionMode):
        def __torch_function__(self, *arguments: Any) -> Any:
            raise AssertionError("the mode was asked")

    class SeesBelow(TorchDispatchMode):
        def __torch_dispatch__(self, *arguments: Any) -> Any:
            raise AssertionError("the mode was asked")

    value = some[0]
    with Sees(), SeesBelow():
        shown = text(value)
    assert shown == "tensor([0, 1, 2])"


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_tensor_that_refuses_a_fact_has_the_others() -> None:
    torch = pytest.importorskip("torch")
    nested = torch._nested_tensor_from_tensor_list([torch.ones(2), torch.ones(3)])
    kind = VALUES.Reader(ARRAYS).kind(nested)
    assert ARRAYS.tensor_facts(kind, nested) == (None, None)
    names = [name for name, _, _ in ARRAYS.facts(kind, nested)]
    assert "dtype" in names and "shape" not in names
    assert text(nested).startswith("nested_tensor([")


def test_a_derived_tensor_is_not_asked() -> None:
    class Tensor:
        def __repr__(self) -> str:
            raise AssertionError("it was asked")

    shown = VALUES.Reader(ARRAYS)
    assert "object at 0x" in shown.text(Tensor()) and shown.own_repr(Tensor())


MESSAGES = [
    *(
        ValueError(),
        ValueError("x"),
        KeyError("x"),
        OSError(2, "no", "file"),
        SyntaxError("x", ("f", 1, 2, "x")),
    ),
    *(UnicodeDecodeError("utf-8", b"ab", 0, 1, "bad"), ImportError("x", name="n"), StopIteration(3)),
]


@pytest.mark.parametrize("error", MESSAGES, ids=repr)
def test_the_text_of_an_exception(error: BaseException) -> None:
    assert VALUES.Reader(ARRAYS).message(error) == str(error)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="CPython 3.11 and later have groups of exceptions")
def test_the_text_of_a_group_of_exceptions() -> None:
    """It says how many there are, and runs no code of theirs."""
    one = ExceptionGroup("some", [Failed("so"), ValueError(Loud())])  # noqa: F821
    assert VALUES.Reader(ARRAYS).message(one) == "some (2 sub-exceptions)"
    loud = type("Mine", (ExceptionGroup,), {"__str__": lambda self: "its own"})("some", [one])  # noqa: F821
    assert "its own" not in VALUES.Reader(ARRAYS).message(loud)
