"""TorchScript's graphs, code and interpreter frames in a process without debug info."""

from __future__ import annotations

import sys

import pytest

from tests.gdb_scripts.gdb_run import HERE, Outcome, run_gdb

pytestmark = [pytest.mark.torch]

GRAPHS = [sys.executable, HERE / "targets" / "graphs.py"]
RUN = "_ZN5torch3jit20InterpreterStateImpl11runTemplateILb0EEEbRSt6vectorIN3c106IValueESaIS5_EE"
RELU = "_ZN2at6native4reluERKNS_6TensorE"
NAMES = ("loop", "containers", "traced", "inlined", "optimized")


def break_at(symbol: str) -> str:
    return f"python break_at({symbol!r}, 'libtorch_cpu')"


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    # A pybind11 object has the pointer to its C++ object behind its head.
    commands = [f"dualdbg-json jit-graph *(long*)({{{name}}}+16)" for name in NAMES]
    commands += [f"dualdbg-json jit-graph *(long*)({{{name}_first}}+16)" for name in NAMES]
    commands += [f"dualdbg-json jit-graph *(long*)({{{name}_input}}+16)" for name in NAMES]
    commands += ["jit-frame", "jit-code 0x10", "jit-graph $sp"]
    return run_gdb(GRAPHS, commands, tmp_path_factory.mktemp("graphs"))


def test_graphs_are_what_str_says(graphs: Outcome) -> None:
    for i, name in enumerate(NAMES):
        assert graphs.data(i)["graph"] == graphs.published["more"]["graphs"][name], name


def test_nodes_and_values(graphs: Outcome) -> None:
    more = graphs.published["more"]
    for i, name in enumerate(NAMES):
        assert graphs.data(5 + i)["graph"] + "\n" == more["nodes"][f"{name}_first"]
        expected = f"%{more['values'][f'{name}_input']} : {more['types'][f'{name}_input']}"
        assert graphs.data(10 + i)["graph"] == expected


BOXED = ("make_boxed_from_unboxed_functor", "VariableType12_GLOBAL__N_1", "4relu", "4call")
# In the order in which the program comes to them: the commands that set the breakpoint, and those at the stop.
STOPS = {
    "interpreter": (
        [break_at(RUN)],
        [
            "dualdbg-json ivalue-stack",
            "dualdbg-json jit-frame",
            "dualdbg-json jit-code",
            "jit-graph",
            "stepi 10",
            "ivalue-stack",
            "dualdbg-json ivalue-stack $rsi",
        ],
    ),
    "dispatcher": (
        ["python break_like('libtorch_cpu', 'Dispatcher9callBoxed')"],
        ["dualdbg-json ivalue-stack"],
    ),
    "boxed": (
        [f"python break_like('libtorch_cpu', *{BOXED})"],
        ["dualdbg-json ivalue-stack", "op $rsi", "dispatch-keys $rdx"],
    ),
    "operator": (
        [break_at(RELU)],
        ["dualdbg-json jit-frame", "dualdbg-json tensor $rsi", "jit-code", "tensor $rdi"],
    ),
}


@pytest.fixture(scope="module")
def stops(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    commands = [
        command
        for set_breakpoint, looks in STOPS.values()
        for command in ("delete", *set_breakpoint, "continue", *looks)
    ]
    outcome = run_gdb(GRAPHS, commands, tmp_path_factory.mktemp("stops"))
    found, results = {}, iter(outcome.results)
    for name, (set_breakpoint, looks) in STOPS.items():
        for _ in range(2 + len(set_breakpoint)):
            assert next(results)["error"] is None
        found[name] = Outcome([next(results) for _ in looks], outcome.published, outcome.log)
    return found


def test_at_the_entry_of_the_interpreter(stops: dict[str, Outcome]) -> None:
    outcome = stops["interpreter"]
    stack = outcome.data(0)
    where = "register rsi at the entry of torch::jit::InterpreterStateImpl::runTemplate<false>"
    assert stack["found"] == where
    assert [(v["kind"], v["text"]) for v in stack["values"][1:]] == [("Int", "2"), ("String", "again")]
    assert stack["layout"] == "table for torch 2.13.0, checked against the process"
    frame = outcome.data(1)
    assert [f["function"] for f in frame["frames"]] == ["loop"]
    assert frame["frames"][0]["pc"] == 0
    assert frame["frames"][0]["instruction"] == "STOREN 1 3"
    assert [v["text"] for v in frame["stack"]][1:] == ["2", "again"]
    code = outcome.data(2)
    assert code["function"] == "loop" and code["pc"] == 0
    assert code["instructions"][-1] == "RET"
    assert any(line.startswith("LOADC ") and line.endswith("# 2.5") for line in code["instructions"])
    assert any("aten::cat" in line for line in code["instructions"] if line.startswith("OP "))
    assert outcome.output(3).startswith("graph(%x.1 : Tensor,\n      %n.1 : int,")
    assert "is past its entry (0x1a bytes), where the arguments were in registers" in outcome.error(5)
    assert "ivalue-stack $rsi" in outcome.error(5)


def test_inside_an_operator_that_the_interpreter_calls(stops: dict[str, Outcome]) -> None:
    outcome = stops["operator"]
    found = outcome.data(0)
    assert found["found"] == "the interpreter that this thread runs"
    assert found["frames"][0]["instruction"].startswith("OP 1  # %6 : Tensor = aten::relu(%5)")
    assert outcome.data(1)["sizes"] == [2, 2]
    assert outcome.data(1)["taken"] == "the address of an at::Tensor"
    current = [line for line in outcome.output(2).splitlines() if line.startswith("->")]
    assert len(current) == 1 and "aten::relu" in current[0]
    assert "A function that returns an object" in outcome.error(3)


def test_dispatcher_call_without_debug_info(stops: dict[str, Outcome]) -> None:
    """The compiler has made clones of this function whose arguments its name does not tell."""
    stack = stops["dispatcher"].data(0)
    assert stack["found"].startswith("register r") and stack["found"].endswith(
        "at the entry of c10::Dispatcher::callBoxed"
    )
    assert [v["kind"] for v in stack["values"]][-2:] == ["GenericList", "Int"]


def test_boxed_kernel_without_debug_info(stops: dict[str, Outcome]) -> None:
    outcome = stops["boxed"]
    stack = outcome.data(0)
    assert stack["found"].startswith(
        "register rcx at the entry of c10::impl::make_boxed_from_unboxed_functor<"
    )
    assert [(v["kind"], v["data"]["summary"]) for v in stack["values"]] == [
        ("Tensor", "float32 [2, 2] cpu grad_fn=<AddmmBackward0>")
    ]
    assert outcome.output(1).startswith("aten::relu(Tensor self) -> Tensor\n")
    assert "AutogradCPU" in outcome.output(2)


def test_no_interpreter(graphs: Outcome) -> None:
    at = 3 * len(NAMES)
    assert graphs.error(at) == "This thread does not run TorchScript's interpreter."
    assert graphs.error(at + 1).startswith("There is no code of TorchScript at 0x10")
    assert graphs.error(at + 2).startswith("There is no graph, node or value of TorchScript at 0x")
