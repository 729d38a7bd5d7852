"""``py2cpp`` and ``cpp2py``: the native object of a Python one and back, at stops of either language."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dualdbg.model import Value
from dualdbg.session.inspect.torch_commands import HelperWords
from tests.session.driver import Driver, name, run_session

PROGRAM = """\
import numpy, torch, sample_pybind
class Both(torch._C.Graph, torch._C.CompilationUnit):
    def __init__(self):
        torch._C.Graph.__init__(self)
        torch._C.CompilationUnit.__init__(self)
class Model:
    def __init__(self):
        self.weight = torch.nn.Parameter(torch.ones(2))
def callback(v):
    return v * 2
model, tensor, array, numbers = Model(), torch.ones(2, 3), numpy.arange(6.0), [1, 2]
vector, both = sample_pybind.Vec2(3.0, 4.0), Both()
addresses = [id(one) for one in (model.weight, tensor, array, numbers, vector, both, callback)]
data = [tensor.data_ptr(), array.ctypes.data]
sample_pybind.call_back(callback, 3.0)
vector.length()
"""
NAMES = ("model.weight", "tensor", "array", "numbers", "vector", "both", "callback")
KINDS = ("tensor", "tensor", "array", "object", "pybind11", "pybind11", "object")
FIRST = ("at::Tensor *", "at::Tensor *", "double *", "PyObject *", "sample::Vec2 *", "torch::jit::Graph *")


async def said(driver: Driver, word: str, argument: str) -> Any:
    """The answer's structure."""
    stop = driver.session.stop
    assert stop is not None
    answer: Value = await HelperWords(driver.session).run(word, argument, stop.thread.tid, stop.frame)
    return answer.data


async def numbers(driver: Driver, variable: str) -> list[int]:
    stop = driver.session.stop
    assert stop is not None
    frames = (await driver.stack()).visible()
    text = await driver.session.inspector.values.evaluate_memory(variable, stop.thread.tid, frames[-1])
    return [int(part) for part in text.value.strip("[]").split(",")]


async def there_and_back(driver: Driver) -> None:
    """Every object of the program: its native one, and from that the object again."""
    objects = await numbers(driver, "addresses")
    tensor_data, array_data = await numbers(driver, "data")
    for index, name_ in enumerate(NAMES):
        found = await said(driver, "py2cpp", name_)
        assert found["kind"] == KINDS[index] and int(found["python"], 16) == objects[index], found
        assert index >= len(FIRST) or found["pointers"][0]["type"] == FIRST[index], found
        assert found["native"] == found["pointers"][0]["address"]
        assert found["pointers"][-1] == {"type": "PyObject *", "address": found["python"]}
        if name_ == "array":
            assert int(found["native"], 16) == array_data
            continue
        for row in found["pointers"]:
            back = await said(driver, "cpp2py", row["address"])
            assert back["python"] == found["python"], (row, back)
        back = await said(driver, "cpp2py", "$cpp")
        assert back["python"] == found["python"] and len(back["objects"]) == 1
    assert len((await said(driver, "py2cpp", "both"))["pointers"]) == 3  # two C++ objects in one instance
    tensor = await said(driver, "py2cpp", "tensor")
    described = await said(driver, "tensor", "$cpp")
    assert described["impl"] == tensor["pointers"][1]["address"]
    assert int(described["storage"]["data"], 16) == tensor_data
    none = await said(driver, "cpp2py", "$sp")
    assert none["python"] is None and none["objects"] == []


@pytest.mark.torch
def test_objects_of_either_side_and_back(env: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)

    async def work(driver: Driver) -> None:
        await driver.stop()
        await there_and_back(driver)  # at a Python stop
        stop = await driver.resume()
        assert name(stop.frame) == "(anonymous namespace)::call_back"
        objects = await numbers(driver, "addresses")
        held = await said(driver, "cpp2py", "callback")  # a pybind11::function
        assert int(held["python"], 16) == objects[-1] and held["kind"] == "object"
        await there_and_back(driver)  # the variables of the Python frame that called the native one
        await driver.resume()
        this = await said(driver, "cpp2py", "this")
        assert (int(this["python"], 16), this["objects"][0]["type"]) == (objects[4], "sample_pybind.Vec2")
        assert (await said(driver, "py2cpp", "$py"))["pointers"][0]["type"] == "sample::Vec2 *"
        assert (await driver.session.native.user_command("output $cpp->x + $cpp->y")).strip() == "7"
        assert (await driver.finish_run()).code == 0

    run_session(work, script, "program.py:15", "call_back", "sample::Vec2::length", env=env)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("known", "first", "told"),
    [
        ("_NEWEST = 4", "sample::Vec2 *", "are newer than dualdbg"),
        ("_OLDEST = 99", "void *", "are not known, and are left out"),
    ],
)
def test_a_version_of_pybind11_that_is_not_known(
    known: str, first: str, told: str, env: dict[str, str], tmp_path: Path
) -> None:
    """A newer one is tried. Of none it is left unsaid that its tables are not read, or perhaps not understood."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)

    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        await said(driver, "py2cpp", "tensor")  # the helpers are loaded
        patch = f"import dualdbg_helpers.python.pybind as one; one.{known}"
        await driver.session.interrupted(lambda: driver.session.native.user_command(f"python {patch}"))
        words = HelperWords(driver.session)
        answer = await words.run("py2cpp", "vector", stop.thread.tid, stop.frame)
        assert answer.data["pointers"][0]["type"] == first, answer
        assert told in answer.value and "(known: " in answer.value
        if first != "void *":
            native = answer.data["native"]
            assert told in (await words.run("cpp2py", native, stop.thread.tid, stop.frame)).value
        none = await words.run("cpp2py", "$sp", stop.thread.tid, stop.frame)
        assert none.data["python"] is None and told in none.value
        tensor = await words.run("py2cpp", "tensor", stop.thread.tid, stop.frame)
        assert told not in tensor.value, "it is none of pybind11's objects"
        await driver.finish_run()

    run_session(work, script, "program.py:15", env=env)
