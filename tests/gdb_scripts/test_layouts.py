"""Where layouts come from: what does not fit the process is refused, and every answer says its source."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dualdbg.snapshot.cpython import torch_distributed
from dualdbg.system.patience import patient
from tests.gdb_scripts import test_ivalues
from tests.gdb_scripts.gdb_run import ENTRY, HERE, Held, held, run_gdb
from tests.gdb_scripts.test_tensors import UNLIKE_REPR

pytestmark = [pytest.mark.torch]

PROGRAM = [sys.executable, HERE / "targets" / "one_tensor.py"]
TABLE = Path("dualdbg_helpers", "layout", "tables", "torch-2.13.0.json")


@pytest.fixture(scope="module")
def one_tensor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Held]:
    with held(PROGRAM, tmp_path_factory.mktemp("held")) as target:
        yield target


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A cache for the tests that need compiled types, so that these are compiled once."""
    return {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the helpers, to be changed."""
    folder = tmp_path / "gdb_scripts"
    shutil.copytree(ENTRY.parent, folder, ignore=shutil.ignore_patterns("*.pyc.*"))
    return folder


def only_table(folder: Path, version: str) -> Path:
    """Have the copy know PyTorch 2.13 as this version, and no other."""
    path = (folder / TABLE).rename(folder / TABLE.with_name(f"torch-{version}.json"))
    for other in path.parent.glob("*.json"):
        if other != path:
            other.unlink()
    return path


def change(folder: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    path = folder / TABLE
    table = json.loads(path.read_text())
    edit(table)
    path.write_text(json.dumps(table))


def move(record: str, member: str, by: int) -> Callable[[dict[str, Any]], None]:
    def edit(table: dict[str, Any]) -> None:
        table["records"][record][1][member][0] += by

    return edit


def renumber(enum: str, by: int) -> Callable[[dict[str, Any]], None]:
    def edit(table: dict[str, Any]) -> None:
        table["enums"][enum] = {name: value + by for name, value in table["enums"][enum].items()}

    return edit


def swap(enum: str, one: str, other: str) -> Callable[[dict[str, Any]], None]:
    def edit(table: dict[str, Any]) -> None:
        values = table["enums"][enum]
        values[one], values[other] = values[other], values[one]

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        move("c10::TensorImpl", "numel_", 8),
        renumber("c10::ScalarType", 1),
        swap("c10::ScalarType", "Float", "Double"),
        *(
            pytest.param(edit, marks=pytest.mark.exhaustive)
            for edit in (
                move("c10::impl::OperatorEntry", "name_", 8),
                move("c10::IValue", "tag", -8),
                move("c10::TensorImpl", "sizes_and_strides_", 8),
                move("c10::TensorImpl", "data_type_", -8),
                move("c10::TensorImpl", "key_set_", -8),
                move("c10::impl::SizesAndStrides", "inlineStorage_", 8),
                move("c10::Argument", "name_", 8),
                move("c10::FunctionSchema", "arguments_", -24),
                renumber("c10::IValue::Tag", 3),
            )
        ),
    ],
)
def test_wrong_table_is_refused(copy: Path, one_tensor: Held, edit: Callable[[dict[str, Any]], None]) -> None:
    change(copy, edit)
    commands = ["dualdbg-json tensor {tensor} --data", "dualdbg-layout"]
    outcome = one_tensor.look(commands, entry=copy / "dualdbg_gdb.py")
    assert "does not fit" in outcome.error(0)
    assert "refused: table for torch 2.13.0" in outcome.output(1)


def test_true_table_is_believed(copy: Path, one_tensor: Held) -> None:
    commands = ["dualdbg-json tensor {tensor} --data", "dualdbg-layout"]
    outcome = one_tensor.look(commands, entry=copy / "dualdbg_gdb.py")
    assert outcome.data(0)["repr"] == outcome.published["more"]["repr"]
    assert outcome.data(0)["layout"] == "table for torch 2.13.0, checked against the process"
    assert "refused" not in outcome.output(1)


WHY_REFUSED = """
import json
from dualdbg_helpers import context
from dualdbg_helpers.layout import choose, selfcheck

target = context.current()
make = lambda chain: type(target)(
    target.memory, target.mappings, chain, target.demangle, target.installation, target.limits
)
read = lambda name: choose.read(name, "tried", target.installation.build)
names = sorted(path.name for path in choose.TABLES.glob("*.json"))
print(json.dumps({name: selfcheck.problem_of(read(name), [], make) for name in names}))
"""


def test_tables_of_other_versions_are_refused(one_tensor: Held, tmp_path: Path) -> None:
    """The checks tell each release that has a table from this one, by what lies in the running library."""
    script = tmp_path / "why_refused.py"
    script.write_text(WHY_REFUSED)
    outcome = one_tensor.look([f"source {script}"])
    problems = json.loads(outcome.output(0).splitlines()[-1])
    assert len(problems) > 5
    assert problems.pop(TABLE.name) is None
    for name, problem in problems.items():
        assert problem is not None and "does not fit" in problem, name


@pytest.fixture(scope="module")
def wanted() -> Any:
    sys.path.insert(0, str(ENTRY.parent))
    try:
        from dualdbg_helpers.layout import wanted
    finally:
        sys.path.remove(str(ENTRY.parent))
    return wanted


TABLES = sorted((ENTRY.parent / TABLE).parent.glob("torch-*.json"))


@pytest.mark.parametrize("path", TABLES, ids=[path.stem for path in TABLES])
def test_each_table_has_all_wanted_types(path: Path, wanted: Any) -> None:
    """But those that its release does not describe: each of these has a reason, and is not there."""
    table = json.loads(path.read_text())
    assert path.name == f"torch-{table['torch']}.json"
    names = table["records"].keys() | table["enums"].keys()
    assert sorted(wanted.names() - names) == sorted(wanted.lacking(table["torch"]))
    assert sorted(names - wanted.names()) == []


# Members of the table of NEWER that earlier ones do not have, from which version on; "" is any type. What reads them
# has another way for what is older.
NEWER = "torch-2.13.0"
ONLY_FROM = {
    ("", "combined_refcount_"): (2, 10),
    ("torch::autograd::Node", "combined_refcount_"): (2, 13),
    ("torch::autograd::Node", "pyobj_slot_"): (2, 13),
}


@pytest.mark.parametrize("path", TABLES, ids=[path.stem for path in TABLES])
def test_each_table_has_the_members_that_are_read(path: Path) -> None:
    """By every word in quotes in the code: a member of that name may be asked for."""
    folders = (ENTRY.parent / "dualdbg_helpers", Path(torch_distributed.__file__).parent)
    asked = {
        word
        for folder in folders
        for file in folder.rglob("*.py")
        for word in re.findall(r'"(\w+)"', file.read_text())
    }
    here, newer = (json.loads(one.read_text())["records"] for one in (path, path.with_name(f"{NEWER}.json")))
    version = tuple(int(number) for number in path.stem[len("torch-") :].split(".")[:2])
    lacking = {
        (name, member)
        for name in here.keys() & newer.keys()
        for member in asked & newer[name][1].keys() - here[name][1].keys()
    }
    known = {
        (name, member)
        for name, member in lacking
        if version < max(ONLY_FROM.get(key, (0, 0)) for key in ((name, member), ("", member)))
    }
    assert lacking == known


def test_unknown_version_without_compiler_is_said(copy: Path, one_tensor: Held) -> None:
    only_table(copy, "1.0.0")
    commands = ["set dualdbg compiler no-such-compiler", "torch-types", "dualdbg-layout"]
    outcome = one_tensor.look(commands, entry=copy / "dualdbg_gdb.py")
    assert "no compiler 'no-such-compiler'" in outcome.error(1)
    assert "no table for version 2.13.0" in outcome.output(2)


def test_table_for_another_minor_version_is_tried_last(copy: Path, one_tensor: Held) -> None:
    """On a machine without a compiler: it must fit what can be checked, and every answer says what it is."""
    only_table(copy, "2.12.0")
    (copy / TABLE.with_name("torch-2.20.0.json")).write_text(
        '{"torch": "2.20.0", "records": {}, "enums": {}}'
    )
    commands = [
        "set dualdbg compiler no-such-compiler",
        "dualdbg-json tensor {tensor} --data",
        "dualdbg-layout",
    ]
    outcome = one_tensor.look(commands, entry=copy / "dualdbg_gdb.py")
    assert outcome.data(1)["repr"] == outcome.published["more"]["repr"]
    assert (
        "near 2.13.0; what could be checked fits the process, the rest may not" in outcome.data(1)["layout"]
    )
    assert "no table for version 2.13.0" in outcome.output(2)


def test_library_of_unknown_version_numbers_the_element_types(copy: Path, tmp_path: Path) -> None:
    """The table of 2.12 is as near as that of 2.14, and does not fit; that one has an element type more."""
    (copy / TABLE).unlink()
    program = [sys.executable, HERE / "targets" / "tensors.py", "1", ENTRY.parent / TABLE]
    with held(program, tmp_path) as target:
        names = [name for name in target.names if name.startswith("dtype_") and name not in UNLIKE_REPR]
        commands = [f"dualdbg-json tensor {{{name}}} --data" for name in names]
        commands = ["set dualdbg compiler no-such-compiler", *commands, "dualdbg-layout"]
        outcome = target.look(commands, entry=copy / "dualdbg_gdb.py")
    expected = outcome.published["more"]["repr"]
    found = {name: outcome.data(1 + index)["repr"] for index, name in enumerate(names)}
    assert len(found) > 15
    assert found == {name: expected[name] for name in names}
    assert "believed: table for torch 2.14.1, near 2.13.0; " in outcome.output(len(commands) - 1)
    assert "refused: table for torch 2.12.1, near 2.13.0: " in outcome.output(len(commands) - 1)


def test_table_for_another_minor_version_that_does_not_fit_is_refused(copy: Path, one_tensor: Held) -> None:
    path = only_table(copy, "2.12.0")
    table = json.loads(path.read_text())
    table["records"]["c10::TensorImpl"][1]["numel_"][0] += 8
    path.write_text(json.dumps(table))
    commands = ["set dualdbg compiler no-such-compiler", "tensor {tensor}", "dualdbg-layout"]
    outcome = one_tensor.look(commands, entry=copy / "dualdbg_gdb.py")
    assert "does not fit" in outcome.error(1)
    assert "refused: table for torch 2.13.0, near 2.13.0" in outcome.output(2)


@pytest.mark.slow
def test_version_without_a_table_is_read_by_what_torch_types_compiles(
    copy: Path, one_tensor: Held, cache: dict[str, str]
) -> None:
    only_table(copy, "1.0.0")
    show = "dualdbg-json tensor {tensor} --data"
    outcome = one_tensor.look([show, "torch-types", show], entry=copy / "dualdbg_gdb.py", env=cache)
    assert "there is no table for torch 2.13.0" in outcome.error(0) and "`torch-types core`" in outcome.error(
        0
    )
    answer = json.loads(outcome.output(2).splitlines()[-1])
    assert answer["repr"] == outcome.published["more"]["repr"]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_table_is_what_the_compiler_says(one_tensor: Held, cache: dict[str, str]) -> None:
    """The table in the package was made by the tool, and nothing in it was forgotten."""
    commands = [
        "torch-types core",
        "torch-types jit",
        "set dualdbg layouts types-object",
        "python from dualdbg_helpers import context; from dualdbg_helpers.layout.wanted import PARTS; import json; "
        "chain = context.current().layout; "
        "records = [chain.record(r) for part in PARTS.values() for r in part.records]; "
        "print(json.dumps({r.name: [r.size, r.offsets] for r in records}))",
    ]
    outcome = one_tensor.look(commands, env=cache, timeout=patient(300))
    found = json.loads(outcome.output(3).splitlines()[-1])
    table = json.loads((ENTRY.parent / TABLE).read_text())["records"]
    expected = {
        n: [size, {m: place[0] for m, place in fields.items()}] for n, (size, fields) in table.items()
    }
    assert found == expected


@pytest.mark.slow
@pytest.mark.exhaustive
def test_values_by_compiled_types(corpus_library: Path, tmp_path: Path, cache: dict[str, str]) -> None:
    commands, setup = (
        ["torch-types core", "torch-types jit", *test_ivalues.looks_by("types-object")],
        ["run", *test_ivalues.BREAK],
    )
    program = test_ivalues.program(corpus_library, "20260711:300")
    outcome = run_gdb(program, commands, tmp_path, setup=setup, env=cache, timeout=patient(300))
    outcome.published["more"] = outcome.published["more"][0]
    test_ivalues.values_are_as_pytorch_prints_them("types-object", outcome, 4)


@pytest.mark.slow
def test_types_for_gdb_itself(one_tensor: Held, cache: dict[str, str]) -> None:
    commands = ["set language c++", "torch-types", "print *(c10::TensorImpl*){tensor}"]
    outcome = one_tensor.look(commands, env=cache, timeout=patient(300))
    assert "gdb knows the types of torch-2.13.0-core-" in outcome.output(1)
    assert outcome.output(2).split(" = ", 1)[1] == outcome.published["more"]["repr"] + "\n"


def test_without_pytorch(tmp_path: Path) -> None:
    target = tmp_path / "target.py"
    folder = str(HERE / "targets")
    target.write_text(
        f"import sys; sys.path.insert(0, {folder!r})\nfrom publishing import publish, stop\npublish(); stop()"
    )
    commands = [
        "tensor $sp",
        "ivalue-stack",
        "dualdbg-layout",
        "op aten::add",
        "dispatch-keys 1",
        "jit-frame",
    ]
    outcome = run_gdb([sys.executable, target], commands, tmp_path)
    for index in (0, 1, 3, 4, 5):
        assert "This process has not loaded PyTorch." in outcome.error(index) or "No Stack" in outcome.error(
            index
        )
    assert outcome.output(2).startswith("PyTorch is not loaded in this process.\nCPython 3.")


def test_without_a_process(tmp_path: Path) -> None:
    outcome = run_gdb([sys.executable], ["tensor $sp", "torch-help", "ivalue-stack"], tmp_path, setup=())
    assert outcome.error(0).startswith("No process and no core file.")
    assert "ivalue-stack" in outcome.output(1)
    assert outcome.error(2).startswith("No process and no core file.")
