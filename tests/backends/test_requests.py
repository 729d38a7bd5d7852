"""Requests to gdb: what is sent is what arrives, in each Python that gdb may have, and nothing else is taken for it."""

from __future__ import annotations

import enum
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from dualdbg.shared.requests import codec
from dualdbg.shared.requests.base import Request
from dualdbg.system.patience import patient
from tests import rows, support


class Colour(enum.Enum):
    RED = "red"


class Node(NamedTuple):
    name: str
    children: Sequence[Node] = ()
    colour: Colour | None = None


class Plant(Request[list[Node]], module="garden", takes_long=True):
    where: tuple[int, str]
    data: bytes
    by_number: Mapping[int, Node]
    anything: Any = None
    height: float | None = 1.5


class Water(Request[None], module="garden"):
    pass


class Count(Request[dict[int, bool]], module="garden"):
    deep: bool = False


TREE = Node("a", [Node("b", [], Colour.RED), Node("ü\udc80\n", [])])
PLANT = Plant((-1, 'x"\\'), b"\0\xff", {7: TREE}, anything={"k": [1, None]})


def sent(request: Request[Any]) -> tuple[str, list[Any]]:
    name, *fields = json.loads(codec.line_of(request))
    return name, codec.fields_of(type(request), fields)


@pytest.mark.parametrize("request_", [PLANT, Water(), Count(), Count(True)], ids=repr)
def test_a_request_arrives_as_it_was_sent(request_: Request[Any]) -> None:
    assert codec.line_of(request_).isascii() and "\n" not in codec.line_of(request_)
    name, fields = sent(request_)
    assert name == f"garden.{type(request_).__name__}"
    assert type(request_)(*fields) == request_


def test_an_answer_has_the_types_that_are_declared() -> None:
    raw = json.loads(codec.encoded([TREE]))
    (found,) = codec.answer_of(PLANT, raw)
    assert found == Node("a", [Node("b", [], Colour.RED), Node("ü\udc80\n", [])])
    assert found.children[0].colour is Colour.RED
    assert codec.answer_of(Count(), {"3": True}) == {3: True}
    assert codec.answer_of(Water(), None) is None


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        (PLANT, None),
        (PLANT, {}),
        (PLANT, [["a", []]]),  # a field is missing
        (PLANT, [["a", [], "blue"]]),
        (PLANT, [[1, [], None]]),
        (PLANT, [["a", "bc", None]]),
        (Count(), [[3, True]]),
        (Count(), {"x": True}),
        (Count(), {"3": "yes"}),
        (Water(), 0),
    ],
)
def test_an_answer_of_another_form_is_refused(request_: Request[Any], answer: Any) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError)):
        codec.answer_of(request_, answer)


@pytest.mark.parametrize(
    "made",
    [
        lambda: Plant((1, "a")),  # type: ignore[call-arg]
        lambda: Count(True, False),  # type: ignore[call-arg]
        lambda: Count(depth=3),  # type: ignore[call-arg]
        lambda: Count(True, deep=True),  # type: ignore[misc]
    ],
)
def test_a_request_has_its_fields_and_no_others(made: Callable[[], object]) -> None:
    with pytest.raises(TypeError):
        made()


def test_requests_of_two_kinds_are_never_equal() -> None:
    assert Water() != Count() and Count() != Count(True) and tuple(Water()) == ()
    assert repr(Count(True)) == "Count(deep=True)" and Count(True).deep


_ALL = """
import importlib, pkgutil, sys
sys.path.insert(0, {folder!r})
import dualdbg_shared.requests as package
from dualdbg_shared.requests import base, codec
for found in pkgutil.iter_modules(package.__path__):
    importlib.import_module("dualdbg_shared.requests." + found.name)
kinds = base.Request.__subclasses__()
for kind in kinds:
    codec.reader_of(kind), codec.reader_of(kind.answer_type)
print(len(kinds), len({{kind.__name__ for kind in kinds}}))
"""


_ANSWERS = """
import importlib
from dualdbg_engine import registry
for kind in kinds:
    importlib.import_module("dualdbg_engine." + kind.module)
    request, function = registry._functions[kind.__name__]
    assert request is kind and function.__module__ == "dualdbg_engine." + kind.module, kind
    code = function.__code__
    assert code.co_varnames[:code.co_argcount] == kind._fields, kind
print("answered", len(registry._functions))
"""


def test_in_gdb_each_request_is_answered_by_a_function_with_its_fields(tmp_path: Path) -> None:
    """In the real gdb, from the file that the session sources, where mypy has not looked."""
    scripts, code = support.ROOT / "gdb_scripts", tmp_path / "look.py"
    code.write_text(_ALL.format(folder=str(scripts)) + _ANSWERS)
    words = ["gdb", "-nx", "-nh", "-q", "-batch", "-ex", f"source {scripts / 'dualdbg_session.py'}"]
    words += ["-ex", f"source {code}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=patient(120))
    count, names, word, answered = done.stdout.split()
    assert (word, count, count) == ("answered", names, answered), done.stdout + done.stderr


@pytest.mark.parametrize("version", rows.versions())
def test_every_request_can_be_read_in_a_python_of_gdb(version: str) -> None:
    """Each type in each declaration has a reader; no two requests have one name."""
    code = _ALL.format(folder=str(support.ROOT / "gdb_scripts"))
    words = [str(support.other_interpreter(version)), "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, timeout=patient(60), check=True)
    count, names = done.stdout.split()
    assert count == names
