"""Variables that the compiler has optimised away are listed as such; the others have their values, and no others."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from dualdbg.model import Language
from tests import support
from tests.session.driver import Driver, run_session

SOURCE = """\
#include <string>
#include <vector>
volatile int sink;
struct Pair { std::string text; std::vector<int> row; };
extern "C" __attribute__((noinline)) int optimised(int number) {
    std::vector<int> unused;
    const std::vector<int> &refers = unused;
    Pair pair{"text", {1, 2}};
    int twice = 2 * number;
    sink = number;
    return sink + twice + refers.size();
}
"""


def test_what_is_optimised_out_is_a_row_of_its_own(tmp_path: Path) -> None:
    compiler = support.require(shutil.which("g++"), "a C++ compiler")
    source, library, script = tmp_path / "o.cpp", tmp_path / "libo.so", tmp_path / "program.py"
    source.write_text(SOURCE)
    subprocess.run([compiler, "-g", "-O2", "-shared", "-fPIC", "-o", library, source], check=True)
    script.write_text(f"import ctypes\nctypes.CDLL({str(library)!r}).optimised(21)\n")

    async def work(driver: Driver) -> dict[str, str]:
        stop = await driver.stop()
        frame = (await driver.stack()).visible()[0]
        rows = await driver.session.inspector.variables(stop.thread.tid, frame)
        for name in ("unused", "refers", "pair"):  # as the prompt's print
            assert await driver.session.inspector.evaluate(name, stop.thread.tid, frame, Language.NATIVE)
        return {row.name: row.value for row in rows}

    found = run_session(work, script, "optimised")
    assert set(found) == {"number", "unused", "refers", "pair", "twice"}
    assert found["number"] == "21"
    gone = [name for name in ("unused", "refers") if "optimized out" in found[name]]
    assert gone, found  # GCC 16 says where the unused vector would lie


# GCC puts an optional that it passes on onto the stack, and its debug info has it there from the entry on.
PASSED_ON = """\
#include <optional>
struct Device { signed char type, index; };
__attribute__((noinline)) long inner(const long *data, std::optional<long> none, std::optional<short> kind,
    std::optional<signed char> layout, std::optional<Device> device, std::optional<bool> pinned) {
    return *data + none.value_or(0) + kind.value_or(1) + layout.value_or(2) + (device ? device->index : 9)
        + pinned.value_or(false);
}
__attribute__((noinline)) long entered(const long *data, std::optional<short> kind,
    std::optional<signed char> layout, std::optional<Device> device, std::optional<bool> pinned) {
    return inner(data, std::nullopt, kind, layout, device, pinned);
}
extern "C" long start(int number) {
    static const long data = 5;
    // What is left on the stack by this call is not what the next one passes.
    long first = entered(&data, std::nullopt, std::nullopt, std::nullopt, std::nullopt);
    return first + entered(&data, short(number), std::nullopt, Device{1, 2}, true);
}
"""


def test_an_argument_that_is_not_yet_where_debug_info_has_it(tmp_path: Path) -> None:
    compiler = support.require(shutil.which("g++"), "a C++ compiler")
    source, library, script = tmp_path / "o.cpp", tmp_path / "libo.so", tmp_path / "program.py"
    source.write_text(PASSED_ON)
    options = ["-std=c++17", "-g", "-O2", "-shared", "-fPIC"]
    subprocess.run([compiler, *options, "-o", library, source], check=True)
    script.write_text(f"import ctypes\nctypes.CDLL({str(library)!r}).start(21)\n")

    async def work(driver: Driver) -> list[dict[str, str]]:
        found = []
        for _ in range(2):
            stop = await driver.stop()
            frame = (await driver.stack()).visible()[0]
            rows = await driver.session.inspector.variables(stop.thread.tid, frame)
            found.append({row.name: row.value for row in rows})
            kind = await driver.session.inspector.evaluate("kind", stop.thread.tid, frame, Language.NATIVE)
            assert kind.value == found[-1]["kind"]
            for text in (
                "data[0]",
                "*data",
            ):  # it is in a register, and leads to memory that is not the frame's
                led = await driver.session.inspector.evaluate(text, stop.thread.tid, frame, Language.NATIVE)
                assert led.value == "5"
            await driver.session.resume()
        return found

    first, second = run_session(work, script, "entered")
    unknown = "<not there yet: the function has just been entered>"
    assert is_none(first["kind"]) or first["kind"] == unknown
    assert "21" in second["kind"] or second["kind"] == unknown
    assert is_none(first["device"]) or first["device"] == unknown
    assert "index = 2" in second["device"] or second["device"] == unknown


def is_none(text: str) -> bool:
    return text == "nullopt" or "no contained value" in text
