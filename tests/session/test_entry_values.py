"""What was noted at the entry of a function without debug info: right as long as the call lasts, and gone with it."""

from __future__ import annotations

import platform
import random
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from dualdbg.model import Exited, NativeFrame, Stopped
from dualdbg.shared.requests.threads import ReadMemory
from dualdbg.symbols.torch.signatures import Parameter, Signature
from tests import rows
from tests.session.driver import Driver, run_session
from tests.support import require

SEED = 20261125

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="what was passed is noted on x86-64 alone"
)
STOPS = 120
PLACE = 0x7E0000000  # where the program keeps its records: gdb reads no names of its library
KINDS = ("long", "int", "double", "unsigned char", "float")
NOT_KNOWN, AT_ENTRY = "<not known any more>", " (at entry)"

# Each function writes down what it was called with, and that it has ended: also by an exception, and by longjmp.
HEAD = """\
#include <csetjmp>
#include <cstdlib>
#include <sys/mman.h>
extern "C" {
struct Record { long function; double passed[10]; };
#define PLACE ((char*)0x7e0000000)
#define depth (*(long*)PLACE)
#define records ((Record*)(PLACE + 8))
__attribute__((constructor)) static void entry_begin() {
  if (mmap(PLACE, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != PLACE) abort();
}
static unsigned long state = 1;
static long chance(long below) { state = state * 6364136223846793005ul + 1442695040888963407ul;
                                 return (long)((state >> 33) % (unsigned long)below); }
static jmp_buf place;
static bool may_jump;
struct Shadow { ~Shadow() { depth--; } };
__attribute__((noipa)) long entry_leaf(long value) { asm(""); return value & 3; }
__attribute__((noipa)) long entry_other(long level);
"""
TAIL = """
__attribute__((noipa)) long entry_other(long level) {
  long total = 0;
  if (level <= 0) return entry_leaf(chance(9));
  for (int i = 0; i < 3; i++) {
    try { total += entry_call(chance(FUNCTIONS), level - 1); } catch (long value) { total += value; }
  }
  return total;
}
void entry_run() {
  for (int i = 0; i < 40; i++) {
    volatile long before = depth;
    if (!setjmp(place)) { may_jump = true; entry_other(3); } else depth = before;
    may_jump = false;
  }
}
}
"""


def corpus(chance: random.Random, count: int) -> tuple[str, dict[str, list[str]]]:
    """The source, and the types of what is passed to each function."""
    functions, calls, known = [], [], {}
    for number in range(count):
        kinds = [chance.choice(KINDS) for _ in range(chance.randint(1, 9))]
        parameters = ", ".join(f"{kind} a{at}" for at, kind in enumerate(kinds))
        written = " ".join(f"mine->passed[{at}] = (double)a{at};" for at in range(len(kinds)))
        used = " ".join(
            f"total += entry_leaf((long)a{at}); a{at} += 1;"
            for at in range(len(kinds))
            if chance.random() < 0.6
        )
        ends = chance.choice(
            ["if (chance(4) == 0) throw total;", "if (may_jump && chance(12) == 0) longjmp(place, 1);", ""]
        )
        functions.append(
            f"__attribute__((noipa)) long entry_{number}(long level, {parameters}) {{ Shadow ends; "
            f"Record* mine = &records[depth++]; mine->function = {number}; mine->passed[9] = (double)level; {written} "
            f"long total = entry_leaf(level); {used} if (level > 0) total += entry_other(level); {ends} "
            f"return total + entry_leaf(total) + (long)({' + '.join(f'a{at}' for at in range(len(kinds)))}); }}"
        )
        values = ", ".join(f"({kind})chance(120)" for kind in kinds)
        calls.append(f"case {number}: return entry_{number}(level, {values});")
        known[f"entry_{number}"] = kinds
    call = f"static long entry_call(long which, long level) {{ switch (which) {{ {' '.join(calls)} }} return 0; }}"
    text = HEAD + "\n".join(functions) + "\n" + call + TAIL.replace("FUNCTIONS", str(count))
    return text, known


def prepared(folder: Path, level: str) -> tuple[Path, dict[str, list[str]]]:
    source, known = corpus(random.Random(SEED), 12)
    compiler = require(shutil.which("g++"), "a C++ compiler")
    (folder / "entry.cpp").write_text(source)
    command = [compiler, *level.split(), "-shared", "-fPIC", "entry.cpp", "-o", "libentry.so"]
    subprocess.run(command, cwd=folder, check=True)
    script = folder / "script.py"
    script.write_text(f"import ctypes\nctypes.CDLL({str(folder / 'libentry.so')!r}).entry_run()\n")
    return script, known


def teach(driver: Driver, known: dict[str, list[str]]) -> None:
    """Let the session know the types, as it knows those of operators."""
    image = driver.session.breakpoints.image

    def signature_at(pc: int, is_return: bool) -> tuple[int, Signature] | None:
        name = image.describe(pc - is_return)[0] or ""
        entry = image.function_start(pc - is_return + 1)
        if name not in known or entry is None:
            return None
        parameters = [Parameter("level", "long"), *(Parameter(f"a{i}", k) for i, k in enumerate(known[name]))]
        return entry, Signature(tuple(parameters), hidden=False)

    driver.session.inspector.values.signature_at = signature_at


async def records(driver: Driver) -> list[tuple[int, list[float]]]:
    """What the functions have written down that are under way, innermost first."""
    native = driver.session.native
    depth = int.from_bytes(await native.ask(ReadMemory(PLACE, 8)), "little")
    data = await native.ask(ReadMemory(PLACE + 8, 88 * depth)) if depth else b""
    rows = [struct.unpack_from("<q10d", data, 88 * at) for at in range(depth)]
    return [(row[0], [row[10], *row[1:10]]) for row in reversed(rows)]


async def watched(driver: Driver) -> int:
    """How many breakpoints for one thread gdb has."""
    return (await driver.session.native.user_command("maint info breakpoints")).count("stop only in thread")


@pytest.mark.slow
@pytest.mark.parametrize("level", rows.some(["-O2", "-O0"], 1))
def test_what_was_noted_is_right_while_the_call_lasts(tmp_path: Path, level: str) -> None:
    """Of functions that call one another, throw and jump away, at stops that breakpoints drawn by chance make."""
    script, known = prepared(tmp_path, level)

    async def work(driver: Driver) -> tuple[list[str], int, int]:
        wrong: list[str] = []
        noted = total = 0
        chance = random.Random(SEED)
        await driver.stop()
        teach(driver, known)
        table = driver.session.breakpoints
        entries = [row.id for row in table.all() if row.spec.text != "entry_leaf"]
        leaf = next(row.id for row in table.all() if row.spec.text == "entry_leaf")
        await driver.session.resume()
        for _ in range(STOPS):
            event = await driver.next(Stopped, Exited)
            if isinstance(event, Exited):
                break
            frames = [
                frame
                for frame in (await driver.stack()).frames
                if isinstance(frame, NativeFrame) and frame.function in known
            ]
            own = bool(frames) and frames[0].level == 0  # the innermost has not written down anything yet
            rows = await records(driver)
            assert [f"entry_{number}" for number, _ in rows] == [frame.function for frame in frames[own:]]
            for frame, (_, passed) in zip(frames[own:], rows, strict=True):
                values = await driver.session.inspector.variables(driver.session.pid, frame)
                for value, expected in zip(values, passed, strict=False):
                    total += 1
                    noted += value.value.endswith(AT_ENTRY)
                    if value.value != NOT_KNOWN and float(value.value.removesuffix(AT_ENTRY)) != expected:
                        wrong.append(f"{frame.function} {value.name} = {value.value}, not {expected}")
            await table.enable(chance.choice(entries), chance.random() < 0.6)
            await table.enable(leaf, chance.random() < 0.5)
            await driver.session.resume()
        return wrong, noted, total

    wrong, noted, total = run_session(work, script, *known, "entry_leaf", stop_on_entry=True)
    print(f"{level}: {noted} of {total} noted")
    assert wrong == []
    assert noted > 0.05 * total > 0


@pytest.mark.slow
def test_a_call_that_has_returned_costs_nothing(tmp_path: Path) -> None:
    script, known = prepared(tmp_path, "-O1")
    script.write_text(script.read_text() + "import os\nos.getppid()\n")

    async def work(driver: Driver) -> list[int]:
        await driver.stop()
        teach(driver, known)
        stop = await driver.resume()
        assert isinstance(stop.frame, NativeFrame) and stop.frame.function == "entry_3"
        (values,) = [await driver.session.inspector.variables(driver.session.pid, stop.frame)]
        shown = await watched(driver)
        await driver.step("stepi")  # what was passed is noted when the stop is left
        counts = [shown, await watched(driver), len(values)]
        for row in driver.session.breakpoints.all():
            if row.spec.text != "::getppid":
                await driver.session.breakpoints.remove(row.id)
        await driver.resume()
        return [*counts, await watched(driver)]

    shown, within, values, later = run_session(work, script, "entry_3", "::getppid", stop_on_entry=True)
    assert (shown, within, later) == (0, 2, 0)
    assert values == 1 + len(known["entry_3"])
