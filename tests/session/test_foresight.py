"""What steps need is read once, or while the user looks at a line; and the probe is called by its mailbox."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from dualdbg.errors import CommandError
from dualdbg.model import NativeFrame, State
from dualdbg.session.stepping import foresight
from dualdbg.session.stepping.momentary_breakpoints import MomentaryBreakpoints
from dualdbg.shared.libraries import is_c_library
from dualdbg.shared.requests.threads import ReadMemory
from dualdbg.symbols.address_space import Module
from dualdbg.symbols.gdb_feed.policy import Load
from tests.session.driver import DEADLINE, Driver, name, run_session
from tests.support import require_compiled_debugpy

Env = dict[str, str]


async def _until(holds: Callable[[], bool]) -> None:
    async def look() -> None:
        while not holds():
            await asyncio.sleep(0.02)

    await asyncio.wait_for(look(), DEADLINE)


def _module(driver: Driver, word: str) -> Module:
    return next(module for module in driver.session.code.image.modules if word in module.path)


def test_the_extension_that_a_line_names_is_read_while_the_user_looks(crossing: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        reader = driver.session.inspector.reader
        assert not reader.is_prepared(_module(driver, "sample_capi"))
        await _until(lambda: reader.is_prepared(_module(driver, "sample_capi")))
        assert not reader.is_prepared(_module(driver, "sample_pybind"))  # another line names it
        assert driver.session.state is State.PYTHON_STOPPED
        assert name((await driver.step("step")).frame) == "capi_outer"
        assert not [notice for notice in driver.notices if notice.level == "error"]
        await driver.finish_run()

    run_session(work, crossing, "crossing.py:6", env=env)


def test_a_line_that_is_left_at_once_is_not_looked_at(crossing: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        await driver.step("next")
        reader = driver.session.inspector.reader
        await _until(lambda: reader.is_prepared(_module(driver, "sample_pybind")))
        assert not reader.is_prepared(_module(driver, "sample_capi"))
        await driver.finish_run()

    run_session(work, crossing, "crossing.py:6", env=env)


def test_what_any_step_needs_is_read_at_the_stop(
    crossing: Path, env: Env, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foresight, "_LOOK", 1000.0)  # no line is looked at

    async def work(driver: Driver) -> None:
        await driver.stop()
        reader = driver.session.inspector.reader
        below = [one for one in driver.session.code.image.modules if is_c_library(one.path)]
        below += [_module(driver, path) for path in reader.rules.interpreter_libraries]
        await _until(lambda: all(map(reader.is_prepared, below)))
        assert len(below) > 1 and not reader.is_prepared(_module(driver, "sample_capi"))
        await driver.finish_run()

    run_session(work, crossing, "crossing.py:6", env=env)


def test_a_line_that_waits_lets_gdb_read_no_library_but_those_that_may_have_it(
    crossing: Path, env: Env
) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        reader = driver.session.inspector.reader
        assert reader.is_prepared(_module(driver, "sample_pybind"))
        assert not reader.is_prepared(_module(driver, "sample_capi"))
        (row,) = [one for one in driver.session.breakpoints.all() if one.spec.line == 29]
        assert row.locations
        await driver.finish_run()

    run_session(work, crossing, "sample_pybind.cpp:29", "crossing.py:5", env=env)


def test_a_look_ahead_that_gdb_refuses_is_not_told(
    crossing: Path, env: Env, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has asked for it: the target runs on meanwhile, say."""
    asked = []

    async def refuse(self: MomentaryBreakpoints, entries: object) -> None:
        asked.append(entries)
        raise CommandError("gdb: Cannot execute this command while the target is running.")

    monkeypatch.setattr(MomentaryBreakpoints, "foresee", refuse)

    async def work(driver: Driver) -> None:
        await driver.stop()
        await _until(lambda: bool(asked))
        await driver.step("next")
        assert not [notice for notice in driver.notices if notice.level == "error"]
        await driver.finish_run()

    run_session(work, crossing, "crossing.py:6", env=env)


def test_of_debugpys_own_libraries_gdb_gets_no_debug_info(crossing: Path, env: Env) -> None:
    async def work(driver: Driver) -> list[Load]:
        await driver.stop()
        reader = driver.session.inspector.reader
        modules = driver.session.code.image.modules
        loads = [reader.load_of(one) for one in modules if reader.rules.is_ours(one.path)]
        assert reader.load_of(_module(driver, "sample_pybind")) is Load.WHOLE
        await driver.finish_run()
        return loads

    require_compiled_debugpy()
    loads = run_session(work, crossing, "crossing.py:5", env=env)
    assert loads and Load.WHOLE not in loads


def test_the_python_side_of_one_thread_is_that_among_all(crossing: Path, env: Env) -> None:
    async def work(driver: Driver) -> None:
        stop = await driver.stop()
        side = driver.session.inspector.reader.python_side
        threads = {one.tid: one for one in side.threads()}
        assert stop.thread.tid in threads
        for tid, thread in threads.items():
            assert side.thread(tid) == thread
        assert side.thread(1) is None
        await driver.finish_run()

    run_session(work, crossing, "(anonymous namespace)::add", env=env)


# -- the probe --------------------------------------------------------------------------------------


async def _straight_to_native(driver: Driver) -> None:
    """gdb has not heard of the mailbox."""
    await driver.stop()


async def _by_a_step(driver: Driver) -> None:
    """The probe has told of the mailbox."""
    await driver.stop()
    await driver.step("step")


@pytest.mark.parametrize(
    ("arrive", "place"),
    [(_straight_to_native, "(anonymous namespace)::add"), (_by_a_step, "crossing.py:5")],
    ids=["mailbox-not-known", "mailbox-known"],
)
def test_a_call_of_the_probe_keeps_errno_and_the_exception_of_the_thread(
    crossing: Path, env: Env, arrive: Callable[[Driver], Awaitable[None]], place: str
) -> None:
    async def work(driver: Driver) -> None:
        await arrive(driver)
        session = driver.session
        thread = await session.inspector.gdb_thread(session.require_stopped().thread.tid)
        for _ in range(2):  # before the second call gdb has learned where the mailbox is
            await _raise_in_target(driver)
            depth = await session.probe.arm(thread, "finish")
            assert depth == 1  # the module
            assert await _value(driver, "PyErr_Occurred") != 0
            assert await _errno(driver) == 77
            assert await _value(driver, "PyErr_Clear") is not None
        frame = (await driver.stack()).frames[0]
        assert isinstance(frame, NativeFrame) and "add" in (frame.function or "")
        await driver.finish_run()

    run_session(work, crossing, place, env=env)


async def _raise_in_target(driver: Driver) -> None:
    (library,) = {place.module for place in driver.session.code.image.find("PyErr_SetNone")}
    assert library.library is not None
    error = library.library.find_data("PyExc_ValueError", exact=True)[0].address + library.bias
    await _value(driver, "PyErr_SetNone", f"*(long *){error}")
    errno = await _value(driver, "__errno_location")
    await driver.session.native.user_command(f"set var *(int *){errno} = 77")


async def _errno(driver: Driver) -> int:
    place = await _value(driver, "__errno_location")
    return int.from_bytes(await driver.session.native.ask(ReadMemory(place, 4)), "little")


async def _value(driver: Driver, function: str, arguments: str = "") -> Any:
    address = driver.session.code.image.find(function)[0].address
    text = await driver.session.native.user_command(f"print ((long(*)()){address})({arguments})")
    return int(text.partition("=")[2])
