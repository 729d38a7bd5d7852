"""numpy's arrays and scalars and torch's small objects, read from memory, are printed as ``repr`` prints them."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from tests.gdb_scripts.gdb_run import HERE, Outcome, held
from tests.support import require

pytestmark = [pytest.mark.torch]


@pytest.fixture(scope="module")
def arrays(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    require(importlib.util.find_spec("numpy"), "numpy")
    program = [sys.executable, HERE / "targets" / "arrays.py"]
    with held(program, tmp_path_factory.mktemp("arrays")) as target:
        outcome = target.look([f"dualdbg-json pyobject {{{name}}}" for name in target.names])
    names = list(outcome.published["addresses"])
    outcome.published["by_name"] = {name: outcome.data(i) for i, name in enumerate(names)}
    return outcome


def test_texts_are_what_repr_says(arrays: Outcome) -> None:
    found, expected = arrays.published["by_name"], arrays.published["more"]["repr"]
    assert {n: (found[n]["text"], text) for n, text in expected.items() if found[n]["text"] != text} == {}


def test_objects_with_fields(arrays: Outcome) -> None:
    found = arrays.published["by_name"]
    module = {child["name"]: child["text"] for child in found["module"]["children"]}
    assert module["training"] == "True" and module["in_features"] == "2"
    assert "Parameter containing:" in module["_parameters"]
    assert found["module"]["type"] == "torch.nn.modules.linear.Linear"
    assert found["namespace"]["text"] == "N(a=1, b=array(shape=(2,), dtype=int64))"


def test_what_is_not_decoded_is_not_guessed(arrays: Outcome) -> None:
    found = arrays.published["by_name"]
    assert found["sizeless"]["text"] == "array([<0 bytes>, <0 bytes>], dtype=V0)"
    assert found["structured"]["text"] == "array([<12 bytes>], dtype=V12)"
    assert found["dates"]["text"] == "array([<8 bytes>], dtype=M8)"
    assert found["fresh_mask"]["text"] == "masked_array(shape=(2,), dtype=int64)"
