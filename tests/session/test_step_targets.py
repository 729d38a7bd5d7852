"""Where ``step`` lands, by kind of call: the rows of the table in docs/stepping.md beyond the C API and pybind11."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from dualdbg.model import Language, PythonFrame, Quality, Reason
from dualdbg.symbols.torch.operators import OperatorTable
from tests import support
from tests.session.driver import Driver, name, run_session

Env = dict[str, str]

BINDINGS = """\
import sample_nanobind, sample_cython
def double(v):
    return v * 2
a = sample_nanobind.add(1.0, 2.0)
b = sample_nanobind.call_back(double, 3.0)
n = sample_nanobind.Counter()
c = n.increase(3)
m = n + n
d = sample_cython.add(1.0, 2.0)
e = sample_cython.call_back(double, 3.0)
k = sample_cython.Counter()
f = k.increase(3)
g = len(k)
"""

PROTOCOLS = """\
import sample_capi
u = sample_capi.Vec2(3.0, 4.0)
with u as v:
    w = abs(1)
x = u * 2.0
y = u == v
z = repr(u)
for c in u: pass
l = u.length()
n = u.norm
s = sum([1, 2]) + len("abc")
t = 1
"""

TORCH = """\
import torch
torch.ops.load_library("LIBRARY")
a = torch.ones(2, 3, requires_grad=True)
b = torch.ops.sample.scale(a.detach(), 2.0)
op = torch.ops.sample.read_unchecked
c = a + a
d = a.sum()
e = op(b, 1)
f = torch.randn(2)
g = a[0]
h = a.shape
i = 1
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "program.py"
    path.write_text(text)
    return path


async def to_line(driver: Driver, line: int) -> None:
    """``next`` until the line is reached."""
    while (here := name(driver.session.stop.frame if driver.session.stop else None)) != f"program.py:{line}":
        assert here.startswith("program.py:"), here
        await driver.step("next")


async def lands(driver: Driver, line: int, function: str, back: bool = True) -> None:
    """``step`` at the line enters ``function``; with ``back``, ``finish`` ends on the line again."""
    await to_line(driver, line)
    stop = await driver.step("step")
    assert (name(stop.frame), stop.reason) == (function, Reason.STEP), line
    stack = await driver.stack()
    assert stack.quality is Quality.FULL and name(stack.visible()[-1]) == f"program.py:{line}"
    if back:
        assert name((await driver.step("finish")).frame) == f"program.py:{line}"


async def finish_to_program(driver: Driver) -> None:
    """``finish`` from caller to caller, through PyTorch's native and Python code, until a line of the program."""
    for _ in range(12):
        if name((await driver.step("finish")).frame).startswith("program.py:"):
            return
    pytest.fail("the program was not reached")


async def walk(driver: Driver, rows: dict[int, str]) -> None:
    await driver.stop()
    for line, function in rows.items():
        await lands(driver, line, function)
    assert (await driver.finish_run()).code == 0


@pytest.fixture(scope="session")
def bindings() -> Env:
    """What a program needs to import the samples in nanobind and Cython."""
    for module in ("nanobind", "Cython"):
        support.require(importlib.util.find_spec(module), f"{module}: pip install nanobind cython")
    return {"PYTHONPATH": str(support.built(support.SAMPLES / "bindings/build.py"))}


def test_nanobind_and_cython(bindings: Env, tmp_path: Path) -> None:
    rows = {
        4: "(anonymous namespace)::add",
        5: "(anonymous namespace)::call_back",
        7: "(anonymous namespace)::Counter::increase",
        8: "(anonymous namespace)::Counter::operator+",
        9: "sample_cython.add",
        10: "sample_cython.call_back",
        12: "sample_cython.Counter.increase",
        13: "sample_cython.Counter.__len__",
    }
    script = write(tmp_path, BINDINGS)
    run_session(lambda driver: walk(driver, rows), script, env=bindings, stop_on_entry=True)


def test_type_slots_and_what_is_stepped_over(env: Env, tmp_path: Path) -> None:
    rows = {
        3: "vec2_enter",
        5: "vec2_multiply",
        6: "vec2_compare",
        7: "vec2_repr",
        8: "vec2_iterate",
        9: "vec2_length",
        10: "vec2_norm",
    }

    async def work(driver: Driver) -> None:
        await driver.stop()
        for line, function in rows.items():
            await lands(driver, line, function)
        await to_line(driver, 11)
        assert name((await driver.step("step")).frame) == "program.py:12"  # built-ins only
        assert (await driver.finish_run()).code == 0

    run_session(work, write(tmp_path, PROTOCOLS), env=env, stop_on_entry=True)


@pytest.mark.torch
def test_pytorch_functions_operators_and_custom_ones(
    torch_extension: Path, operators: OperatorTable, tmp_path: Path
) -> None:
    script = write(tmp_path, TORCH.replace("LIBRARY", str(torch_extension / "sample_operators.so")))
    rows = {
        6: "torch::autograd::THPVariable_add",
        7: "torch::autograd::THPVariable_sum",
        9: "torch::autograd::THPVariable_randn",
        10: "torch::autograd::THPVariable_getitem",
        11: "THPVariable_get_shape",
    }

    async def work(driver: Driver) -> None:
        await driver.stop()
        await to_line(driver, 4)
        assert name((await driver.step("step")).frame) == "torch::autograd::THPVariable_detach"
        assert name((await driver.step("finish")).frame) == "program.py:4"
        stop = await driver.step("step")
        assert name(stop.frame) == "sample::scale" and getattr(stop.frame, "line", None) is not None
        await finish_to_program(driver)
        for line in (6, 7):
            await lands(driver, line, rows[line])
        await lands(driver, 8, "sample::read_unchecked", back=False)
        await finish_to_program(driver)
        for line in (9, 10, 11):
            await lands(driver, line, rows[line])
        assert (await driver.finish_run()).code == 0

    run_session(work, script, operators=operators, stop_on_entry=True)


@pytest.mark.torch
def test_step_without_debug_info_enters_the_next_named_call(operators: OperatorTable, tmp_path: Path) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        stop = await driver.step("step")
        entered = [name(stop.frame)]
        assert entered == ["torch::autograd::THPVariable_randn"]
        depths = []
        for _ in range(4):
            stop = await driver.step("step")
            assert stop.origin is Language.NATIVE and stop.reason is Reason.STEP
            stack = await driver.stack()
            assert stack.quality is Quality.FULL
            depths.append(len([f for f in stack.visible() if not isinstance(f, PythonFrame)]))
            entered.append(name(stop.frame))
        assert depths[0] == 2 and all(not one.startswith("0x") for one in entered), (depths, entered)
        assert entered[1] != entered[0]
        assert name((await driver.step("finish")).frame) is not None
        assert (await driver.finish_run()).code == 0

    script = write(tmp_path, "import torch\nx = torch.randn(2, 3)\ny = 1\n")
    run_session(work, script, "program.py:2", operators=operators)


def test_a_library_behind_a_symbolic_link_has_its_symbols(env: Env, crossing: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(env["PYTHONPATH"])

    async def work(driver: Driver) -> None:
        await driver.stop()
        stop = await driver.step("step")
        assert name(stop.frame) == "(anonymous namespace)::add" and getattr(stop.frame, "line", None)
        assert await driver.names() == ["(anonymous namespace)::add", "crossing.py:5"]
        await driver.finish_run()

    run_session(work, crossing, "crossing.py:5", env={"PYTHONPATH": str(link)})
