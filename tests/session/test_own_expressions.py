"""No language changes how we read the target: each of our commands in gdb gives the same in every one.

That of the frame (Rust, Fortran, assembly), and each that a user may set.
"""

from __future__ import annotations

import ast
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from dualdbg.backends.native import Access
from dualdbg.model import NativeFrame, Reason
from dualdbg.shared.requests.breakpoints import (
    DeleteBreakpoints,
    FormatLogText,
    InsertBreakpoint,
    InsertBreakpoints,
    InsertCue,
    InsertLogPoint,
    InsertWatchpoint,
    ReadLastBreakpoint,
    ReadPanicText,
    ReadThrownObject,
    RequireThread,
)
from dualdbg.shared.requests.code import (
    Disassemble,
    FindCalls,
    FindCallTarget,
    FindFunctionBodies,
    FindFunctionBody,
    FindLineLocations,
)
from dualdbg.shared.requests.process import Park, Unpark
from dualdbg.shared.requests.threads import (
    ListThreads,
    PrintRegisters,
    ReadArchitecture,
    ReadFrames,
    ReadMemory,
    ReadReadableMemory,
    ReadRegisters,
    ReadSignalCode,
    WriteMemory,
)
from dualdbg.shared.requests.values import ReadPythonObjects, RunHelper
from dualdbg.system.resources import resource_directory
from tests.session.driver import Driver, name, run_session
from tests.session.test_languages import LIBRARIES, RUST, env, program

SCRIPTS = resource_directory("gdb_scripts")
LANGUAGES = (
    "ada",
    "asm",
    "c",
    "d",
    "fortran",
    "minimal",
    "modula-2",
    "objective-c",
    "opencl",
    "pascal",
    "rust",
    "go",
)
# Where expressions are read as text and types looked up by name: nowhere else.
READERS = {
    "dualdbg_helpers/language.py": {"parse_and_eval", "lookup_type"},
}
ASKED = frozenset({"parse_and_eval", "lookup_type", "parse_expression", "lookup_symbol"})


def test_only_one_module_has_gdb_read_an_expression_or_look_up_a_type() -> None:
    found: dict[str, set[str]] = {}
    for path in sorted(SCRIPTS.glob("dualdbg_*/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and node.attr in ASKED:
                found.setdefault(str(path.relative_to(SCRIPTS)), set()).add(node.attr)
    assert found == READERS


Command = Callable[[Driver, int, int], Awaitable[Any]]


async def _breakpoint(driver: Driver, thread: int, pc: int) -> object:
    native = driver.session.native
    number = await native.ask(InsertBreakpoint(pc, thread))
    await native.ask(RequireThread(number, thread))
    await native.delete_breakpoint(number)
    number = await native.ask(
        InsertCue(pc, "rdi" if await native.ask(ReadArchitecture()) == "x86-64" else "x0", -5)
    )
    await native.delete_breakpoint(number)
    several = await native.ask(InsertBreakpoints(thread, [pc, pc + 1]))
    native.tell(DeleteBreakpoints(several))
    return len(several)


async def _log_point(driver: Driver, thread: int, pc: int) -> object:
    native = driver.session.native
    number = await native.ask(InsertLogPoint(pc, ["x", ""], ["1"], None, 0))
    await native.delete_breakpoint(number)
    return await native.ask(FormatLogText(thread, ["x", ""], ["1"]))


async def _watch(driver: Driver, thread: int, pc: int) -> object:
    native = driver.session.native
    sp = (await native.ask(ReadRegisters(thread, ["sp"])))["sp"]
    for size, access in (
        (8, Access.READ_WRITE),
        (4, Access.WRITE),
        (3, Access.WRITE),
        (1, Access.READ_WRITE),
    ):
        await native.delete_breakpoint(await native.ask(InsertWatchpoint(sp & ~15, size, access.value)))
    return True


async def _frames(driver: Driver, thread: int, pc: int) -> object:
    found = await driver.session.native.ask(ReadFrames(thread, 20))
    return [(one.pc, one.function, one.line, one.source_language) for one in found]


async def _object(driver: Driver, thread: int, pc: int) -> object:
    """A helper's command with a number, and with a cast as in C."""
    none = await _address_of_none(driver)
    native = driver.session.native
    words = []
    for text in (f"{none}", f"(void *){none}", f"(unsigned long){none}"):
        for command in ("pyobject", "cpp2py", "py2cpp"):
            answer = await native.ask(RunHelper(thread, 0, command, text))
            assert answer.value is not None, (command, text, answer.error)
            words.append(answer.value.value)
    rows = await native.ask(ReadPythonObjects([("none", none)], True))
    return words, [row.value for row in rows]


async def _address_of_none(driver: Driver) -> int:
    image = driver.session.breakpoints.image
    for module in image.modules:
        for symbol in module.library.find_data("_Py_NoneStruct") if module.library is not None else ():
            return symbol.address + module.bias
    raise AssertionError("the interpreter has no None")


async def _symbols(driver: Driver, thread: int, pc: int) -> object:
    native = driver.session.native
    body = await native.ask(FindFunctionBody(pc))
    lines = await native.ask(FindLineLocations(body.file, body.line)) if body.file is not None else []
    return body, await native.ask(FindFunctionBodies([pc])), [(one.address, one.line) for one in lines]


async def _code(driver: Driver, thread: int, pc: int) -> object:
    native = driver.session.native
    return (
        await native.ask(Disassemble(pc, 3)),
        await native.ask(FindCalls(pc, pc + 16)),
        await native.ask(FindCallTarget(thread)),
    )


async def _registers(driver: Driver, thread: int, pc: int) -> object:
    native = driver.session.native
    rows = await native.ask(PrintRegisters(thread, 0, "general"))
    return await native.ask(ReadRegisters(thread, ["sp", "pc"])), [row.name for row in rows]


async def _parked(driver: Driver, thread: int, pc: int) -> object:
    native = driver.session.native
    before = await native.ask(ReadRegisters(thread, ["sp", "pc"]))
    if await native.ask(ReadArchitecture()) == "x86-64":
        await native.ask(Park([thread], pc))
        await native.ask(Unpark())
    assert await native.ask(ReadRegisters(thread, ["sp", "pc"])) == before
    return True


async def _memory(driver: Driver, thread: int, pc: int) -> object:
    native = driver.session.native
    data = await native.ask(ReadMemory(pc, 8))
    assert await native.ask(WriteMemory(pc, data)) == 8
    return data, await native.ask(ReadReadableMemory(pc, 8))


async def _numbers(driver: Driver, thread: int, pc: int) -> object:
    native = driver.session.native
    await native.ask(ListThreads())
    await native.ask(ReadLastBreakpoint())
    code = await native.ask(ReadSignalCode())
    return code, await native.ask(ReadPanicText(thread)), (await native.ask(ReadThrownObject(thread))).types


COMMANDS: dict[str, Command] = {
    one.__name__.lstrip("_"): one
    for one in (
        *(
            _breakpoint,
            _log_point,
            _watch,
            _frames,
            _object,
            _symbols,
            _code,
            _registers,
            _parked,
            _memory,
            _numbers,
        ),
    )
}


async def in_each_language(driver: Driver) -> None:
    """Each command gives the same in every language as in the one that gdb has here by itself."""
    stop = driver.session.require_stopped()
    gdb = driver.session.native
    thread = await driver.session.inspector.gdb_thread(stop.thread.tid)
    frame = (await driver.stack()).frames[0]
    assert isinstance(frame, NativeFrame)
    expected = {one: await run(driver, thread, frame.pc) for one, run in COMMANDS.items()}
    for language in LANGUAGES:
        await gdb.user_command(f"set language {language}")  # type: ignore[attr-defined]
        for one, run in COMMANDS.items():
            assert await run(driver, thread, frame.pc) == expected[one], (one, language)
        shown = await gdb.user_command("show language")  # type: ignore[attr-defined]
        assert f'"{language}"' in shown, "what the user has set holds on"
    await gdb.user_command("set language auto")  # type: ignore[attr-defined]


def test_in_a_frame_of_rust(tmp_path: Path, rust_samples: Path) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        await in_each_language(driver)
        assert (await driver.step("finish")).reason is Reason.STEP
        await driver.finish_run()

    run_session(work, program(tmp_path, RUST), "sample_rust::weigh", env=env(rust_samples, "O0"))


def test_in_a_frame_of_fortran(tmp_path: Path, fortran_samples: Path) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        await in_each_language(driver)
        await driver.finish_run()

    samples = {"SAMPLES": str(fortran_samples / "O0")}
    run_session(work, program(tmp_path, LIBRARIES), "scale_all", env=samples)


def test_in_a_frame_of_assembly(tmp_path: Path, language_samples: Path) -> None:
    async def work(driver: Driver) -> None:
        await driver.stop()
        await in_each_language(driver)
        await driver.finish_run()

    samples = {"SAMPLES": str(language_samples / "O0")}
    run_session(work, program(tmp_path, LIBRARIES), "assembly_add", env=samples)


CALLS_BACK = """\
import sample_rust
def twice(v):
    return v * 2
for _ in range(6):
    c = sample_rust.call_back(twice)
    d = c
    e = d
"""


def test_steps_and_calls_work_in_whatever_language_the_user_has_set(
    tmp_path: Path, rust_samples: Path
) -> None:
    async def work(driver: Driver) -> None:
        for language in ("auto", "pascal", "rust", "ada", "modula-2", "fortran"):
            await driver.stop()
            await driver.session.native.user_command(f"set language {language}")  # type: ignore[attr-defined]
            seen = []
            for kind in ("step", "step", "step", "finish", "next", "finish", "next", "step"):
                await driver.step(kind)
                seen.append(name((await driver.stack()).visible()[0]))
            assert seen == [
                *("sample_rust::rust_call_back", "sample_rust::rust_call_back", "program.py:3"),
                *("sample_rust::rust_call_back", "sample_rust::rust_call_back"),
                *("program.py:5", "program.py:6", "program.py:7"),
            ], language
            await driver.session.resume()
        assert (await driver.exit()).code == 0

    run_session(work, program(tmp_path, CALLS_BACK), "program.py:5", env=env(rust_samples, "O0"))
