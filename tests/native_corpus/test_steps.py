"""Steps in optimised extensions of binding layers: they come to the user's functions, and end on the user's lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from dualdbg.model import NativeFrame, PythonFrame
from tests import rows
from tests.native_corpus.test_stops import corpus, native_frame, script
from tests.session.driver import Driver, run_session

RECIPES = [("nanobind", "O3-lto"), ("pybind", "O2"), ("nanobind", "O2"), ("pybind", "O3-lto")]
FILES = {"corpus.cpp", "corpus.hpp"}
PROGRAM = """\
import corpus_{layer} as corpus
dog = corpus.Dog("rex")
dog.bark(1)
dog.age()
print("over")
"""


@pytest.mark.parametrize(("layer", "variant"), rows.some(RECIPES, 2))
def test_step_enters_methods(layer: str, variant: str, tmp_path: Path) -> None:
    """Their first instruction may be one of a header, and the thunk in front of them may have no debug info."""

    async def work(driver: Driver) -> None:
        await driver.stop()
        for name, line in (("bark", 4), ("age", 5)):
            frame = native_frame(await driver.step("step"))
            assert name in (frame.function or "") and Path(frame.file or "").name in FILES, frame
            stop = await driver.step("finish")
            while not (isinstance(stop.frame, PythonFrame) and stop.frame.line == line):
                stop = await driver.step("next")
        await driver.finish_run()

    run_session(work, script(tmp_path, PROGRAM.format(layer=layer)), "drive.py:3", env=corpus(layer, variant))


@pytest.mark.parametrize(("layer", "variant"), rows.some(RECIPES, 2))
@pytest.mark.parametrize("kind", ["next", "step"])
def test_steps_out_of_an_inlined_constructor_end_on_lines_of_the_author(
    kind: str, layer: str, variant: str, tmp_path: Path
) -> None:
    async def work(driver: Driver) -> None:
        stop, ends = await driver.stop(), []
        while isinstance(stop.frame, NativeFrame) and stop.frame.line is not None:
            ends.append(f"{Path(stop.frame.file or '').name}:{stop.frame.line} {stop.frame.function}")
            stop = await driver.step(kind)
        assert all(end.partition(":")[0] in FILES for end in ends) and len(ends) > 2, ends
        await driver.finish_run()

    text = f'import corpus_{layer} as corpus\nprint(corpus.bark("rex", 2))\n'
    run_session(work, script(tmp_path, text), "corpus::Animal::Animal", env=corpus(layer, variant))
