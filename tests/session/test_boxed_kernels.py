"""Functions that are made boxed kernels of PyTorch, in a library of Clang: what such a kernel passes on is shown.

Clang takes parameters away from a function that only its own file sees, and leaves its name as it is.
"""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest

from dualdbg.model import Exited, NativeFrame, Stopped
from tests.session.driver import Driver, run_session
from tests.session.test_arguments_by_name import clangxx

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the code is looked at on x86-64 alone"
)

SOURCE = """\
#include <vector>
namespace c10 {
struct OperatorKernel { long own; };
struct OperatorHandle { long definition, list; };
struct DispatchKeySet { unsigned long bits; };
struct IValue { long payload, tag; ~IValue() { payload = 0; } };
struct BoxedKernel {
  template <void (*f)(const OperatorHandle&, std::vector<IValue>*)>
  static void make_boxed_function(
      OperatorKernel*, const OperatorHandle& op, DispatchKeySet, std::vector<IValue>* stack) {
    f(op, stack);
  }
  template <void (*f)(const OperatorHandle&, DispatchKeySet, std::vector<IValue>*)>
  static void make_boxed_function(
      OperatorKernel*, const OperatorHandle& op, DispatchKeySet keys, std::vector<IValue>* stack) {
    f(op, keys, stack);
  }
};
}
using namespace c10;
using Stack = std::vector<IValue>;
#define PART static __attribute__((noinline))
volatile long sink;
namespace mine {
PART void whole(const OperatorHandle& op, Stack* stack) { sink = op.list + stack->size(); }
PART void keyed(const OperatorHandle& op, DispatchKeySet keys, Stack* stack) {
  sink = op.list + keys.bits + stack->size();
}
PART void moved(const OperatorHandle& op, DispatchKeySet, Stack* stack) { sink = op.list + stack->size(); }
PART void alone(const OperatorHandle&, Stack* stack) { sink = stack->size(); }
PART void other(const OperatorHandle& op, Stack* stack) { sink = op.list - stack->size(); }
}
using Kernel = void (*)(OperatorKernel*, const OperatorHandle&, DispatchKeySet, Stack*);
extern "C" void boxed_run() {
  volatile Kernel table[] = {
      BoxedKernel::make_boxed_function<mine::whole>, BoxedKernel::make_boxed_function<mine::keyed>,
      BoxedKernel::make_boxed_function<mine::moved>, BoxedKernel::make_boxed_function<mine::alone>};
  OperatorKernel kernel{1};
  OperatorHandle op{0x11, 0x22};
  Stack stack;
  for (auto& one : table) one(&kernel, op, {0x33}, &stack);
  mine::other(op, &stack);
}
"""


def test_what_clang_has_left_of_a_boxed_function(tmp_path: Path) -> None:
    (tmp_path / "boxed.cpp").write_text(SOURCE)
    command = [*clangxx(), "-std=c++17", "-O2", "-shared", "-fPIC", "boxed.cpp", "-o", "libboxed.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    script = tmp_path / "script.py"
    script.write_text(f"import ctypes\nctypes.CDLL({str(tmp_path / 'libboxed.so')!r}).boxed_run()\n")

    async def work(driver: Driver) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        while isinstance(event := await driver.next(Stopped, Exited), Stopped):
            frame = event.stop.frame
            assert isinstance(frame, NativeFrame) and frame.function is not None
            rows = await driver.session.inspector.variables(driver.session.pid, frame)
            name = "kernel" if "BoxedKernel" in frame.function else frame.function.split("(")[0]
            found[name] = {row.name: row.value for row in rows if row.type != "register"}
            await driver.session.resume()
        return found

    names = ("whole", "keyed", "moved", "alone", "other")
    places = [f"mine::{name}" for name in names]
    found = run_session(work, script, "c10::BoxedKernel::make_boxed_function", *places)
    print(found)
    known = {
        name: {row for row, value in rows.items() if not value.startswith("<not known")}
        for name, rows in found.items()
    }
    assert known == {
        "kernel": {"functor", "op", "dispatchKeySet", "stack"},
        "mine::whole": {"op", "stack"},
        "mine::keyed": {"op", "dispatchKeySet", "stack"},
        "mine::moved": set(),  # what Clang has taken away stood between the others
        "mine::alone": set(),
        "mine::other": set(),  # nothing is known of it: it is no boxed kernel
    }
    # No PyTorch is there: only an empty stack can be read.
    assert {rows["stack"] for rows in found.values() if not rows.get("stack", "<").startswith("<")} == {"[]"}
