"""The Python object of a tensor, of a storage and of a node, by the layout of each release of PyTorch."""

from __future__ import annotations

import json
import struct
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support import ROOT

pytestmark = pytest.mark.pure

SCRIPTS = ROOT / "gdb_scripts"
TABLES = sorted((SCRIPTS / "dualdbg_helpers/layout/tables").glob("torch-*.json"))
OBJECT, INTERPRETER = 0x7F0000001230, 0x55A759619890


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("name", ["c10::TensorImpl", "c10::StorageImpl", "torch::autograd::Node"])
def test_the_object_is_not_the_interpreter(table: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    for module in [one for one in sys.modules if one.startswith("dualdbg_helpers")]:
        monkeypatch.delitem(sys.modules, module)
    from dualdbg_helpers.layout.model import Record
    from dualdbg_helpers.torch.autograd import python_object

    size, fields = _record(json.loads(table.read_text()), name)
    offset, width = next(fields[one] for one in ("pyobj_slot_", "pyobj_") if one in fields)
    # Up to 2.12 the slots of tensors and storages begin with the interpreter.
    words = (OBJECT,) if width == 8 else (INTERPRETER, OBJECT | 1)
    assert width == 8 * len(words)
    data = bytearray(size)
    struct.pack_into(f"<{len(words)}Q", data, offset, *words)
    memory = SimpleNamespace(pointer=lambda address: struct.unpack_from("<Q", data, address - 64)[0])
    layout = SimpleNamespace(record=lambda wanted: Record(wanted, size, fields, "a table"))
    assert python_object(SimpleNamespace(memory=memory, layout=layout), name, 64) == OBJECT


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_the_function_of_a_node(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to 2.12 the node of a torch.autograd.Function has its object behind what each node has, not in the slot."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    for module in [one for one in sys.modules if one.startswith("dualdbg_helpers")]:
        monkeypatch.delitem(sys.modules, module)
    from dualdbg_helpers.layout.model import Record
    from dualdbg_helpers.torch import autograd

    size, fields = _record(json.loads(table.read_text()), "torch::autograd::Node")
    data = bytearray(size + 8)
    struct.pack_into("<Q", data, fields["pyobj_slot_"][0] if "pyobj_slot_" in fields else size, OBJECT)
    target = SimpleNamespace(
        memory=SimpleNamespace(pointer=lambda address: struct.unpack_from("<Q", data, address - 64)[0]),
        layout=SimpleNamespace(record=lambda wanted: Record(wanted, size, fields, "a table")),
        rtti=SimpleNamespace(is_a=lambda *_: True, name=lambda _: "torch::autograd::PyNode"),
    )
    monkeypatch.setattr(autograd, "type_name_of", lambda _, address: {OBJECT: "DoubledBackward"}.get(address))
    assert autograd.Autograd(target).node_name(64) == "DoubledBackward"


def _record(tree: object, name: str) -> tuple[int, dict[str, list[int]]]:
    """The record of this name, wherever it is in a table."""
    pending = [tree]
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            if name in one:
                size, fields = one[name]
                return size, fields
            pending.extend(one.values())
    raise KeyError(name)
