"""Breakpoints on functions of C++ by their names: as many hits as the source says."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.model import BreakpointState
from tests import rows, support
from tests.session.driver import Driver, run_session

SOURCE = """\
#include <coroutine>
volatile int sink = 1;

struct Numbers {
    struct promise_type {
        int value = 0;
        Numbers get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int number) { value = number; return {}; }
        void return_void() {}
        void unhandled_exception() { throw; }
    };
    std::coroutine_handle<promise_type> handle;
};

Numbers numbers(int n) {
    for (int i = 0; i < n; ++i)
        co_yield i * sink;
}

struct Length {
    int value;
    explicit operator long() const {
        sink = value;
        return value * sink;
    }
};

extern "C" long run(int n) {
    long sum = 0;
    Numbers all = numbers(n);
    while (!all.handle.done()) {
        all.handle.resume();
        sum += all.handle.promise().value;
    }
    all.handle.destroy();
    for (int i = 0; i < n; ++i)
        sum += (long)Length{i + sink};
    return sum;
}
"""
PROGRAM = """\
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.run(3)
print("over")
"""


@pytest.mark.parametrize("options", rows.some(["-O2", "-O0", "-O1", "-O3 -flto", "-Os"], 2))
def test_a_stop_is_one_hit(options: str, tmp_path: Path) -> None:
    support.require(shutil.which("g++"), "a C++ compiler")
    source, library, script = tmp_path / "hits.cpp", tmp_path / "libhits.so", tmp_path / "program.py"
    source.write_text(SOURCE)
    script.write_text(PROGRAM)
    command = [
        "g++",
        "-std=c++20",
        *options.split(),
        "-g",
        "-shared",
        "-fPIC",
        str(source),
        "-o",
        str(library),
    ]
    subprocess.run(command, check=True)

    async def work(driver: Driver) -> list[int]:
        await driver.stop()
        coroutine, conversion = driver.session.breakpoints.all()[:-1]
        addresses = [one.address for one in coroutine.locations]
        assert len(addresses) == len(set(addresses)), coroutine
        await driver.finish_run()
        return [coroutine.hit_count, conversion.hit_count]

    specs = ['numbers log "x"', 'Length::operator long log "x"', "program.py:4"]
    hits = run_session(work, script, *specs, launch_options={"args": (str(library),)})
    # The call; where it begins, four times that it goes on, and its end, in two functions that GCC makes of it.
    assert hits == [8, 3]


OVERLOADS = """\
typedef long Count;
volatile int sink;
namespace n { namespace {
struct T { int value; };
inline int twice(int x) { sink = 1; return x * 2; }
inline int twice(Count x) { sink = 2; return (int)(x * 3); }
__attribute__((noinline)) int twice(double x) { return (int)x; }
inline void clear(T* t) { sink = 3; t->value = 0; }
inline int read(const T& t) { sink = 4; return t.value; }
} }
extern "C" int run(int n) {
    n::T t = {n};
    volatile int sum = n::twice(n) + n::read(t);
    sum += n::twice((long)n);
    sum += n::twice((long)n + sum);
    sum += n::twice(1.5 * n);
    n::clear(&t);
    return sum + t.value;
}
"""
SIGNATURES = {
    "twice": 4,
    "twice(int)": 1,
    "n::twice(long)": 2,
    "twice(Count)": 2,
    "n::(anonymous namespace)::twice(double)": 1,
    "clear(n::T*)": 1,
    "n::read(const n::T&)": 1,
    "twice(char)": 0,
    "clear(int*)": 0,
}


def test_a_signature_means_one_overload_where_it_was_inlined(tmp_path: Path) -> None:
    """Functions of unnamed scopes, which nothing outside their file can call: their names have no parameters in gdb."""
    support.require(shutil.which("g++"), "a C++ compiler")
    source, library, script = tmp_path / "overloads.cpp", tmp_path / "libhits.so", tmp_path / "program.py"
    source.write_text(OVERLOADS)
    script.write_text(PROGRAM)
    subprocess.run(["g++", "-O2", "-g", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)

    async def work(driver: Driver) -> dict[str, int]:
        await driver.stop()
        found = {row.spec.subject: row.hit_count for row in driver.session.breakpoints.all()[:-1]}
        await driver.finish_run()
        return found

    specs = [*(f'{one} log "x"' for one in SIGNATURES), "program.py:4"]
    assert run_session(work, script, *specs, launch_options={"args": (str(library),)}) == SIGNATURES


UNROLLED = """\
volatile int sink = 1;
int counts[2];
struct Flag {
    int value;
    int get() const { counts[1] += 1; return value * 7 + sink; }
    operator bool() const { counts[0] += 1; return value != 0; }
};
extern "C" long run(int n) {
    int sum = 0;
    for (int i = 0; i < 3; ++i) { Flag flag{i + sink}; sum += flag.get(); if (flag) sum += flag.value; }
    return sum;
}
"""


@pytest.mark.parametrize("options", rows.some(["-O3 -flto", "-O2", "-O0", "-O1"], 3))
def test_code_of_the_line_of_the_call_does_not_stand_for_an_inlined_function(
    options: str, tmp_path: Path
) -> None:
    """GCC leaves of the calls in an unrolled loop a jump on the line of the loop, which is taken seldom."""
    support.require(shutil.which("g++"), "a C++ compiler")
    source, library, script = tmp_path / "hits.cpp", tmp_path / "libhits.so", tmp_path / "program.py"
    source.write_text(UNROLLED)
    script.write_text(PROGRAM)
    subprocess.run(
        ["g++", *options.split(), "-g", "-shared", "-fPIC", str(source), "-o", str(library)], check=True
    )

    async def work(driver: Driver) -> list[tuple[int, BreakpointState]]:
        await driver.stop()
        found = [(one.hit_count, one.state) for one in driver.session.breakpoints.all()[:-1]]
        await driver.finish_run()
        return found

    specs = ['Flag::operator bool log "x"', 'Flag::get log "x"', "program.py:4"]
    found = run_session(work, script, *specs, launch_options={"args": (str(library),)})
    assert all(hits == 3 for hits, state in found if state is BreakpointState.VERIFIED), found
    assert options != "-O0" or all(state is BreakpointState.VERIFIED for _, state in found)


@pytest.mark.parametrize("options", ["-O2", "-O0"])
def test_hits_below_the_threshold_are_counted(options: str, tmp_path: Path) -> None:
    """gdb counts them by itself, where the breakpoint has one place; in Python the count is that of the stop."""
    support.require(shutil.which("gcc"), "a C compiler")
    source, library, script = tmp_path / "count.c", tmp_path / "libcount.so", tmp_path / "program.py"
    source.write_text("""\
__attribute__((noinline)) int twice(int x) { __asm__ volatile(""); return 2 * x; }
int run(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += twice(i); return sum; }
""")
    script.write_text(PROGRAM.replace("print", "library.run(3)\nprint"))
    subprocess.run(
        ["gcc", *options.split(), "-g", "-shared", "-fPIC", str(source), "-o", str(library)], check=True
    )

    async def work(driver: Driver) -> list[list[int]]:
        seen = []
        for _ in range(3):
            await driver.stop()
            seen.append([row.hit_count for row in driver.session.breakpoints.all()[:3]])
            if len(seen) == 2:
                await driver.session.breakpoints.change(1, hits=50)
            await driver.session.resume()
        return seen

    specs = ["twice hits 100", "twice hits 5", "twice if x > 0 hits 100", "program.py:4"]
    seen = run_session(work, script, *specs, launch_options={"args": (str(library),)})
    assert seen == [[3, 3, 2], [5, 5, 3], [6, 6, 4]]


COUNTED = """\
struct Data { int count; };
extern "C" void gone(Data*);
struct Shared {
    Data* data;
    Shared(Data* one) : data(one) { if (data) ++data->count; }
    Shared(const Shared& other) : data(other.data) { if (data) ++data->count; }
    Shared(Shared&& other) : data(other.data) { other.data = nullptr; }
    ~Shared() { decref(data); }
    static void decref(Data* one) { if (one && --one->count == 0) gone(one); }
};
struct Refused { Refused(Shared one) : held(static_cast<Shared&&>(one)) {} Shared held; };
"""
THROWING = """\
#include "shared.h"
extern "C" void gone(Data*) {}
__attribute__((noinline)) static int add(const Shared& one, int n)
{
    if (n == 3)
        throw Refused(one);
    if (n == 4)
        throw Refused(one);
    return n;
}
extern "C" int run(int n)
{
    Data data = {1};
    Shared one(&data);
    try { return add(one, n); } catch (Refused&) { return 0; }
}
"""


def test_a_throw_is_at_a_line_of_the_function_that_is_told(tmp_path: Path) -> None:
    support.require(shutil.which("g++"), "a C++ compiler")
    source, library, script = tmp_path / "throwing.cpp", tmp_path / "libthrowing.so", tmp_path / "program.py"
    (tmp_path / "shared.h").write_text(COUNTED)
    source.write_text(THROWING)
    script.write_text(PROGRAM)
    subprocess.run(["g++", "-O2", "-g", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)

    async def work(driver: Driver) -> str:
        stop = await driver.stop()
        await driver.finish_run()
        return stop.description or ""

    told = run_session(work, script, "throw", launch_options={"args": (str(library),)})
    # GCC for AArch64 makes one of the two throws, at the line of the other.
    assert re.search("thrown in add.* at throwing.cpp:[68],", told), told
