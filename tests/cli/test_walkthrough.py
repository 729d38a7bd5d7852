"""What a PyTorch engineer does by hand: from `import torch` into the extension's init and into `randn`, and back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.driver import Event, dualdbg, json_run, terminal
from tests.support import SAMPLES, require

pytestmark = [pytest.mark.torch, pytest.mark.slow]

SCRIPT = SAMPLES / "testdebug.py"
INIT, RANDN = "THPModule_initExtension", "at::native::randn"


@pytest.fixture(autouse=True)
def torch() -> None:
    import importlib.util

    require(importlib.util.find_spec("torch"), "PyTorch")


def functions(stack: Event) -> list[str]:
    return [frame["function"] for frame in stack["frames"]]


def position(stack: Event, function: str, file: str | None = None) -> int:
    for index, frame in enumerate(stack["frames"]):
        if frame["function"] == function and (file is None or (frame["file"] or "").endswith(file)):
            return index
    raise AssertionError(f"{function} is not in {functions(stack)}")


def line_of(event: Event) -> tuple[str, int]:
    return Path(event["frame"]["file"]).name, event["frame"]["line"]


def test_all_layers_stop_each_with_one_stack_of_both_languages() -> None:
    """From PyTorch's extension's init to the layers of an operator; and a name that never bound has the nearest."""
    places = [word for spec in (INIT, "randn@all", "at::native::randnn") for word in ("-b", spec)]
    commands = [word for one in ("bt", *["continue"] * 3, "bt") for word in ("-x", one)]
    done = dualdbg("run", *places, *commands, "--batch", "--json", SCRIPT)
    assert done.status == 0, done
    stops = done.of("stopped")
    assert {event["origin"] for event in stops} == {"native"}
    layers = ["torch::autograd::THPVariable_randn", "at::_ops::randn::call", RANDN]
    assert [event["frame"]["function"] for event in stops] == [INIT, *layers]
    first, second = done.of("stack")
    assert position(first, INIT) < position(first, "<module>", "torch/__init__.py")
    assert position(first, "<module>", "torch/__init__.py") < position(first, "<module>", "testdebug.py")
    assert first["frames"][-1]["line"] == 1
    order = [position(second, name) for name in reversed(layers)] + [
        position(second, "<module>", "testdebug.py")
    ]
    assert order == sorted(order)
    assert second["frames"][-1]["line"] == 3
    assert second["quality"] == first["quality"] == "full"
    (warning,) = [event for event in done.of("notice") if event["level"] == "warning"]
    assert "at::native::randnn" in warning["message"] and "never bound" in warning["message"]
    assert RANDN in warning["hint"]


@pytest.mark.exhaustive  # the walk of the session is in tests/session/test_session.py, that of a user is the next
def test_the_walk_by_script() -> None:
    with json_run("-b", INIT, "-b", "randn", "--stop-on-entry", SCRIPT) as run:
        entry = run.next("stopped")
        assert (entry["origin"], entry["reason"], line_of(entry)) == ("python", "entry", ("testdebug.py", 1))

        run.send("next")
        init = run.next("stopped")
        assert (init["origin"], init["breakpoints"], init["frame"]["function"]) == ("native", [1], INIT)
        run.send("bt")
        stack = run.next("stack")
        assert stack["quality"] == "full"
        position(stack, "<module>", "torch/__init__.py")

        run.send("continue")  # the `next` of before is completed
        after_import = run.next("stopped")
        assert (after_import["origin"], after_import["reason"]) == ("python", "step")
        assert line_of(after_import) == ("testdebug.py", 3)

        run.send("next")
        randn = run.next("stopped")
        assert (randn["origin"], randn["breakpoints"], randn["frame"]["function"]) == ("native", [2], RANDN)

        run.send("continue")
        line_4 = run.next("stopped")
        assert (line_4["origin"], line_of(line_4)) == ("python", ("testdebug.py", 4))
        run.send("print d.shape")
        assert run.next("value")["value"] == "torch.Size([2, 3])"

        run.send("continue")
        assert run.next("exited") == {"event": "exited", "code": 0, "signal": None}
        assert run.finish() == 0
        output = "".join(event["text"] for event in run.seen if event["event"] == "output")
        assert output.startswith("tensor([[")


def test_the_walk_by_hand() -> None:
    with terminal("run", SCRIPT, "-b", INIT, "-b", "randn", "--stop-on-entry") as screen:
        assert "testdebug.py:1\n" in screen.prompt()
        assert "* Breakpoint 1: native" in screen.ask("n") and INIT in screen.ask("frame")
        assert "testdebug.py:3\n" in screen.ask("c")
        assert "* Breakpoint 2: native" in screen.ask("next")
        stack = screen.ask("bt")
        assert f"#0 c++  {RANDN}" in stack and "glue torch::autograd::THPVariable_randn" in stack
        assert "testdebug.py:4\n" in screen.ask("continue")
        screen.send("c")
        status, rest = screen.finish()
        assert "tensor([[" in rest and "The program ended with status 0" in rest
        assert status == 0
