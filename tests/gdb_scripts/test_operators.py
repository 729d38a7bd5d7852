"""Operators and dispatch keys, read from memory, are what PyTorch says they are."""

from __future__ import annotations

import json
import platform
import sys

import pytest

from tests.gdb_scripts.gdb_run import HERE, Outcome, run_gdb

pytestmark = [pytest.mark.torch]

KEYS = ("plain", "sparse", "meta", "conjugate", "quantized", "inference")
# The schemas of every operator, with nothing but the helpers' own decoders.
EVERY_SCHEMA = """python import json; from dualdbg_helpers import context; \
from dualdbg_helpers.torch.schema import Operators; operators = context.current().decoder(Operators); \
print(json.dumps({operators.name(d): operators.schema(d) for d in operators.all()}))"""

# What finds the dispatcher and the table of names in a stripped library, beside what the symbols say.
WITHOUT_SYMBOLS = """python import json; from dualdbg_helpers import context; from dualdbg_shared import dispatcher; \
from dualdbg_helpers.torch import schema, symbols; target = context.current(); of = target.mappings.address_of; \
schema.SINGLETON = "none"; reference = schema.dispatcher_of(target); table = of(symbols._TABLE, "libtorch"); \
symbols._TABLE = "none"; found = symbols.Symbols(target); known = list(symbols.places_in_code(target)); \
print(json.dumps([of(dispatcher.SINGLETON, "libtorch"), reference, table, known, found.qualified(0)]))"""


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    commands = [
        EVERY_SCHEMA,
        "op aten::max_pool2d_with_indices",
        "dualdbg-json op aten::add.Tensor",
        "op no::such",
    ]
    commands += [f"dualdbg-json dispatch-keys {{{name}}}" for name in KEYS]
    commands += ["dualdbg-json dispatch-keys 0x9400010001", "dispatch-keys 0x10"]
    commands.append(WITHOUT_SYMBOLS)
    program = [sys.executable, HERE / "targets" / "operators.py"]
    return run_gdb(program, commands, tmp_path_factory.mktemp("operators"))


def test_schemas_of_all_operators(operators: Outcome) -> None:
    found = json.loads(operators.output(0))
    assert sorted(found) == sorted(operators.published["more"]["operators"])
    expected = {name: text for name, text in operators.published["more"]["schemas"].items() if name in found}
    assert len(expected) > 3000
    assert {name: (found[name], text) for name, text in expected.items() if found[name] != text} == {}


def test_op(operators: Outcome) -> None:
    first, registered, second, *_ = operators.output(1).splitlines()
    assert first.startswith("aten::max_pool2d_with_indices(Tensor self, int[2] kernel_size, int[2] stride=[]")
    assert "RegisterSchema.cpp" in registered
    assert second.startswith("aten::max_pool2d_with_indices.out(")
    (row,) = operators.data(2)["operators"]
    assert row["schema"] == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert operators.error(3) == "There is no operator no::such in this process."


def test_dispatch_keys(operators: Outcome) -> None:
    more = operators.published["more"]
    for i, name in enumerate(KEYS):
        found = operators.data(4 + i)
        assert f"DispatchKeySet({', '.join(found['keys'])})" == more["keys"][name]
        assert int(found["bits"], 16) == more["bits"][name]
        assert found["highest"] == more["highest"][name]
    assert operators.data(10)["keys"] == ["CPU", "ADInplaceOrView", "AutogradCPU", "AutocastCPU"]
    assert operators.data(10)["taken"] == "taken as the bits of a DispatchKeySet"


@pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the table of names is found in code of x86-64 alone"
)
def test_what_a_stripped_library_leaves_leads_to_the_same(operators: Outcome) -> None:
    singleton, reference, table, known, first = json.loads(operators.results[-1]["output"])
    assert reference and singleton in (None, reference)
    assert known and (table is None or table in known)
    assert first == "namespaces::prim"
