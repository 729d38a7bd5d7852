"""From a line of the program back to the kernels that compute it, in folders of records and in packages."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from dualdbg.console.names import lines_text
from dualdbg.errors import SymbolError
from dualdbg.symbols.torch.compiled_search import find_kernels
from tests.cli.driver import dualdbg

from .made_records import GRAPH, KERNEL, MODULE, TRACES, CompiledFxGraph, package, write


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """A folder with one graph that is one library."""
    traces = {
        "cpp_fused_add_0:1": TRACES["cpp_fused_add_0:1"],
        "cpp_fused_sum_1:3": ['  File "/home/model.py", line 30, in step\n    return total.sum()\n'],
    }
    members = {"cache_key": MODULE, "source_code": GRAPH}
    text = json.dumps(traces)
    write(tmp_path, pickle.dumps(CompiledFxGraph(**members, inductor_provenance_stack_traces_str=text)))
    source = tmp_path / "zz" / f"{KERNEL}.main.cpp"
    source.parent.mkdir()
    source.write_text(GRAPH.split("r'''")[1].split("'''")[0] + "\n// the entry of Python\n")
    source.with_suffix(".so").touch()
    return tmp_path


def _back(wanted: str, where: Path | None) -> list[tuple[str, str]]:
    found = find_kernels(wanted, where)
    return [(one.kernel.name, lines_text(one.kernel.lines or ())) for one in found]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("cpp_fused_add_0", [("cpp_fused_add_0", "model.py:5, 10-11")]),
        ("cpp_fused_add_0(float*, const float*)", [("cpp_fused_add_0", "model.py:5, 10-11")]),
        (f"{KERNEL}.main.cpp", [("cpp_fused_add_0", "model.py:5, 10-11")]),
        (f"{KERNEL}.main.so", [("cpp_fused_add_0", "model.py:5, 10-11")]),
        (f"{KERNEL}.main.cpp:3", [("cpp_fused_add_0", "model.py:5, 10-11")]),
        (f"{MODULE}.py:13", [("cpp_fused_add_0", "model.py:5, 10-11")]),
        (f"{MODULE}.py:16", [("extern_kernels.mm", "model.py:20")]),  # and not what the other call computes
        (f"{MODULE}.py:18", [("extern_kernels.mm", "layers.py:7")]),
    ],
)
def test_the_way_back(folder: Path, wanted: str, found: list[tuple[str, str]]) -> None:
    assert _back(wanted, folder) == found
    paths = [*folder.glob(f"*/{wanted.partition(':')[0]}")]
    for path in paths:  # a file is its own place
        assert _back(f"{path}{wanted.partition(path.name)[2]}", None) == found


def test_the_way_back_in_a_graph_that_is_one_library(graph: Path) -> None:
    source = f"{KERNEL}.main.cpp"
    rows = (graph / "zz" / source).read_text().splitlines()
    first = rows.index("    cpp_fused_add_0((const float*)(a.data_ptr()), (float*)(b.data_ptr()));") + 1
    defined = [at for at, row in enumerate(rows, 1) if row.startswith('extern "C"  void  cpp_fused_add_0(')][
        1
    ]
    added, summed = ("cpp_fused_add_0", "model.py:5, 10-11"), ("cpp_fused_sum_1", "model.py:30")
    assert _back(source, graph) == [added, summed]
    assert _back(f"{source}:{first}", graph) == [added]
    assert [_back(f"{source}:{defined + more}", graph) for more in range(4)] == [[added]] * 4
    assert _back(f"{source}:{defined + 4}", graph) == [summed]
    for line in (1, first - 1, len(rows), 10**6):
        with pytest.raises(SymbolError, match="is in no kernel") as raised:
            find_kernels(f"{source}:{line}", graph)
        assert f"dualdbg ops --compiled {source}" in raised.value.hint


def test_the_way_back_in_a_package(tmp_path: Path) -> None:
    where = package(tmp_path / "model.pt2")
    assert _back(f"{KERNEL}.kernel.cpp:2", where) == [("cpp_fused_add_0", "model.py:5, 10-11")]
    assert _back(f"/tmp/unpacked/{MODULE}.wrapper.cpp:5", where) == [("aoti_torch_cpu_mm_out", "model.py:20")]
    assert _back("cpp_fused_add_0", where) == [("cpp_fused_add_0", "model.py:5, 10-11")]


@pytest.mark.parametrize(
    ("wanted", "message", "hint"),
    [
        ("kernel", "is what the function of every library is called", "cpp_fused_add_0"),
        (f"{MODULE}.py:17", "no kernel is called in line 17", "13, 16, 18"),
        (f"{KERNEL}.main.cpp:99", "line 99 of", f"ops --compiled {KERNEL}.main.cpp"),
        (f"{'c' + '4' * 51}.py", "has no record of c4", "--cache PATH"),
        ("cpp_fused_mul_7", "and none is called so", "extern_kernels.mm"),
    ],
)
def test_what_leads_nowhere_back(folder: Path, wanted: str, message: str, hint: str) -> None:
    with pytest.raises(SymbolError, match=message) as raised:
        find_kernels(wanted, folder)
    assert hint in raised.value.hint


@pytest.mark.processes
def test_resolve_knows_lines(folder: Path) -> None:
    source = next(folder.glob("zz/*.cpp"))
    done = dualdbg("resolve", f"{source}:3", "math.sin")
    assert done.status == 0
    assert "  cpp_fused_add_0(float*, const float*)  called in line 13" in done.stdout
    assert "      model.py:10 step  total = scale(x) + 1" in done.stdout
    assert "math.sin  (built-in function)" in done.stdout
    done = dualdbg("resolve", "model.py:20", "model.py:21", "--cache", folder, "--json")
    assert done.status == 3
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(row["name"], row.get("kernel")) for row in rows] == [
        ("model.py:20", "extern_kernels.mm"),
        ("model.py:21", None),
    ]
    assert "no kernel in" in rows[1]["error"]
    dualdbg("resolve", "math.sin", "--cache", folder).complains("--cache goes with FILE:LINE")
