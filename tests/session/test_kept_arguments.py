"""Arguments in the middle of functions without debug info, and in those that have called another: never a wrong one."""

from __future__ import annotations

import platform
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.model import Exited, NativeFrame, Stopped
from dualdbg.symbols.torch.signatures import Parameter, Signature
from tests.session.driver import Driver, run_session
from tests.support import require

FUNCTIONS = 24  # with each row; all of them in the exhaustive run
ALL = 60
SEED = 20260804

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"), reason="code is read on x86-64 and AArch64 alone"
)
# Of the arguments. x86-64 has six registers that calls preserve; on AArch64 less is seen of how a function begins.
KNOWN = 0.15 if platform.machine() == "x86_64" else 0.1
NOT_KNOWN, AT_ENTRY = "<not known any more>", " (at entry)"

HEAD = """\
#include <stdexcept>
extern "C" {
volatile long sink;
__attribute__((noipa)) long kept_leaf(long value) { asm(""); sink = value; return value & 3; }
__attribute__((noipa)) long kept_thrower(long value) { if (value & 1) throw std::runtime_error("odd"); return value; }
"""
KINDS = {"long": 1 << 40, "int": 1 << 30, "unsigned int": 1 << 31, "short": 1 << 14, "unsigned long": 1 << 50}


def body(chance: random.Random, names: list[str], depth: int = 0) -> list[str]:
    """Statements that call the leaf, change parameters, branch, loop, jump by tables, throw and catch."""
    lines = []
    for _ in range(chance.randint(1, 3 if depth else 5)):
        one, other, number = chance.choice(names), chance.choice(names), chance.randrange(1, 9)
        changed = names[-1]  # the others stay as they were passed
        inner = body(chance, names, depth + 1) if depth < 2 else [f"total += kept_leaf({other});"]
        block = "{ " + " ".join(inner) + " }"
        lines.append(
            chance.choice(
                [
                    f"total += kept_leaf({one});",
                    f"total ^= kept_leaf(total) + {one} * {number};",
                    f"{changed} += {number}; total += kept_leaf({changed});",
                    f"if (({one} & {number}) != 0) {block}",
                    f"if (({one} & {number}) != 0) {block} else {{ total -= {other}; kept_leaf({one}); }}",
                    f"for (long i = 0; i < ({one} & 3); i++) {block}",
                    f"total += kept_leaf({one} + {other});",
                    f"total -= kept_leaf({other});"
                    if depth or chance.random() < 0.7
                    else f"switch ({one} & 7) {{ case 0: total += 7; break; case 1: {block} break; case 2: total ^= "
                    f"{other}; break; case 3: total += kept_leaf(3); break; case 5: total = -total; break; case 6: "
                    f"{block} default: total += {number}; }}",
                    f"try {{ total += kept_thrower({one}); }} catch (const std::exception&) {block}",
                    f"if (({one} & {number}) == {number}) return kept_leaf({other});",
                    f'if ({one} == -77) throw std::logic_error("never");',
                ]
            )
        )
    return lines


def corpus(chance: random.Random, count: int) -> tuple[str, dict[str, list[tuple[str, str, int]]]]:
    """The source; and of each function its parameters, by name, type and the value that is passed."""
    functions, calls, known = [], [], {}
    for number in range(count):
        parameters = []
        for at in range(chance.randint(1, 8)):
            kind = chance.choice(list(KINDS))
            low = 0 if kind.startswith("unsigned") else -KINDS[kind]
            parameters.append((f"a{at}", kind, chance.randint(low, KINDS[kind] - 1)))
        names = [name for name, _, _ in parameters]
        list_ = ", ".join(f"{kind} {name}" for name, kind, _ in parameters)
        text = " ".join([*body(chance, names), *(f"total += kept_leaf({name});" for name in names)])
        functions.append(
            f"__attribute__((noipa)) long kept_{number}({list_}) {{ long total = 0; {text} return total; }}"
        )
        values = ", ".join(f"({kind}){value}l" for _, kind, value in parameters)
        calls.append(f"kept_{number}({values});")
        known[f"kept_{number}"] = parameters
    run = "void kept_run() { " + " ".join(calls) + " }"
    return HEAD + "\n".join([*functions, run, "}", ""]), known


def prepared(folder: Path, level: str, count: int) -> tuple[Path, dict[str, list[tuple[str, str, int]]]]:
    source, known = corpus(random.Random(SEED), count)
    compiler = require(shutil.which("g++"), "a C++ compiler")
    (folder / "kept.cpp").write_text(source)
    command = [compiler, *level.split(), "-shared", "-fPIC", "kept.cpp", "-o", "libkept.so"]
    subprocess.run(command, cwd=folder, check=True)
    script = folder / "script.py"
    script.write_text(f"import ctypes\nctypes.CDLL({str(folder / 'libkept.so')!r}).kept_run()\n")
    return script, known


def teach(driver: Driver, known: dict[str, list[tuple[str, str, int]]]) -> None:
    """Let the session know the types, as it knows those of operators."""
    image = driver.session.breakpoints.image

    def signature_at(pc: int, is_return: bool) -> tuple[int, Signature] | None:
        name = image.describe(pc - is_return)[0] or ""
        entry = image.function_start(pc - is_return + 1)
        if name not in known or entry is None:
            return None
        return entry, Signature(tuple(Parameter(one, kind) for one, kind, _ in known[name]), hidden=False)

    driver.session.inspector.values.signature_at = signature_at


async def looked_at(
    driver: Driver, known: dict[str, list[tuple[str, str, int]]], frame: NativeFrame, counts: list[int]
) -> list[str]:
    """What is wrong about the arguments of a frame. ``counts``: how many are known, and how many there are."""
    values = await driver.session.inspector.variables(driver.session.pid, frame)
    expected = {name: str(value) for name, _, value in known[frame.function or ""]}
    counts[0] += sum(value.value != NOT_KNOWN for value in values)
    counts[1] += len(values)
    return [
        f"{frame.function} at {frame.pc:#x}: {value.name} = {value.value}, not {expected[value.name]}"
        for value in values
        if value.value.removesuffix(AT_ENTRY) not in (NOT_KNOWN, expected[value.name])
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("level", "count"),
    [
        *(("-O2", FUNCTIONS), ("-O3 -fno-omit-frame-pointer", FUNCTIONS)),
        *(
            pytest.param(level, ALL, marks=pytest.mark.exhaustive)
            for level in ("-O2", "-O3 -fno-omit-frame-pointer", "-O1")
        ),
    ],
)
def test_arguments_of_functions_that_have_called_another(tmp_path: Path, level: str, count: int) -> None:
    script, known = prepared(tmp_path, level, count)

    async def work(driver: Driver) -> tuple[list[str], list[int]]:
        wrong: list[str] = []
        counts = [0, 0]
        await driver.stop()
        await driver.session.resume()
        while True:
            event = await driver.next(Stopped, Exited)
            if isinstance(event, Exited):
                return wrong, counts
            teach(driver, known)
            caller = (await driver.stack()).visible()[1]
            if (
                isinstance(caller, NativeFrame) and caller.function in known
            ):  # the leaf may be called by a jump
                wrong += await looked_at(driver, known, caller, counts)
            await driver.session.resume()

    wrong, counts = run_session(work, script, "kept_leaf", stop_on_entry=True)
    print(f"{level}: {counts[0]} of {counts[1]} known")
    assert wrong == []
    assert counts[0] >= KNOWN * counts[1] > 0


@pytest.mark.slow
def test_arguments_at_each_instruction(tmp_path: Path) -> None:
    script, known = prepared(tmp_path, "-O2", ALL)
    some = [f"kept_{number}" for number in range(0, ALL, 12)]

    async def work(driver: Driver) -> tuple[list[str], list[int]]:
        wrong: list[str] = []
        counts = [0, 0]
        stop = await driver.stop()
        seen = set()
        while True:
            frame = stop.frame
            assert isinstance(frame, NativeFrame) and frame.function in some
            teach(driver, known)
            for _ in range(120):
                seen.add(frame.function)
                wrong += await looked_at(driver, known, frame, counts)
                stop = await driver.step("nexti")
                if not isinstance(stop.frame, NativeFrame) or stop.frame.function not in known:
                    break
                frame = stop.frame
            await driver.session.resume()
            event = await driver.next(Stopped, Exited)
            if isinstance(event, Exited):
                assert len(seen) > 1
                return wrong, counts
            stop = event.stop

    wrong, counts = run_session(work, script, *some)
    print(f"{counts[0]} of {counts[1]} known")
    assert wrong == []
    assert counts[0] > 0
