"""Where ``step`` enters an operator of PyTorch: in its binding, at the dispatcher or in its kernel, as is set."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.config import find_config
from dualdbg.console.completion import Completions
from dualdbg.errors import ConfigError
from dualdbg.model import Layer, PythonFrame, Quality, Reason
from dualdbg.symbols.torch.operators import OperatorTable
from tests.cli.driver import dualdbg
from tests.session.driver import Driver, name, run_session

PROGRAM = """\
import torch
for _ in range(3):
    a = torch.ones(2, 3, requires_grad=True)
    b = torch.randn(2, 3)
    c = a + b
    d = torch.relu(a)
    e = a.shape
    f = c.sum(); f.backward()
b = torch.randn(2, 3)
"""
# Of the lines from the fourth on. What is no operator is entered in its binding.
ROWS = {
    Layer.BINDING: [
        *("torch::autograd::THPVariable_randn", "torch::autograd::THPVariable_add"),
        *("torch::autograd::THPVariable_relu", "THPVariable_get_shape"),
    ],
    Layer.DISPATCH: [
        *("at::_ops::randn::call", "at::_ops::add_Tensor::call"),
        *("at::_ops::relu::call", "THPVariable_get_shape"),
    ],
    Layer.KERNEL: [
        "at::native::randn",
        "at::native::structured_ufunc_add_CPU::impl",  # below the kernel that records it for autograd
        *("at::native::relu", "THPVariable_get_shape"),
    ],
}


@pytest.mark.torch
def test_a_step_enters_the_layer_that_is_set(operators: OperatorTable, tmp_path: Path) -> None:
    async def work(driver: Driver) -> None:
        assert driver.session.code.step_into is Layer.KERNEL
        await driver.stop()
        for layer in (Layer.KERNEL, Layer.BINDING, Layer.DISPATCH):
            driver.session.step_into = layer
            for line, function in enumerate(ROWS[layer], 4):
                while name((stop := driver.session.stop) and stop.frame) != f"program.py:{line}":
                    await driver.step("next")
                stop = await driver.step("step")
                assert (name(stop.frame), stop.reason) == (function, Reason.STEP)
                stack = await driver.stack()
                python = [frame for frame in stack.visible() if isinstance(frame, PythonFrame)]
                assert stack.quality is Quality.FULL and name(python[0]) == f"program.py:{line}"
            await driver.resume()

        # A step out of a function without debug info is one. Its calls are watched by internal breakpoints, and gdb
        # numbers these below zero.
        assert name((driver.session.stop or await driver.stop()).frame) == "program.py:9"
        await driver.session.breakpoints.add("randn")
        assert name((await driver.resume()).frame) == "at::native::randn"
        assert (await driver.step("step")).reason is Reason.STEP
        assert [notice for notice in driver.notices if notice.level != "info"] == []
        assert (await driver.finish_run()).code == 0

    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    specs = ("program.py:3", "program.py:9")
    run_session(work, script, *specs, operators=operators, step_into=Layer.KERNEL)


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
