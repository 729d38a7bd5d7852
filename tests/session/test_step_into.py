"""Where ``step`` enters an operator of PyTorch: in its binding, at the dispatcher or in its kernel, as is set."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.config import find_config
from dualdbg.console.completion import Completions
from dualdbg.errors import ConfigError
from dualdbg.model import Layer, PythonFrame, Quality, Reason
from dualdbg.symbols.torch.operators import OperatorTable
from tests import rows
from tests.cli.driver import dualdbg
from tests.session.driver import Driver, name, run_session

PROGRAM = """\
import torch
a = torch.ones(2, 3, requires_grad=True)
b = torch.randn(2, 3)
c = a + b
d = torch.relu(a)
e = a.shape
f = c.sum(); f.backward()
"""
ROWS = {
    Layer.BINDING: {
        3: "torch::autograd::THPVariable_randn",
        4: "torch::autograd::THPVariable_add",
        5: "torch::autograd::THPVariable_relu",
        6: "THPVariable_get_shape",
    },
    Layer.DISPATCH: {
        3: "at::_ops::randn::call",
        4: "at::_ops::add_Tensor::call",
        5: "at::_ops::relu::call",
        6: "THPVariable_get_shape",  # no operator: its binding
    },
    Layer.KERNEL: {
        3: "at::native::randn",
        4: "at::native::structured_ufunc_add_CPU::impl",  # below the kernel that records it for autograd
        5: "at::native::relu",
        6: "THPVariable_get_shape",
    },
}


@pytest.mark.torch
@pytest.mark.parametrize("layer", rows.some([Layer.KERNEL, Layer.BINDING, Layer.DISPATCH], 2))
def test_a_step_enters_the_layer_that_is_set(layer: Layer, operators: OperatorTable, tmp_path: Path) -> None:
    async def work(driver: Driver) -> None:
        assert driver.session.code.step_into is layer
        await driver.stop()
        for line, function in ROWS[layer].items():
            while name((stop := driver.session.stop) and stop.frame) != f"program.py:{line}":
                await driver.step("next")
            stop = await driver.step("step")
            assert (name(stop.frame), stop.reason) == (function, Reason.STEP)
            stack = await driver.stack()
            python = [frame for frame in stack.visible() if isinstance(frame, PythonFrame)]
            assert stack.quality is Quality.FULL and name(python[0]) == f"program.py:{line}"
        assert (await driver.finish_run()).code == 0

    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    run_session(work, script, "program.py:2", operators=operators, step_into=layer)


@pytest.mark.torch
def test_a_step_out_of_a_function_without_debug_info_is_one(operators: OperatorTable, tmp_path: Path) -> None:
    """Its calls are watched by internal breakpoints, and gdb numbers these below zero."""

    async def work(driver: Driver) -> None:
        assert name((await driver.stop()).frame) == "at::native::randn"
        assert (await driver.step("step")).reason is Reason.STEP
        assert [notice for notice in driver.notices if notice.level != "info"] == []

    script = tmp_path / "program.py"
    script.write_text("import torch\nb = torch.randn(2, 3)\n")
    run_session(work, script, "randn", operators=operators)


def test_the_setting_in_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "dualdbg.toml"
    file.write_text('step-into = "kernel"')
    assert find_config(tmp_path).step_into is Layer.KERNEL
    file.write_text('step-into = "all"')
    with pytest.raises(ConfigError, match="step-into is 'all'"):
        find_config(tmp_path)
    file.write_text("")
    assert find_config(tmp_path).step_into is Layer.BINDING


def test_the_setting_at_the_prompt(tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("x = 1\ny = 2\n")
    words = ("set", "set step-into dispatch", "set step-into all", "set")
    given = [word for command in words for word in ("-x", command)]
    done = dualdbg("run", script, "-b", "program.py:2", *given, "--batch")
    assert [line for line in done.stdout.splitlines() if line.startswith("step-into")] == [
        "step-into binding",
        "step-into dispatch",
        "step-into dispatch",
    ]
    assert "set does not know 'step-into all'" in done.stdout + done.stderr
    assert [one for one, _ in Completions(lambda _: (), ()).candidates("set step-into k")] == ["kernel"]
