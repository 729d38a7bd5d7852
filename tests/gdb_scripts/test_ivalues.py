"""IValues read from memory say what ``IValue::dump()`` says, and tensors in them what ``repr`` says.

The documented differences, each of which a test states:

- a tensor is printed as Python prints it, also inside a list, tuple or dict;
- a symbolic number of a class that is not PyTorch's own is printed as its class;
- strings that are not UTF-8 are printed with escapes;
- a Blob is printed without the type of what is in it;
- control characters other than newline and tab are printed as escapes (not in the structure).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.gdb_scripts.gdb_run import HERE, Outcome, run_gdb

pytestmark = [pytest.mark.torch]

# How gdb sees the layouts: nothing but our table; debug info where it has any; types compiled from the headers, which
# test_layouts.py has compiled.
SOURCES = {"table": "table", "debug-info": "auto", "types-object": "types-object"}
STACK = "dualdbg-json ivalue-stack --limit 0"
SYMBOL = "_ZN6corpusL10boxed_sinkERKN3c1014OperatorHandleEPSt6vectorINS0_6IValueESaIS5_EE"


def program(library: Path, *corpora: str) -> list[str | Path]:
    """It stops once, then calls the kernel ``boxed_sink`` with each corpus; see targets/corpus.py."""
    return [sys.executable, HERE / "targets" / "corpus.py", library, *corpora]


BREAK = ["sharedlibrary sample_corpus", "break corpus::boxed_sink", "continue"]


def looks_by(source: str) -> list[str]:
    return [f"set dualdbg layouts {SOURCES[source]}", "set dualdbg max-string 0", STACK]


@pytest.fixture(scope="module")
def seen(corpus_library: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """What the commands said at the stop in the kernel, by the corpus that it has got."""
    looks = {
        "1:5": [STACK, "stepi", "stepi", "ivalue-stack", "stepi 40", "ivalue-stack", "delete", *BREAK],
        "awkward": ["dualdbg-json ivalue-stack", "ivalue-stack", "continue"],
        "many:1000": ["ivalue-stack --limit 0", "continue"],
        "20260711:300": [*looks_by("table"), *looks_by("debug-info")],
    }
    setup = ["run", f"python break_at({SYMBOL!r}, 'sample_corpus')", "continue"]
    commands = [command for some in looks.values() for command in some]
    folder = tmp_path_factory.mktemp("corpus")
    outcome = run_gdb(program(corpus_library, *looks), commands, folder, setup=setup)
    found, results = {}, iter(outcome.results)
    for (corpus, some), more in zip(looks.items(), outcome.published["more"], strict=True):
        found[corpus] = Outcome([next(results) for _ in some], {"more": more}, outcome.log)
    return found


def test_values_are_as_pytorch_prints_them(seen: dict[str, Outcome]) -> None:
    for at, source in ((2, "table"), (5, "debug-info")):
        values_are_as_pytorch_prints_them(source, seen["20260711:300"], at)


def values_are_as_pytorch_prints_them(source: str, outcome: Outcome, at: int) -> None:
    """What the command ``STACK`` of this number said."""
    answer = json.loads(outcome.output(at).splitlines()[-1])
    assert answer["found"] == "argument `stack`"
    assert source.replace("-", " ").replace("object", "compiled") in answer["layout"]
    assert len(answer["values"]) > 300
    compare_all(answer["values"], outcome.published["more"])


def compare_all(values: list[dict[str, Any]], published: dict[str, Any]) -> None:
    truth, tensors = map(json.loads, published["values"]), iter(published["tensors"])
    for found, expected in zip(values, truth, strict=True):
        compare(found, expected, tensors)
    assert next(tensors, None) is None


def compare(found: dict[str, Any], expected: dict[str, Any], tensors: Any) -> None:
    assert found["kind"] == expected["tag"]
    if found["kind"] == "Tensor":
        assert found["text"] == next(tensors)
        return
    dump = bytes.fromhex(expected["dump"]).decode("utf-8", "backslashreplace")
    if not expected["tensors"]:
        assert found["text"] == dump
    children = found.get("children", [])
    assert len(children) == len(expected["children"]) == found.get("total", 0) or not expected["children"]
    for child, inner in zip(children, expected["children"], strict=False):
        compare(child, inner, tensors)


def test_every_tag(torch_extension: Path, tmp_path: Path) -> None:
    program = [sys.executable, HERE / "targets" / "ivalues.py", torch_extension]
    setup = ["run", "sharedlibrary sample_values", "break sample::values_ready", "continue"]
    stack = "dualdbg-json ivalue-stack"
    commands = [stack, "delete", "break sample::boxed_hold", "continue", stack]
    outcome = run_gdb(program, commands, tmp_path, setup=setup)
    values = outcome.data(0)["values"]
    rows = outcome.published["more"]
    assert [v["kind"] for v in values] == [tag for _, tag, _ in rows]
    texts = {name: value["text"] for (name, _, _), value in zip(rows, values, strict=True)}
    expected = {name: text for name, _, text in rows}
    # Made anew for the text, so at another address; a class of the sample's own; tensors as Python has them.
    assert texts.pop("storage").startswith("0x") and expected.pop("storage")
    assert texts.pop("object").startswith(
        "<__torch__.torch.classes.sample.Counter object at 0x"
    ) and expected.pop("object")
    # With the type of what is in it.
    assert texts.pop("blob") == "Blob" and expected.pop("blob").startswith("Blob[")
    for name in ("sym_int", "sym_float", "sym_bool"):
        assert texts.pop(name) == "<sample::SymbolicNumber>" and expected.pop(name)
    assert texts.pop("tensor") == "tensor([[0., 1., 2.],\n        [3., 4., 5.]])" and expected.pop("tensor")
    assert texts.pop("tensor_list").startswith("[tensor([[0., 1., 2.],") and expected.pop("tensor_list")
    assert texts == expected

    (future,) = outcome.data(4)["values"]
    (held,) = future["children"]
    assert (future["kind"], held["kind"], held["type"]) == ("Future", "PyObject", "dict")
    assert [child["text"] for child in held["children"]] == ["{'held': [1, 2.5]}"]


def test_boxed_kernel_of_extension_whose_symbols_gdb_has_not_read(seen: dict[str, Outcome]) -> None:
    outcome = seen["1:5"]
    stack = outcome.data(0)
    assert stack["found"] == "register rsi at the entry of corpus::boxed_sink"
    assert stack["layout"] == "table for torch 2.13.0, checked against the process"
    compare_all(stack["values"], outcome.published["more"])
    # Past the instructions that only make room on the stack, the registers still hold the arguments.
    assert "register rsi at the entry of corpus::boxed_sink" in outcome.output(3)
    assert "No Stack is visible here" in outcome.error(5)


def test_awkward_values_end(seen: dict[str, Outcome]) -> None:
    outcome = seen["awkward"]
    cycle, longest, text, nested, tensor = outcome.data(0)["values"]
    assert cycle["text"] == "[1, ...]"
    assert longest["total"] == 10_000_000
    assert longest["text"].endswith(", 7, ... 9999800 more]")
    assert text["text"].endswith("... 998000 more bytes")
    assert "...," in nested["text"]
    assert tensor["text"] == "tensor([0., 0., 0.])"
    assert outcome.results[0]["seconds"] < 10


def test_thousand_values(seen: dict[str, Outcome]) -> None:
    lines = seen["many:1000"].output(0).splitlines()
    assert len(lines) == 1_002
    assert lines[3] == "  [2] String: string 2"
