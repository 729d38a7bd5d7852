"""`print` shows PyTorch's types as PyTorch prints them, in C++ frames with debug info."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.gdb_scripts.gdb_run import HERE, Outcome, run_gdb

pytestmark = [pytest.mark.torch]

SETUP = ["run", "sharedlibrary sample_printed", "break printed::locals_ready", "continue", "up"]

# Expression: what is printed, where PyTorch itself does not print it or prints it otherwise.
EXPECTED = {
    "tensor": "tensor([0, 1, 2])",
    "base": "tensor([0, 1, 2])",
    "leaf": "tensor([1., 1.], requires_grad=True)",
    "product": "tensor([1., 1.], grad_fn=<MulBackward0>)",
    "*impl": "tensor([0, 1, 2])",
    "array": "ArrayRef of 3 = {4, 5, 6}",
    "some": "OptionalArrayRef of 3 = {4, 5, 6}",
    "nothing": "nullopt",
    "small": "SmallVector of 2 = {7, 8}",
    "double_scalar": "2.5",
    "int_scalar": "3",
    "bool_scalar": "True",
    "complex_scalar": "(1+2j)",
    "scalar_type": "torch.float16",
    "layout": "torch.sparse_csr",
    "memory_format": "torch.channels_last",
    "key": "AutogradCPU",
    "list": "List[int] [1, 2]",
    "dict": "Dict[str, float] {half: 0.5}",
    "*grad_fn": "<MulBackward0 -> (AccumulateGrad, AccumulateGrad)>",
    "*meta": "AutogradMeta(requires_grad=True, grad_fn=<MulBackward0>)",
    "stack": "Stack of 3 = {1, 2.5, three}",
    "*value": "%b : int",
}
# Expression: the name under which the target says how PyTorch prints it.
AS_PYTORCH = {
    "plain_size": "plain_size",
    "negative_size": "negative_size",
    "device": "device",
    "keys": "keys",
    "qualified": "qualified",
    "symbol": "symbol",
    "own_symbol": "own_symbol",
    "type": "type",
    "tensor_type": "tensor_type",
    "op": "op",
    "schema": "schema",
    "argument": "argument",
    "*node": "node",
    "*graph_pointer": "graph",
    "instruction": "instruction",
    "ivalue": "ivalue",
}


@pytest.fixture(scope="module")
def printed(corpus_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    program = [sys.executable, HERE / "targets" / "printed.py", corpus_library]
    commands = [f"print {expression}" for expression in [*EXPECTED, *AS_PYTORCH]]
    commands += ["print strong", "print weak", "print *storage", "print code", "info locals", "bt 3"]
    commands += ["disable pretty-printer global dualdbg", "print ivalue"]
    return run_gdb(program, commands, tmp_path_factory.mktemp("printed"), setup=SETUP)


def value(printed: Outcome, index: int) -> str:
    return printed.output(index).split(" = ", 1)[1].rstrip("\n")


def test_printed(printed: Outcome) -> None:
    found = {expression: value(printed, i) for i, expression in enumerate(EXPECTED)}
    assert found == EXPECTED


def test_printed_as_pytorch_does(printed: Outcome) -> None:
    start, truth = len(EXPECTED), printed.published["more"]
    found = {expression: value(printed, start + i) for i, expression in enumerate(AS_PYTORCH)}
    assert found == {expression: truth[name].rstrip("\n") for expression, name in AS_PYTORCH.items()}


def test_pointers_storage_and_code(printed: Outcome) -> None:
    start = len(EXPECTED) + len(AS_PYTORCH)
    assert value(printed, start).endswith(" int64 [3] cpu")
    assert value(printed, start + 1).endswith(" int64 [3] cpu")
    assert value(printed, start + 2).startswith("StorageImpl of 24 bytes at 0x")
    first, *lines = value(printed, start + 3).splitlines()
    assert first == "Code of sample"
    assert [line.strip().split("  # ")[0] for line in lines] == printed.published["more"]["code"].splitlines()
    assert "tensor = tensor([0, 1, 2])\n" in printed.output(start + 4)
    assert "payload = {" in printed.output(start + 7)


def test_python_objects_in_cpp_frames(native_samples: Path, tmp_path: Path) -> None:
    target = tmp_path / "target.py"
    target.write_text("import sample_pybind\nsample_pybind.call_back(lambda v: [v, 'text'], 2.5)\n")
    setup = ["set breakpoint pending on", "break sample_pybind.cpp:30", "run"]
    commands = ["print callback", "print answer", "print *answer.m_ptr", "print answer.m_ptr", "info args"]
    outcome = run_gdb(
        [sys.executable, target],
        commands,
        tmp_path,
        setup=setup,
        env={"PYTHONPATH": str(native_samples)},
        before=(),
    )
    assert value(outcome, 0).startswith("<function <lambda> at 0x")
    assert value(outcome, 1) == "[2.5, 'text']"
    assert value(outcome, 2) == "[2.5, 'text']"
    assert value(outcome, 3).endswith(" [2.5, 'text']")
    assert "callback = <function <lambda> at 0x" in outcome.output(4)
