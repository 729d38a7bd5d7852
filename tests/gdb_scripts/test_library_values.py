"""Objects of the standard library, read from memory, say what ``repr`` says, in every CPython of the machine.

The corpus is in ``targets/library_values.py``; hypothesis makes more objects, as expressions that the target evaluates.
"""

from __future__ import annotations

import array
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dualdbg.shared import python_versions
from tests.gdb_scripts.gdb_run import HERE, Outcome, held
from tests.gdb_scripts.test_python_objects import executable
from tests.support import FREE_THREADED, other_interpreter, require

EXAMPLES = 150
OF_THE_SYSTEM = "the system's"  # often an earlier patch than what was built of the same version
# Which characters are printable depends on the version of Unicode that an interpreter has; not these.
_CHARACTERS = "ab'\"\\\n\x00\x7f\u00e9\u0142\u4e2d\U0001f600 "

_ZONES = st.sampled_from(["None", "UTC", "datetime.timezone(datetime.timedelta(minutes=-150))"])
_MOMENTS = st.builds(
    lambda moment, zone, fold: f"{moment.replace(fold=fold)!r}".replace(")", f", tzinfo={zone})"),
    st.datetimes() | st.times(),
    _ZONES,
    st.integers(0, 1),
)
_NAMES = st.text("abc./\\ \u0142", max_size=8)
_PATHS = st.builds(
    lambda flavour, parts, way: f"pathlib.{flavour}({', '.join(map(repr, parts))}){way}",
    st.sampled_from(["Path", "PurePosixPath", "PureWindowsPath"]),
    st.lists(_NAMES, max_size=4),
    st.sampled_from(["", ".parent", " / 'x'", ".parent.parent / 'y/z'"]),
)


def _array(code: str) -> Any:
    size = array.array(code).itemsize
    if code in "fd":
        numbers: Any = st.floats(width=8 * size)  # type: ignore[call-overload]
    else:
        low = 0 if code.isupper() else -(2 ** (8 * size - 1))
        numbers = st.integers(low, 2 ** (8 * size - (0 if code.isupper() else 1)) - 1)
    return st.lists(numbers, max_size=5).map(lambda values: f"array.array({code!r}, {values})")


_KEYS = st.text("xyz", min_size=1, max_size=3) | st.integers(0, 30)
_ORDERED = st.lists(_KEYS, min_size=1, max_size=20, unique=True).flatmap(
    lambda keys: st.lists(st.tuples(st.sampled_from(keys), st.booleans()), max_size=6).map(
        lambda moves: f"ordered({keys}, {moves})"
    )
)
_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(_CHARACTERS, max_size=20),
    st.binary(max_size=20),
    st.complex_numbers(allow_nan=False, allow_infinity=False),
)
_NESTED = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(_CHARACTERS, max_size=4) | st.integers(), inner, max_size=4)
    ),
)
EXPRESSIONS: Any = st.one_of(
    _MOMENTS,
    st.timedeltas().map(repr),
    st.decimals().map(lambda value: f"decimal.{value!r}"),
    st.fractions().map(lambda value: f"fractions.{value!r}"),
    st.uuids().map(lambda value: f"uuid.{value!r}"),
    st.ip_addresses().map(lambda value: f"ipaddress.{value!r}"),
    _PATHS,
    st.sampled_from("bBhHiIlLqQfd").flatmap(_array),
    _ORDERED,
    _ORDERED.map(lambda text: f"{text}.items()"),
    st.text("abcdef", max_size=30).map(lambda text: f"collections.Counter({text!r})"),
    st.dictionaries(st.text(_CHARACTERS, max_size=2), st.integers(), max_size=5).map(
        lambda d: f"{d}.values()"
    ),
    st.tuples(st.text(_CHARACTERS, max_size=10), st.integers(0, 511)).map(
        lambda pair: f"re.compile({re.escape(pair[0])!r}, {pair[1] & (2 | 8 | 16 | 64)})"
    ),
    st.lists(st.integers(), max_size=5).map(lambda values: f"functools.partial(len, *{values}, sep=1)"),
    st.lists(st.integers(), max_size=100).map(lambda values: f"collections.deque({values}, 40)"),
    _NESTED.map(lambda value: f"repr({value!r}) and {value!r}"),
)


def expressions() -> list[str]:
    found: list[str] = []

    @settings(max_examples=EXAMPLES, database=None, deadline=None)
    @given(EXPRESSIONS)
    def collect(text: str) -> None:
        found.append(text)

    collect()
    return found


@pytest.fixture(scope="module", params=[*python_versions.NAMES, *FREE_THREADED, OF_THE_SYSTEM])
def objects(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Every object of the target, by name, as ``dualdbg-json pyobject`` describes it."""
    if request.param == OF_THE_SYSTEM:
        found = shutil.which("python3", path="/usr/bin")
        python = Path(require(found, "/usr/bin has no python3", outside=True))
    else:
        python = other_interpreter(request.param)
    tmp_path = tmp_path_factory.mktemp("objects")
    made = expressions()
    (tmp_path / "made").write_text("\n".join(made), encoding="utf-8", errors="surrogatepass")
    program = [executable(python), HERE / "targets" / "library_values.py", tmp_path / "made"]
    with held(program, tmp_path) as target:
        outcome = target.look([f"dualdbg-json pyobject {{{name}}}" for name in target.names])
    names = list(outcome.published["addresses"])
    outcome.published["by_name"] = {name: outcome.data(i) for i, name in enumerate(names)}
    outcome.published["made"] = {f"made_{index}": text for index, text in enumerate(made)}
    return outcome


def test_texts_are_what_repr_says(objects: Outcome) -> None:
    found, made = objects.published["by_name"], objects.published["made"]
    expected = objects.published["more"]["exact"]
    assert len(expected) > EXAMPLES
    wrong = {
        made.get(name, name): (found[name]["text"], text)
        for name, text in expected.items()
        if found[name]["text"] != text and not _is_left_open(made.get(name, ""), found[name]["text"])
    }
    assert wrong == {}


def _is_left_open(expression: str, found: str) -> bool:
    """Paths of Windows whose text depends on the version: nothing is claimed of them."""
    return "PureWindowsPath" in expression and "PureWindowsPath('" not in found and "object at" in found


def test_what_is_inside(objects: Outcome) -> None:
    found = objects.published["by_name"]
    assert rows(found["ordered_moved"])[:2] == [("'e'", "4"), ("'a'", "'changed'")]
    assert rows(found["ordered_keys"])[-1] == ("[5]", "'c'")
    assert rows(found["items"]) == [("'a'", "1"), ("(2,)", "[3]")]
    assert rows(found["array_int"]) == [("[0]", "1"), ("[1]", "-2")]
    assert rows(found["memoryview"])[:3] == [("obj", "b'bytes'"), ("format", "'B'"), ("itemsize", "1")]
    assert ("shape", "(2, 3)") in rows(found["matrix_view"])


def rows(value: dict[str, Any]) -> list[tuple[str, str]]:
    return [(child["name"], child["text"]) for child in value["children"]]
