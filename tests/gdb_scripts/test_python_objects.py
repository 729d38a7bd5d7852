"""Python objects read from memory say what ``repr`` says, in every CPython from 3.8 on."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from dualdbg.shared import python_versions
from tests.gdb_scripts.gdb_run import HERE, Outcome, held
from tests.support import FREE_THREADED, other_interpreter


@pytest.fixture(scope="module", params=[*python_versions.NAMES, *FREE_THREADED])
def objects(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Every object of the target, by name, as ``dualdbg-json pyobject`` describes it."""
    python = other_interpreter(request.param)
    program = [executable(python), HERE / "targets" / "python_values.py"]
    with held(program, tmp_path_factory.mktemp("objects")) as target:
        outcome = target.look([f"dualdbg-json pyobject {{{name}}} --limit 300" for name in target.names])
    names = list(outcome.published["addresses"])
    outcome.published["by_name"] = {name: outcome.data(i) for i, name in enumerate(names)}
    return outcome


def executable(python: Path) -> Path:
    """The program itself: what is on PATH may be a script that starts it."""
    command = [python, "-c", "import sys; print(sys.executable)"]
    return Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()).resolve()


def test_texts_are_what_repr_says(objects: Outcome) -> None:
    found = objects.published["by_name"]
    expected = objects.published["more"]["exact"]
    wrong = {n: (found[n]["text"], text) for n, text in expected.items() if found[n]["text"] != text}
    assert wrong == {}


def test_types(objects: Outcome) -> None:
    found = objects.published["by_name"]
    expected = objects.published["more"]["types"]
    assert {name: found[name]["type"] for name in expected} == expected


def test_attributes(objects: Outcome) -> None:
    found = objects.published["by_name"]
    for name, fields in objects.published["more"]["fields"].items():
        children = [[child["name"], child["text"]] for child in found[name]["children"]]
        assert children[-len(fields) :] == fields, name
    others = [[c["name"], c["text"]] for i in range(5) for c in found[f"other_{i}"]["children"]]
    assert others == objects.published["more"]["others"]


def test_slots(objects: Outcome) -> None:
    children = objects.published["by_name"]["slotted"]["children"]
    assert {c["name"]: c["text"] for c in children} == {"_hidden": "[3]", "a": "1", "b": "'two'"}


def test_reference_counts(objects: Outcome) -> None:
    found = objects.published["by_name"]
    assert {"slotted": found["slotted"]["refcount"]} == objects.published["more"]["references"]


def test_sets_have_their_members(objects: Outcome) -> None:
    for name, members in objects.published["more"]["sets"].items():
        found = objects.published["by_name"][name]
        assert sorted(child["text"] for child in found["children"]) == members
        assert found["total"] == len(members)


def test_long_things_are_cut(objects: Outcome) -> None:
    found = objects.published["by_name"]
    assert found["big_list"]["total"] == 100000
    assert found["big_list"]["text"].endswith("... 99800 more]")
    assert len(found["big_list"]["children"]) == 300
    assert found["long_text"]["text"].endswith("... 9998000 more")
    assert json.dumps(found["cyclic_tuple"])  # ends


def test_methods(objects: Outcome) -> None:
    found = objects.published["by_name"]
    assert found["bound"]["text"].startswith("<built-in method append of list object at 0x")
    assert found["method"]["text"].startswith("<bound method Outer.method of <__main__.Outer object at 0x")
