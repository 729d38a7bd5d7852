"""Tensors read from memory are printed as PyTorch prints them, and described as it describes them."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import sys
from typing import Any

import pytest

from tests.gdb_scripts.gdb_run import ENTRY, HERE, Outcome, held
from tests.support import require

pytestmark = [pytest.mark.torch]

SEED = 20260711
TABLES = ENTRY.parent / "dualdbg_helpers" / "layout" / "tables"


@pytest.fixture(scope="module")
def tensors(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Every tensor of the target by name, as ``dualdbg-json tensor --data`` describes it."""
    require(importlib.util.find_spec("torch"), "PyTorch")
    release = ".".join(importlib.metadata.version("torch").split(".")[:2])
    (table,) = TABLES.glob(f"torch-{release}.*.json")
    program = [sys.executable, HERE / "targets" / "tensors.py", str(SEED), table]
    with held(program, tmp_path_factory.mktemp("tensors")) as target:
        names = [name for name in target.names if not name.startswith("object_")]
        commands = [f"dualdbg-json tensor {{{name}}} --data" for name in names]
        statistics = [n for n in names if n.startswith("million") or n == "special"]
        commands += [f"dualdbg-json tensor {{{name}}} --stats" for name in statistics]
        objects = [name for name in names if name != "other_device"]  # that one has no Python object
        commands += [f"dualdbg-json pyobject {{object_{name}}}" for name in objects]
        outcome = target.look(commands)
    by_name = {name: outcome.data(i) for i, name in enumerate(names)}
    outcome.published["by_name"] = by_name
    outcome.published["statistics"] = {
        n: outcome.data(len(names) + i)["stats"] for i, n in enumerate(statistics)
    }
    start = len(names) + len(statistics)
    outcome.published["objects"] = {name: outcome.data(start + i) for i, name in enumerate(objects)}
    return outcome


# PyTorch 2.13 itself takes the NaN of this type for a number and its smallest value for zero when it prints.
UNLIKE_REPR = {"dtype_float8_e8m0fnu", "all_float8_e8m0fnu"}


def test_texts_are_what_repr_says(tensors: Outcome) -> None:
    found, expected = tensors.published["by_name"], comparable(tensors)
    wrong = {
        n: (found[n].get("repr", found[n]), text)
        for n, text in expected.items()
        if found[n].get("repr") != text
    }
    assert wrong == {}


def comparable(tensors: Outcome) -> dict[str, str]:
    return {n: text for n, text in tensors.published["more"]["repr"].items() if n not in UNLIKE_REPR}


def test_values_of_the_type_that_is_printed_otherwise(tensors: Outcome) -> None:
    described = tensors.published["by_name"]
    if "all_float8_e8m0fnu" not in described:
        pytest.skip("PyTorch before 2.7, which has no float8_e8m0fnu")
    values = described["all_float8_e8m0fnu"]["values"]
    assert values == [2.0 ** (n - 127) for n in range(200)]  # of 256, the first 200
    assert tensors.published["by_name"]["dtype_float8_e8m0fnu"]["values"] == [2.0**-127, 1.0, 2.0, 128.0]


def test_python_objects_are_the_same_tensors(tensors: Outcome) -> None:
    found, expected = tensors.published["objects"], comparable(tensors)
    wrong = {n: (found[n]["text"], text) for n, text in expected.items() if found[n]["text"] != text}
    assert wrong == {}


def test_statistics(tensors: Outcome) -> None:
    for name, (low, high, mean, nan, infinite) in tensors.published["more"]["statistics"].items():
        found = tensors.published["statistics"][name]
        assert (found["min"], found["max"]) == (low, high), name
        assert found["mean"] == pytest.approx(mean), name
        assert (found["nan"], found["inf"]) == (nan, infinite), name


def described(tensors: Outcome, name: str) -> dict[str, Any]:
    found: dict[str, Any] = tensors.published["by_name"][name]
    return found


def test_properties(tensors: Outcome) -> None:
    view = described(tensors, "view_of_leaf")
    assert view["is_view"] and view["base"] == described(tensors, "leaf")["impl"]
    assert view["grad_fn"] == "SelectBackward0" and view["requires_grad"]
    assert view["storage"]["address"] == described(tensors, "leaf")["storage"]["address"]
    assert described(tensors, "leaf")["requires_grad"] and "grad_fn" not in without_nulls(
        described(tensors, "leaf")
    )
    assert described(tensors, "custom_function")["grad_fn"] == "DoubledBackward"
    assert described(tensors, "with_grad")["grad"]
    assert described(tensors, "stale_view")["grad_fn_stale"]
    assert described(tensors, "inference")["version"] is None
    assert described(tensors, "sliced")["strides"] == [30, 4]
    assert described(tensors, "sliced")["offset"] == 10
    assert described(tensors, "conjugate")["conjugate"] and described(tensors, "negative_view")["negative"]
    assert described(tensors, "subclass")["python_type"] == "Special"
    assert described(tensors, "coo")["tensor_layout"] == "torch.sparse_coo"
    assert described(tensors, "float")["dispatch_keys"] == [
        "CPU",
        "ADInplaceOrView",
        "AutogradCPU",
        "AutocastCPU",
    ]
    assert described(tensors, "three_d")["values"] == list(range(24))
    assert described(tensors, "special")["values"] == ["nan", "inf", "-inf", 0.0, -0.0, 1.0]
    assert described(tensors, "conjugate")["values"] == [[1.0, -2.0], [3.0, 4.0]]


def without_nulls(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if value is not None}


def test_wrapped_tensors(tensors: Outcome) -> None:
    more = tensors.published["more"]
    assert described(tensors, "batched")["repr"] == more["batched"]
    assert described(tensors, "gradient")["repr"] == more["gradient"]
    assert described(tensors, "jagged")["python_type"] == "NestedTensor"
    assert described(tensors, "jagged")["sizes"] == [2, more["jagged"]]
    assert described(tensors, "jagged")["numel"] == described(tensors, "nested")["numel"] == 8
    assert described(tensors, "nested")["sizes"] == [2, "*"]
    assert described(tensors, "nested_matrices")["sizes"] == [2, "*", 3]
    matrices = (described(tensors, name)["numel"] for name in ("nested_matrices", "jagged_matrices"))
    assert list(matrices) == [18, 18]
    assert "which has ended" in described(tensors, "of_ended_grad")["wraps"]
    for name, sizes in more["sizes"].items():
        assert described(tensors, name)["sizes"] == sizes
        assert described(tensors, name)["symbolic"]


def test_meta_has_no_values(tensors: Outcome) -> None:
    assert (
        described(tensors, "meta")["values_unavailable"]
        == "The values cannot be shown: a meta tensor has no data."
    )


def test_memory_of_another_device_is_not_read(tensors: Outcome) -> None:
    found = described(tensors, "other_device")
    assert found["device"] == "cuda:1"
    assert found["values_unavailable"] == "The values cannot be shown: on cuda:1, not readable from here."
    assert found["repr"] == "tensor(<on cuda:1, not readable from here>, device='cuda:1', size=(2, 3))"
