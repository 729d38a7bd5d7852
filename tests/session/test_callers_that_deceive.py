"""Callers that leave arguments in registers in unusual ways: what is shown of those is right, or nothing is shown."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from dualdbg.model import Exited, NativeFrame, Stopped
from tests import rows
from tests.session.driver import Driver, run_session
from tests.support import require

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="its code is for x86-64")

SOURCE = """\
#include <optional>
#include <sys/mman.h>
#define PROBE __attribute__((noinline, used))
#define PART __attribute__((noinline))
struct Gap { long first; alignas(16) long second; };
struct Part { long first, second, third, fourth; };
struct One { long first; };
struct Two { long first, second; };
struct Deep { long pad[3], last; };
struct Vm {
  long field = 7;
  long three(int a, int b, long c);
  static long free_three(int a, int b, long c);
  long unused(int a, int b);
  static long free_unused(int a, int b);
  long seven(long a, long b, long c, long d, long e, long f, long g);
  static long free_seven(long a, long b, long c, long d, long e, long f, long g);
  long maybe(std::optional<long> a, int b);
  static long free_maybe(std::optional<long> a, int b);
  long gap(long a, long b, long c, long d, long e, Gap f, long g);
  static long free_part(Part a, long b, long c, long d, long e, long f, long g, long h);
  long again(int a, long n);
  long passed(int a, int b);
  long either(int a, int b);
  long other(int a, int b);
  long of_thread(int a, int b, long c);
  static long free_dead(int a, int b);
  static long free_pointed(Two a, long b);
  static long free_float(One a, long b);
  static long free_four(int a, int b, int c, int d);
  static Part free_made(int a);
  static long free_null(const long& a, const long& b);
  static long free_fixed(const long& a, bool b, signed char c);
  static long free_jumped(long a, long b, long c, long d, long e, long f, long g, long h);
  long jumped(long a, long b, long c, long d, long e, long f, long g);
};
extern "C" { volatile long sink = 0; Vm vm; PART Two two(long n) { sink = n; return {11, 33}; } }
static volatile int ignored = 5;
static volatile double ignored_float = 5;
static volatile long stored;
Two (*volatile two_pointed)(long) = two;
Part make(int n) { return {n, n, n, n}; }
Part (*volatile make_pointed)(int) = make;
thread_local long of_thread = 33;
PROBE long Vm::three(int a, int, long) { sink = a; return 1; }
PROBE long Vm::free_three(int a, int, long) { sink = a; return 1; }
PROBE long Vm::unused(int, int) { sink = 3; return 1; }
PROBE long Vm::free_unused(int, int) { sink = 3; return 1; }
PROBE long Vm::seven(long a, long, long, long, long, long, long) { sink = a; return 1; }
PROBE long Vm::free_seven(long a, long, long, long, long, long, long) { sink = a; return 1; }
PROBE long Vm::maybe(std::optional<long>, int) { sink = 3; return 1; }
PROBE long Vm::free_maybe(std::optional<long>, int) { sink = 3; return 1; }
PROBE long Vm::gap(long a, long, long, long, long, Gap, long g) { sink = a + g; return 1; }
PROBE long Vm::free_part(Part, long b, long, long, long, long, long, long) { sink = b; return 1; }
PROBE long Vm::again(int a, long n) { return n == 22 ? n : again(a, n + 1); }
PROBE long Vm::passed(int a, int) { sink = a; return 1; }
PROBE long Vm::either(int a, int) { sink = a; return 1; }
PROBE long Vm::other(int a, int) { sink = a; return 1; }
PROBE long Vm::of_thread(int a, int, long) { sink = a; return 1; }
PROBE long Vm::free_dead(int a, int) { sink = a; return 1; }
PROBE long Vm::free_pointed(Two, long) { sink = 3; return 1; }
PROBE long Vm::free_float(One, long) { sink = 3; return 1; }
PROBE long Vm::free_four(int a, int, int, int) { sink = a; return 1; }
PROBE Part Vm::free_made(int a) { return make_pointed(a); }
PROBE long Vm::free_null(const long&, const long& b) { sink = b; return 1; }
PROBE long Vm::free_fixed(const long&, bool b, signed char) { sink = b; return 1; }
PROBE long Vm::free_jumped(long a, long, long, long, long, long, long, long h) { sink = a + h; return 1; }
PROBE long Vm::jumped(long a, long, long, long, long, long, long g) { sink = a + g; return 1; }
PART long pointed(long n) { return Vm::free_pointed({1, 2}, two_pointed(n).second - 11) + 1; }
PART long pointed_too(long n) { Two found = two_pointed(n); return Vm::free_pointed({1, 33}, found.first * 2) + 1; }
PART long just_pointed(long n) { ptrdiff_t back = two_pointed(n).second; return Vm::free_pointed({1, 2}, back) + 1; }
static PART long leaf(long n) { asm volatile("" ::: "memory"); return n * 3; }
extern "C" {
PART long survives(Vm* it, int a, int b, long c) { long found = leaf(c); return it->three(a, b, found) + 1; }
PART long second(long n) { Two found = two(n); return Vm::free_three(11, 22, found.second) + 1; }
PART Two echo(long n, long, long last) { sink = n; return {n, last}; }
PART long echoed(long a, long b, long c) { Two found = echo(a, b, c); return Vm::free_three(11, 22, found.second) + 1; }
PART long in_place(Vm* it, int a, int b) { return it->unused(a, b) + 1; }
PART long in_place_free(int a, int b) { return Vm::free_unused(a, b) + 1; }
PART long on_stack(Vm* it, long a, long b, long c, long d, long e, long f, long g) {
  return it->seven(a, b, c, d, e, f, g) + 1;
}
PART long on_stack_free(long a, long b, long c, long d, long e, long f, long g) {
  return Vm::free_seven(a, b, c, d, e, f, g) + 1;
}
PART long gaps(Vm* it, long n) {
  Gap some;
  some.second = n;
  return it->gap(11, 22, 33, 44, 55, some, 77) + it->gap(11, 22, 33, 44, 55, Gap{n, n}, 77);
}
PART long parts(long n) {
  Part some;
  some.third = n;
  return Vm::free_part(some, 22, 33, 44, 55, 66, 77, 88) + Vm::free_part(Part{n}, 22, 33, 44, 55, 66, 77, 88);
}
PART long null(long n) { return Vm::free_null(((Deep*)nullptr)->last, n) + 1; }
PART long fixed() { return Vm::free_fixed(*(long*)0x41000008, true, -56) + 1; }
PART long jumps(long a, long b, long c, long d, long e, long f, long g, long h) {
  return Vm::free_jumped(h, b, c, d, e, f, g, a);
}
PART long jumps_to_member(Vm* it, long a, long b, long c, long d, long e, long f, long g) {
  return it->jumped(g, b, c, d, e, f, a);
}
PART long nothing(Vm* it, int b) { return it->maybe(std::nullopt, b) + Vm::free_maybe(std::nullopt, b); }
PART long passes_on(Vm* it, int a, int b) { return it->passed(a, b); }
PART long passes_on_either(Vm* it, int a, int b) { return a == 11 ? it->either(a, b) : it->other(a, b); }
PART long in_thread(Vm* it, int a, int b) { long* at = &::of_thread; return it->of_thread(a, b, *at) + 1; }
PART long read_for_nothing(int n) {
  long kept = n * 3;
  (void)ignored;
  stored = kept;
  return Vm::free_dead(11, 22) + 1;
}
PART long float_read_for_nothing() {
  (void)ignored_float;
  return Vm::free_float({1}, 22) + 1;
}
PART long read_unseen(long n) {
  register long fifth asm("r8") = 5;
  register long sixth asm("r9") = 6;
  asm volatile("syscall" : "+a"(n) : "r"(fifth), "r"(sixth) : "rcx", "r11", "memory");
  return Vm::free_four(11, 22, 33, 44) + 1;
}
PART long keeps_for_another(long a) { Vm::free_dead(11, 22); return Vm::free_three(11, 22, a) + 1; }
PART long keeps_for_a_jump(long a) { Vm::free_dead(11, 22); return Vm::free_three(11, 22, a); }
PART Two keeps_to_return(long a) { Vm::free_dead(11, 22); return {a, a}; }
PART long by_table(Vm* it, int kind, int a, int b, long c) {
  switch (kind) {
    case 0: a = two(a).first; break;
    case 1: b = two(b).second; break;
    case 2: c = 33; break;
    case 3: a = 11;  // goes on
    case 4: b = 22; break;
    case 5: two(3);
  }
  return it->three(a, b, c) + 1;
}
void deceive_run() {
  survives(&vm, 11, 22, 11);
  second(5);
  echoed(11, 22, 33);
  in_place(&vm, 11, 22);
  in_place_free(11, 22);
  on_stack(&vm, 11, 22, 33, 44, 55, 66, 77);
  on_stack_free(11, 22, 33, 44, 55, 66, 77);
  gaps(&vm, 66);
  parts(11);
  nothing(&vm, 22);
  passes_on(&vm, 11, 22);
  passes_on_either(&vm, 11, 22);
  passes_on_either(&vm, 12, 22);
  in_thread(&vm, 11, 22);
  vm.again(11, 20);
  by_table(&vm, 4, 11, 2, 33);
  read_for_nothing(5);
  float_read_for_nothing();
  keeps_for_another(33);
  keeps_for_a_jump(33);
  keeps_to_return(33);
  read_unseen(39);  // getpid
  pointed(5);
  pointed_too(5);
  just_pointed(5);
  Vm::free_made(11);
  mmap((void*)0x41000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  *(long*)0x41000008 = 44;
  null(55);
  fixed();
  jumps(88, 22, 33, 44, 55, 66, 77, 11);
  jumps_to_member(&vm, 77, 22, 33, 44, 55, 66, 11);
}
}
"""
RIGHT = {
    "three": ("11", "22", "33"), "free_three": ("11", "22", "33"), "unused": ("11", "22"), "free_unused": ("11", "22"),
    "seven": ("11", "22", "33", "44", "55", "66", "77"), "free_seven": ("11", "22", "33", "44", "55", "66", "77"),
    "gap": ("11", "22", "33", "44", "55", (), "77"), "free_part": ((), "22", "33", "44", "55", "66", "77", "88"),
    "maybe": ("nullopt", "22"), "free_maybe": ("nullopt", "22"), "passed": ("11", "22"), "either": ("11", "22"),
    "other": ("12", "22"), "of_thread": ("11", "22", "33"),
    "free_dead": ("11", "22"), "free_pointed": ((), ("22", "33")), "free_float": ((), "22"),
    "free_four": ("11", "22", "33", "44"), "free_made": ("11",), "again": ("11", ("20", "21", "22")),
    "free_null": ((), "55"), "free_fixed": ("44", "true", "-56"),
    "free_jumped": ("11", "22", "33", "44", "55", "66", "77", "88"),
    "jumped": ("11", "22", "33", "44", "55", "66", "77"),
}  # fmt: skip
FLAGS = [
    "-O2",
    "-Os -fno-plt",
    "-O3 -fno-semantic-interposition -fno-ipa-cp -fno-ipa-sra",
    "-O1",
    "-O2 -mindirect-branch=thunk",
    "-O1 -mindirect-branch=thunk-inline -foptimize-sibling-calls",
    "-O2 -mtls-dialect=gnu2 -pg",
    "-O0",
    "-O2 -fno-optimize-sibling-calls -maccumulate-outgoing-args -fno-omit-frame-pointer",
]


@pytest.mark.parametrize("flags", rows.some(FLAGS, 3))
def test_callers_that_deceive(tmp_path: Path, flags: str) -> None:
    compiler = require(shutil.which("g++"), "a C++ compiler")
    (tmp_path / "deceive.cpp").write_text(SOURCE)
    command = [
        compiler,
        "-std=c++17",
        "-w",
        *flags.split(),
        "-shared",
        "-fPIC",
        "deceive.cpp",
        "-o",
        "libdeceive.so",
    ]
    subprocess.run(command, cwd=tmp_path, check=True)
    script = tmp_path / "script.py"
    script.write_text(f"import ctypes\nctypes.CDLL({str(tmp_path / 'libdeceive.so')!r}).deceive_run()\n")

    async def work(driver: Driver) -> tuple[list[str], int]:
        wrong: list[str] = []
        shown = 0
        stop = await driver.stop()
        (vm,) = driver.session.breakpoints.image.module_at(stop.frame.pc).library.find_data("vm")
        while True:
            assert isinstance(stop.frame, NativeFrame)
            module = driver.session.breakpoints.image.module_at(stop.frame.pc)
            name = str(stop.frame.function).split("(")[0].removeprefix("Vm::")
            right = {"this": (hex(vm.address + module.bias),)} if not name.startswith("free_") else {}
            right.update(
                (f"arg{at}", one if isinstance(one, tuple) else (one,))
                for at, one in enumerate(RIGHT[name], 1)
            )
            for value in await driver.session.inspector.variables(driver.session.pid, stop.frame):
                if value.name.startswith("$") or value.value.startswith("<not known"):
                    continue
                shown += 1
                if value.value not in right.get(value.name, ()):
                    wrong.append(f"{name}: {value.name} = {value.value}, not {right.get(value.name)}")
            await driver.session.resume()
            event = await driver.next(Stopped, Exited)
            if isinstance(event, Exited):
                return wrong, shown
            stop = event.stop

    wrong, shown = run_session(work, script, *(f"Vm::{name}" for name in RIGHT))
    print(f"{flags}: {shown} shown")
    assert wrong == []
    assert shown > len(RIGHT) / 2
